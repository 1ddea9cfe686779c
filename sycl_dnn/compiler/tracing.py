# SPDX-License-Identifier: Apache-2.0
"""Record a function that is to be compiled: what it holds itself stands still."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sycl_dnn.call.numbers import FromNumber
from sycl_dnn.call.seed import Seed
from sycl_dnn.dispatch import descriptors, layout
from sycl_dnn.dispatch.arguments import argument_of
from sycl_dnn.dispatch.record import Planned
from sycl_dnn.dispatch.tensor import Storage, Tensor
from sycl_dnn.dispatch.trace import Trace


class CompileTrace(Trace):
    """A trace whose captured arrays are constants, in a narrower dtype if asked for.

    Parameters
    ----------
    engine : Engine
    dtype : str, optional
        What float32 arguments and captured arrays are converted to.
    """

    def __init__(self, engine: Any, dtype: str | None = None) -> None:
        super().__init__(engine)
        self.dtype = dtype
        self.is_lowered = dtype is not None
        #: By number of the argument: what a call's numbers become.
        self.tail: dict[int, FromNumber] = {}
        #: By id of a storage: a tensor of it, and the wider one that it was converted from.
        self._wider: dict[int, tuple[Tensor, Tensor]] = {}

    def capture(self, value: Any) -> Tensor:
        """Return the tensor of an array that the traced function holds itself."""
        if isinstance(value, Seed):
            return super().capture(value)
        tensor = self._capture_of.get(id(value))
        if tensor is None:
            self.check_place(value)
            tensor = self._captured_as(value, lambda: argument_of(self, value, constant=True))
        return self.lowered(tensor)

    def descriptor(
        self, row: str, params: Mapping[str, Any], attr: Any, prefer: str | None = None
    ) -> Any:
        """Return a descriptor; one that was made before, unless an implementation is preferred."""
        if prefer is not None:
            return super().descriptor(row, params, attr, prefer)
        return descriptors.shared.described(self.engine, row, params, attr)

    def primitive_of(self, pd: Any, inserted: bool = False) -> Planned:
        """Return what stands for a primitive: many are fused with others and never made."""
        return Planned(pd, inserted)

    def lowered(self, tensor: Tensor) -> Tensor:
        """Return a float32 tensor in the dtype that the function is lowered to."""
        if self.dtype is None or tensor.dtype != "float32":
            return tensor
        made = super().convert(tensor, self.dtype)
        if layout.is_dense(tensor.desc):
            self._wider[id(made.storage)] = (made, tensor)
        return made

    def convert(self, tensor: Tensor, dtype: str, inserted: bool = True) -> Tensor:
        """Return the tensor in another dtype; what was lowered before, as it was."""
        wide = self.widened(tensor) if dtype == "float32" else tensor
        return super().convert(wide, dtype, inserted)

    def widened(self, tensor: Tensor) -> Tensor:
        """Return the same look at the values before they were lowered, if they were."""
        found = self._wider.get(id(tensor.storage))
        if found is None or tensor.strides is None:
            return tensor
        made, wide = found
        if tensor.storage is not made.storage:
            return tensor
        ratio = wide.desc.get_size() // max(made.desc.get_size(), 1)
        return Tensor(
            self,
            wide.storage,
            layout.strided(tensor.shape, wide.dtype, tensor.strides),
            wide.dtype,
            tensor.shape,
            wide.offset + tensor.offset * ratio,
            tensor.strides,
        )

    def constant_storages(self) -> dict[int, Storage]:
        """Return the storages of captured arrays by id; seeds are none of them."""
        kept = [t.storage for _, v, t in self.captured if not isinstance(v, Seed)]
        return {id(s): s for s in kept}
