# SPDX-License-Identifier: Apache-2.0
"""One execution of one primitive as data, and the primitive descriptor made from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

from sycl_dnn import _core
from sycl_dnn import onednn as dnnl
from sycl_dnn.verify import layout
from sycl_dnn.verify.attr_text import Dropout, Quantity
from sycl_dnn.verify.encoding import item_bits
from sycl_dnn.verify.post_op_text import PostOp

#: Parameters of the low level whose execution argument has another name.
_RENAMED = {"src0": "src_0", "src1": "src_1", "src2": "src_2", "attention": "augru_attention"}
_RENAMED |= {"diff_attention": "diff_augru_attention"}
_ENUMS = {
    "prop_kind": dnnl.prop_kind,
    "algorithm": dnnl.algorithm,
    "activation": dnnl.algorithm,
    "direction": dnnl.rnn_direction,
}


@dataclass(frozen=True)
class Tensor:
    """Shape, type and layout that a case asks for.

    tag : None is row-major, ``any`` leaves the choice to oneDNN
    strides : in place of a tag
    runtime : mask of the dimensions that are given at execution
    encoding : ``csr``, ``coo`` or ``packed`` with ``nnz`` values
    """

    dims: tuple[int, ...]
    dtype: str = "f32"
    tag: str | None = None
    strides: tuple[int, ...] = ()
    runtime: int = 0
    encoding: str = ""
    nnz: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the dense elements."""
        return prod(self.dims) * item_bits(self.dtype) // 8

    def desc(self) -> Any:
        """Return the MemoryDesc, without the dimensions that come at execution."""
        if self.encoding:
            return _sparse(self)
        dims = tuple(
            dnnl.RUNTIME_DIM_VAL if self.runtime >> axis & 1 else n
            for axis, n in enumerate(self.dims)
        )
        return layout.describe(dims, self.dtype, self.tag, self.strides)

    def concrete(self) -> Any:
        """Return the MemoryDesc with all its dimensions."""
        return layout.describe(self.dims, self.dtype, self.tag, self.strides)


def _sparse(tensor: Tensor) -> Any:
    data_type, s32 = dnnl.data_type[tensor.dtype], dnnl.data_type.s32
    if tensor.encoding == "csr":
        return dnnl.MemoryDesc.csr(tensor.dims, data_type, tensor.nnz, s32, s32)
    if tensor.encoding == "coo":
        return dnnl.MemoryDesc.coo(tensor.dims, data_type, tensor.nnz, s32)
    return dnnl.MemoryDesc.packed(tensor.dims, data_type, tensor.nnz)


@dataclass(frozen=True)
class Attributes:
    """The attributes of a case, masks still as policies.

    impl, skip_impl : parts of names, one of which an implementation must have, or must not
    """

    scales: tuple[Quantity, ...] = ()
    zero_points: tuple[Quantity, ...] = ()
    reductions: tuple[Quantity, ...] = ()
    post_ops: tuple[PostOp, ...] = ()
    scratchpad: str = "library"
    fpmath: tuple[str, bool] = ("strict", False)
    accumulation: str = "strict"
    deterministic: bool = False
    rounding: tuple[tuple[str, str], ...] = ()
    dropout: Dropout | None = None
    impl: tuple[str, ...] = ()
    skip_impl: tuple[str, ...] = ()

    def allows(self, impl: str) -> bool:
        """Whether ``--impl`` and ``--skip-impl`` leave an implementation of this name."""
        wanted = not self.impl or any(name in impl for name in self.impl)
        return wanted and not any(name in impl for name in self.skip_impl)


@dataclass(frozen=True, eq=False)
class Call:
    """A primitive with parameters, tensors by execution argument, and attributes.

    driver : benchdnn's name of the primitive
    row : name of the function in `sycl_dnn.onednn`
    params : parameters that are no tensors; enumeration members as strings
    tensors : every input and output, those that no descriptor is given for included
    forward : of backward rows: the forward call that makes the hint and the workspace
    inplace : the output is written over the first input
    facts : what the driver's rules of filling and comparing want to remember
    """

    driver: str
    row: str
    params: dict[str, Any]
    tensors: dict[str, Tensor]
    attr: Attributes = field(default_factory=Attributes)
    forward: Call | None = None
    inplace: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def is_backward(self) -> bool:
        """Whether this computes gradients."""
        return self.forward is not None

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Dims by argument, for the references."""
        return {name: tensor.dims for name, tensor in self.tensors.items()}


def _tensor_of(call: Call, parameter: str) -> Any:
    if parameter == "srcs":
        count = sum(name.startswith("multiple_src_") for name in call.tensors)
        return [call.tensors[f"multiple_src_{i}"].desc() for i in range(count)]
    name = _RENAMED.get(parameter, parameter)
    if parameter == "stat":
        name = "mean" if "mean" in call.tensors else "variance"
    if parameter == "data":
        name = "src" if "src" in call.tensors else "dst"
    tensor = call.tensors.get(name)
    return None if tensor is None or tensor.tag == "undef" else tensor.desc()


def _plain(call: Call, parameter: str) -> Any:
    value = call.params[parameter]
    if parameter in _ENUMS:
        return _ENUMS[parameter][value]
    if parameter == "flags":
        kind = dnnl.rnn_flags if "src_layer" in call.tensors else dnnl.normalization_flags
        flags = kind(0)
        for name in value:
            flags |= kind[name]
        return flags
    return dnnl.data_type[value] if parameter.endswith("data_type") else value


def describe(call: Call, engine: Any, hint: Any, attr: Any) -> Any:
    """Return the primitive descriptor of a call.

    Raises
    ------
    sycl_dnn.errors.Unimplemented, sycl_dnn.errors.InvalidArguments
        What the low level raises.
    """
    given = {}
    for parameter in _core.ROWS[call.row][0].split():
        if parameter == "hint_fwd_pd":
            given[parameter] = hint
        elif parameter in call.params:
            given[parameter] = _plain(call, parameter)
        elif parameter != "dst_engine":
            value = _tensor_of(call, parameter)
            if value is not None:
                given[parameter] = value
    return getattr(dnnl, call.row)(engine, **given, attr=attr)
