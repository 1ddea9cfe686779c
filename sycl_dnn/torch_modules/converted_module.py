# SPDX-License-Identifier: Apache-2.0
"""``Converted``, a module that runs an exported graph, and ``Part``, its submodules."""

from __future__ import annotations

import json
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.io import host_arrays, torch_format
from sycl_dnn.nn.module import Module
from sycl_dnn.torch_modules import exported_graph
from sycl_dnn.trace.module_arrays import plain
from sycl_dnn.trace.values import Tensor


class Part(Module):
    """A converted submodule: parameters, buffers, submodules and mode, without a forward."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__()
        self._torch_name, self._torch_text = name, text
        #: Buffers of 16-bit integers that the forward updates, with their dtypes: stored as
        #: float32, which holds their values and which a program can copy.
        self._counts: tuple[tuple[str, str], ...] = ()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: only the whole module has a graph.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            f"{self._torch_name}: a part of a converted module has no forward; convert it by itself"
        )

    def _get_name(self) -> str:
        return self._torch_name

    def extra_repr(self) -> str:
        """Return torch's ``extra_repr``."""
        return self._torch_text

    def part_at(self, path: str) -> Any:
        """Return the submodule at a path; this module if there is none."""
        part: Any = self
        for name in path.split(".") if path else ():
            part = part._modules.get(name)
            if part is None:
                return self
        return part

    def state_at(self, path: str, trace: Any) -> Any:
        """Return the parameter or buffer at a path; a tensor in a trace."""
        owner, _, name = path.rpartition(".")
        part = self.part_at(owner)
        group = part._parameters if name in part._parameters else part._buffers
        value = part._handed(name, group[name])
        if trace is not None and not isinstance(value, Tensor):
            value = trace.capture(plain(value))  # so that functions of it are recorded
        kind = dict(part._counts).get(name)
        return value if kind is None else F.astype(value, kind)

    def update_state(self, name: str, value: Any) -> None:
        """Write a value computed by the forward into a buffer."""
        self.update_buffer(name, F.astype(value, str(self._buffers[name].dtype)))

    def _saved(self, name: str, value: Any) -> Any:
        kind = dict(self._counts).get(name)
        return value if kind is None else F.astype(value, kind)


class Converted(Part):
    """A module that was converted by ``sycl_dnn.from_torch``.

    It has the parameters, buffers and submodules of the torch module under their names, and runs
    the graph of its forward: one graph for training mode, another for ``eval()``.
    """

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, text)
        self._training_graph = self._inference_graph = ""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph of the current mode.

        Raises
        ------
        TypeError, ValueError
            Shapes differ from the examples' in sizes that were not declared dynamic.
        NotImplementedError
            The forward could not be converted in this mode.
        """
        text = self._training_graph if self.training else self._inference_graph
        if text.startswith('"'):
            raise NotImplementedError(json.loads(text))
        return exported_graph.run(exported_graph.parsed(text), self, args, kwargs)

    def program_text(self) -> bytes | None:
        """Return the key of this module's programs in inference mode, except its weights.

        None if it has no graph.
        """
        text = self._inference_graph
        if text.startswith('"'):
            return None
        places = [path.rpartition(".")[::2] for path in exported_graph.parsed(text).states]
        owners = [(self.part_at(owner), name) for owner, name in places]
        arrays = [id({**part._parameters, **part._buffers}[name]) for part, name in owners]
        # Tied weights, which have several names, have one number.
        numbers = [arrays.index(array) for array in arrays]
        kinds = [dict(part._counts).get(name) for part, name in owners]
        return repr((type(self).__name__, numbers, kinds)).encode() + text.encode()

    def to_torch_state_dict(self) -> dict[str, Any]:
        """Return the state dict as tensors, for ``load_state_dict`` of the torch module.

        Returns
        -------
        dict of str to torch.Tensor
            Copies, on the CPU.

        Raises
        ------
        ImportError
            torch is not installed; ``state_dict()`` does not need it.
        """
        torch = torch_format.library()
        return {
            name: torch_format.tensor_of(torch, host_arrays.on_host(value))
            for name, value in self.state_dict().items()
        }
