# SPDX-License-Identifier: Apache-2.0
"""``from_torch``: converts a torch module to a module of ``sycl_dnn.nn``."""

from __future__ import annotations

import inspect
import json
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.device import default_queue
from sycl_dnn.io import torch_format
from sycl_dnn.nn import folded_calls
from sycl_dnn.nn.parameter import Parameter
from sycl_dnn.torch_modules import exported_graph
from sycl_dnn.torch_modules.converted_module import Converted, Part


def from_torch(
    module: Any, *examples: Any, dynamic: Any = None, kwargs: dict[str, Any] | None = None,
    device: Any = None,
) -> Converted:  # fmt: skip
    """Convert a torch module to a module of ``sycl_dnn.nn``, through ``torch.export``.

    Parameters
    ----------
    module : torch.nn.Module
        Not modified; its arrays are copied.
    *examples : torch.Tensor, arrays, or these nested
        Example arguments of its forward; their shapes and dtypes matter, and the values of numbers.
    dynamic : dict or sequence, optional
        Sizes that may differ between calls, by axis: ``{0: "batch"}`` for all examples, or one such
        dict for each, as a sequence or by parameter name. Sizes with the same name are equal; a
        ``torch.export.Dim`` instead of a name sets limits. All other sizes are fixed.
    kwargs : dict, optional
        Example keyword arguments.
    device : dpctl.SyclQueue, dpctl.SyclDevice or str, optional
        Location of its arrays; by default the device of ``default_queue()``.

    Returns
    -------
    Converted
        Parameters, buffers and state dict have torch's names, and tied parameters remain tied. Both
        modes are converted, and ``train()`` and ``eval()`` select them, for submodules too. The
        result does not need torch and can be pickled. ``to_torch_state_dict()`` returns tensors for
        torch's ``load_state_dict``.

    Raises
    ------
    RuntimeError
        torch.export refuses the module in its current mode: the error has torch's message and the
        source line. If it refuses only the other mode, calls in that mode raise
        NotImplementedError.
    NotImplementedError
        Operators are unsupported; the error names each, with a line that uses it.
    ImportError
        torch is not installed.

    Notes
    -----
    Arguments that the forward modifies stay unchanged. Recurrent layers, normalizations, attention
    and dropout are not decomposed; whatever depends on no input is computed during conversion.

    Source: PyTorch documentation, "torch.export".

    Examples
    --------
    >>> import sycl_dnn, torch  # doctest: +SKIP
    >>> from sycl_dnn import functional as F
    >>> layer = torch.nn.Linear(4, 2)  # doctest: +SKIP
    >>> net = sycl_dnn.from_torch(layer, torch.ones(1, 4), dynamic={0: "n"})  # doctest: +SKIP
    >>> net(F.ones(3, 4)).shape  # doctest: +SKIP
    (3, 2)
    """
    torch = torch_format.library("from_torch", "pip install torch")
    from sycl_dnn.torch_modules import encoding, exporting, gradient_functions

    if not isinstance(module, torch.nn.Module):
        raise TypeError(
            f"from_torch: module must be a torch.nn.Module, got {type(module).__name__}"
        )
    gradient_functions.check_hooks(module)
    args, named = _tensors(torch, examples), _tensors(torch, kwargs or {})
    sizes = _Sizes(torch, module, args, named, dynamic)
    constants, graphs = encoding.Constants(), {}
    for is_training in (module.training, not module.training):
        try:
            program = exporting.exported(module, args, named, sizes.specs, is_training)
            graph = encoding.encoded(
                program, is_training, constants, sizes.names, sizes.labels_of(program)
            )
            graphs[is_training] = exported_graph.text_of(graph)
        except (RuntimeError, NotImplementedError) as error:
            if is_training == module.training:
                raise
            graphs[is_training] = json.dumps(str(error))
    converted = _Tree(module, default_queue(device)).root
    converted._training_graph, converted._inference_graph = graphs[True], graphs[False]
    for name, tensor in constants.tensors.items():
        converted.register_buffer(name, _copied(tensor, default_queue(device)), persistent=False)
    _hold_counts(converted)
    inference: str = converted._inference_graph
    if inference.startswith('"') or not exported_graph.parsed(inference).updates:
        folded_calls.owns_arrays(converted)
    return converted


def _tensors(torch: Any, value: Any) -> Any:
    """Replace arrays in nested examples by tensors."""
    if isinstance(value, dict):
        return {name: _tensors(torch, v) for name, v in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_tensors(torch, v) for v in value)
    if isinstance(value, torch.Tensor) or not hasattr(value, "shape"):
        return value
    return torch.from_numpy(value.asnumpy() if hasattr(value, "asnumpy") else value)


class _Sizes:
    """Dynamic sizes in torch.export's form, with their names."""

    def __init__(
        self, torch: Any, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic: Any
    ) -> None:
        self._torch, self._dims = torch, dict[str, Any]()
        signature = inspect.signature(module.forward)
        bound = signature.bind(*args, **kwargs).arguments
        kinds = {n: signature.parameters[n].kind for n in bound}
        #: Names of the examples by position.
        self.names: list[str] = []
        specs: dict[str, Any] = {}
        values = {n: _opened(n, kinds[n], v) for n, v in bound.items()}
        every = [name for group in values.values() for name in group]
        for n, group in values.items():
            if kinds[n] not in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD):
                self.names += group
            argument_specs = {
                k: self._spec(v, self._entry(dynamic, k, every)) for k, v in group.items()
            }
            if kinds[n] is inspect.Parameter.VAR_KEYWORD:
                specs[n] = argument_specs
            else:
                several = kinds[n] is inspect.Parameter.VAR_POSITIONAL
                specs[n] = tuple(argument_specs.values()) if several else argument_specs[n]
        self.specs: Any = None if dynamic is None else specs

    def _entry(self, dynamic: Any, name: str, names: list[str]) -> Any:
        """Return the entry of ``dynamic`` for one argument."""
        if dynamic is None:
            return None
        if isinstance(dynamic, dict):
            if all(isinstance(key, int) for key in dynamic):
                return dynamic
            unknown = sorted(set(dynamic) - set(names))
            if unknown:
                raise ValueError(
                    f"from_torch: dynamic must have names of forward's arguments, "
                    f"{', '.join(names)}; got {', '.join(unknown)}"
                )
            return dynamic.get(name)
        if not isinstance(dynamic, (list, tuple)) or len(dynamic) > len(names):
            raise TypeError(
                f"from_torch: dynamic must be a dict, or a sequence with one for each of "
                f"{len(names)} examples, got {dynamic!r}"
            )
        position = names.index(name)
        return dynamic[position] if position < len(dynamic) else None

    def _spec(self, value: Any, sizes: Any) -> Any:
        """Return the dynamic sizes of one argument, in its structure."""
        if isinstance(value, (list, tuple, dict)):
            if isinstance(sizes, (list, tuple)):
                parts = [self._spec(v, w) for v, w in zip(value, sizes, strict=True)]
                return tuple(parts) if isinstance(value, tuple) else parts
            if isinstance(value, dict):
                by_key = sizes if isinstance(sizes, dict) and set(sizes) <= set(value) else {}
                return {k: self._spec(v, by_key.get(k, sizes if not by_key else None))
                        for k, v in value.items()}  # fmt: skip
            return type(value)([self._spec(v, sizes) for v in value])
        if sizes is None or not isinstance(value, self._torch.Tensor):
            return None
        items = sizes.items() if isinstance(sizes, dict) else enumerate(sizes)
        return {axis % value.ndim: self._dim(size) for axis, size in items if size is not None}

    def _dim(self, size: Any) -> Any:
        if not isinstance(size, str):
            return size
        if size not in self._dims:
            self._dims[size] = self._torch.export.Dim(size)
        return self._dims[size]

    def labels_of(self, program: Any) -> dict[str, str]:
        """Return the names of torch's symbols."""
        nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
        shapes = [
            n.meta["val"].shape
            for n, spec in zip(nodes, program.graph_signature.input_specs, strict=True)
            if spec.kind.name == "USER_INPUT" and isinstance(n.meta.get("val"), self._torch.Tensor)
        ]
        specs = [] if self.specs is None else self._leaves(self.specs)
        labels = {}
        for shape, spec in zip(shapes, specs, strict=False):
            for axis, size in (spec or {}).items():
                name = getattr(size, "__name__", None)
                if name is not None and not isinstance(shape[axis], int):
                    labels[str(shape[axis])] = name
        return labels

    def _leaves(self, spec: Any) -> list[Any]:
        """Return the specification of each tensor."""
        if spec is None or (isinstance(spec, dict) and all(isinstance(k, int) for k in spec)):
            return [spec]
        inner = spec.values() if isinstance(spec, dict) else spec
        return [leaf for child in inner for leaf in self._leaves(child)]


def _opened(name: str, kind: Any, value: Any) -> dict[str, Any]:
    """Return the arguments that one parameter of a forward receives, by name."""
    if kind is inspect.Parameter.VAR_POSITIONAL:
        return {f"{name}[{i}]": v for i, v in enumerate(value)}
    return dict(value) if kind is inspect.Parameter.VAR_KEYWORD else {name: value}


class _Tree:
    """The submodules, one for each torch module, with copies of their arrays."""

    def __init__(self, module: Any, queue: Any) -> None:
        self._queue = queue
        self._parts: dict[int, Any] = {}
        self._arrays: dict[int, Any] = {}
        self.root: Converted = self._part(module, Converted)

    def _part(self, module: Any, kind: Any = Part) -> Any:
        if id(module) in self._parts:
            return self._parts[id(module)]
        part = self._parts[id(module)] = kind(module._get_name(), module.extra_repr())
        for name, tensor in module._parameters.items():
            array = None if tensor is None else self._array(tensor)
            value = None if array is None else Parameter(array, tensor.requires_grad)
            part.register_parameter(name, value)
        for name, tensor in module._buffers.items():
            array = None if tensor is None else self._array(tensor)
            part.register_buffer(name, array, name not in module._non_persistent_buffers_set)
        for name, child in module._modules.items():
            part.register_module(name, None if child is None else self._part(child))
        part.__dict__["training"] = module.training
        return part

    def _array(self, tensor: Any) -> Any:
        if id(tensor) not in self._arrays:
            self._arrays[id(tensor)] = _copied(tensor, self._queue)
        return self._arrays[id(tensor)]


def _copied(tensor: Any, queue: Any) -> Any:
    host = tensor.detach().cpu().to_dense().contiguous()
    if str(host.dtype) != "torch.bfloat16":
        host = host.numpy()
    return F.asarray(host, sycl_queue=queue).copy()


def _hold_counts(converted: Converted) -> None:
    """Store buffers that a graph updates in dtypes that it can copy."""
    texts = [
        t for t in (converted._training_graph, converted._inference_graph) if not t.startswith('"')
    ]
    for path in {p for t in texts for p, _ in exported_graph.parsed(t).updates}:
        owner, _, name = path.rpartition(".")
        part = converted.part_at(owner)
        kind = str(part._buffers[name].dtype)
        if kind in ("int16", "uint16"):
            part._counts += ((name, kind),)
            part._buffers[name] = F.astype(part._buffers[name], "float32")
