# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own samples of its operators (``op_db``) as calls of this package.

``for sample in samples("float32"):`` yields calls with the same arguments, in the same layouts, of
torch's function and of the one here; an operator without a counterpart has no samples
(``missing()`` names those).
"""

from __future__ import annotations

import functools
import operator
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import dpnp
import numpy as np
import torch
from torch.testing._internal.common_methods_invocations import op_db

import sycl_dnn
from sycl_dnn import functional as F  # noqa: N812
from sycl_dnn import nn
from sycl_dnn.nn import torch_names
from sycl_dnn.trace.array import Array
from sycl_dnn.trace.module_arrays import with_methods
from sycl_dnn.trace.torch_methods import ADDED, FACTS, SWITCHED

#: Names of this package for what ``op_db`` names otherwise.
RENAMED = {"true_divide": "div"}
#: Operators without defined values: random ones, or uninitialized memory.
WITHOUT_VALUES = frozenset((
    "bernoulli", "empty", "empty_like", "multinomial", "new_empty", "nn.functional.alpha_dropout",
    "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
    "nn.functional.feature_alpha_dropout", "nn.functional.rrelu", "normal", "rand_like", "randint",
    "randn", "randn_like",
))  # fmt: skip
#: Methods that have no function, or another one under their name.
_METHODS = frozenset(("contiguous", "repeat", "unfold", "view", "to", "item"))
#: Variants that write to their input.
_WITHOUT = frozenset(("normal.in_place",))
#: Arguments of torch's without a meaning here.
_IGNORED = ("device", "layout", "memory_format", "pin_memory", "requires_grad", "generator")
_OPERATORS = {
    "__getitem__": operator.getitem, "__radd__": lambda x, y: y + x,
    "__rdiv__": lambda x, y: y / x, "__rmul__": lambda x, y: y * x,
    "__rand__": lambda x, y: y & x, "__ror__": lambda x, y: y | x,
    "__rxor__": lambda x, y: y ^ x, "__rmatmul__": lambda x, y: y @ x,
    "__rmod__": lambda x, y: y % x, "__rpow__": lambda x, y: y**x,
    "__rsub__": lambda x, y: y - x,
}  # fmt: skip

#: Variants that are called with other arguments than the function.
_VARIANTS = {
    "linalg.pinv.singular": lambda a, b: torch_names.linalg.pinv(
        F.matmul(a, F.transpose(b, -2, -1))
    ),
}


def name_of(info: Any) -> str:
    """Return the name of an operator with its variant."""
    return info.name + (f".{info.variant_test_name}" if info.variant_test_name else "")


def function_of(info: Any) -> Callable[..., Any] | None:
    """Return this package's function for an operator of ``op_db``, or None."""
    if name_of(info) in _VARIANTS:
        return _VARIANTS[name_of(info)]
    if info.name in _OPERATORS:
        return _in_torch_manner(_OPERATORS[info.name])
    if name_of(info) in _WITHOUT or info.name in _METHODS:
        return method_of(info)
    value: Any = torch_names
    for part in RENAMED.get(info.name, info.name).split("."):
        value = None if value is None or part.startswith("_") else getattr(value, part, None)
    if callable(value) and not isinstance(value, type):
        return value
    return method_of(info)


def method_of(info: Any) -> Callable[..., Any] | None:
    """Return a function that calls torch's method of its first argument, or None."""
    name = info.name
    if name_of(info) in _WITHOUT or not hasattr(with_methods(F.ones(1, 1)), name):
        return None
    if not (name in (*FACTS, *ADDED, *SWITCHED, *_METHODS, "T", "mT") or hasattr(F, name)):
        return None

    def method(x: Any, *args: Any, **kwargs: Any) -> Any:
        found = getattr(x, name)
        return found(*args, **kwargs) if callable(found) else found

    return _in_torch_manner(method)


def _in_torch_manner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose arguments have torch's methods and operators."""

    def call(*args: Any, **kwargs: Any) -> Any:
        torch_names.set_tensor_methods(True)
        try:
            return function(*(with_methods(a) for a in args), **kwargs)
        finally:
            torch_names.set_tensor_methods(False)

    return call


def _mapped(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return nested lists, tuples, dicts and slices with ``leaf`` applied to everything else."""
    if isinstance(value, dict):
        return {k: _mapped(v, leaf) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*(_mapped(v, leaf) for v in (value.start, value.stop, value.step)))
    if isinstance(value, torch.Size):
        return tuple(value)
    if isinstance(value, (list, tuple)):
        parts = [_mapped(v, leaf) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return leaf(value)


def dtype_name(dtype: torch.dtype) -> str:
    """Return this package's name of a dtype."""
    return str(dtype).removeprefix("torch.")


def from_torch(tensor: torch.Tensor) -> Any:
    """Return an array with the values and the strides of a tensor, at the same offset."""
    tensor = tensor.detach().resolve_conj().resolve_neg()
    if tensor.is_meta:
        tensor = torch.zeros_like(tensor, device="cpu")
    name, offset = dtype_name(tensor.dtype), tensor.storage_offset()
    ends = (n * s - s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    length = offset + 1 + sum(ends) if tensor.numel() else 0
    flat = torch.as_strided(tensor, (length,), (1,), 0)
    if name == "bfloat16":
        flat = flat.view(torch.uint16)
    numbers = flat.numpy()
    buffer = dpnp.asarray(numbers, sycl_queue=sycl_dnn.default_queue())
    strides = tuple(s * buffer.itemsize for s in tensor.stride())
    if not length:
        data = dpnp.empty(tuple(tensor.shape), dtype=numbers.dtype, sycl_queue=buffer.sycl_queue)
    else:
        data = dpnp.ndarray(tuple(tensor.shape), numbers.dtype, buffer, offset, strides)
    return Array(data, name) if name == "bfloat16" else data


def leaf(value: Any) -> Any:
    """Return a tensor, dtype or distance of torch's as one of this package; all else as it is."""
    if isinstance(value, torch.Tensor):
        return from_torch(value)
    if isinstance(value, torch.dtype):
        return dtype_name(value)
    if isinstance(value, torch.nn.PairwiseDistance):
        return nn.PairwiseDistance(value.norm, value.eps, value.keepdim)
    return value


def to_torch(value: Any) -> Any:
    """Return nested results with tensors in place of arrays."""
    if isinstance(value, Array):
        bits = torch.from_numpy(np.ascontiguousarray(dpnp.asnumpy(value.bits)).copy())
        return bits.view(getattr(torch, value.dtype)).reshape(value.shape)
    if isinstance(value, dpnp.ndarray):
        return torch.from_numpy(np.array(dpnp.asnumpy(value)))
    if isinstance(value, (list, tuple)):
        return [to_torch(v) for v in value]
    return value


def is_array(value: Any) -> bool:
    """Whether an argument is an array of this package."""
    return isinstance(value, (dpnp.ndarray, Array))


@dataclass(frozen=True)
class Sample:
    """A call of an operator: ``function(*args, **kwargs)`` here is ``torch_call()`` there."""

    name: str
    dtype: str
    number: int
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    info: Any
    torch_sample: Any

    @property
    def arrays(self) -> list[Any]:
        """The arrays among the arguments, in the order of ``call``."""
        found: list[Any] = []
        _mapped((self.args, self.kwargs), lambda v: found.append(v) if is_array(v) else None)
        return found

    def call(self, *arrays: Any) -> Any:
        """Return the results of the function with other arrays in place of ``arrays``."""
        rest = iter(arrays)
        args, kwargs = _mapped((self.args, self.kwargs), lambda v: next(rest) if is_array(v) else v)
        return self.function(*args, **kwargs)

    def torch_call(self, dtype: torch.dtype | None = None) -> Any:
        """Return torch's results, with its floating-point tensors in another dtype if one is given.

        Complex tensors get the complex dtype with the same precision.
        """

        def leaf(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                wanted = dtype if value.is_floating_point() else _complex_of(dtype)
                is_changed = dtype and (value.is_floating_point() or value.is_complex())
                return value.detach().to(wanted if is_changed else value.dtype, copy=True)
            own = getattr(torch, self.dtype)
            return dtype if dtype and isinstance(value, torch.dtype) and value is own else value

        of = self.torch_sample
        x, args, kwargs = _mapped((of.input, of.args, dict(of.kwargs)), leaf)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self.info(x, *args, **kwargs)

    def __str__(self) -> str:
        parts = [_text(v) for v in self.args] + [f"{k}={_text(v)}" for k, v in self.kwargs.items()]
        return f"{self.name} {self.dtype} {self.number}: ({', '.join(parts)})"


def _complex_of(dtype: torch.dtype | None) -> torch.dtype | None:
    return {torch.float64: torch.complex128, torch.float32: torch.complex64}.get(dtype)  # type: ignore[arg-type]


def _text(value: Any) -> str:
    def leaf(v: Any) -> Any:
        if not is_array(v):
            return v
        strides = tuple(s // v.itemsize for s in v.strides)
        return _Words(f"{v.dtype}{list(v.shape)}@{list(strides)}")

    return repr(_mapped(value, leaf))


class _Words(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def infos(names: Sequence[str] = ()) -> list[Any]:
    """Return the operators of ``op_db``, or those of some names; all variants of other names."""
    others = set(names) - {name_of(i) for i in op_db}
    return [i for i in op_db if not names or name_of(i) in names or i.name in others]


def missing() -> list[str]:
    """Return the operators of ``op_db`` without a function here."""
    return sorted({i.name for i in op_db if function_of(i) is None})


def _is_plain(sample: Any) -> bool:
    """Whether all tensors of a sample are dense and on the CPU."""
    found: list[bool] = []

    def leaf(value: Any) -> None:
        if isinstance(value, torch.Tensor):
            found.append(value.layout is torch.strided and value.device.type == "cpu")

    _mapped((sample.input, sample.args, dict(sample.kwargs)), leaf)
    return all(found)


#: Samples with arguments in another order than the function's: how to reorder them.
_ARGUMENTS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "einsum": lambda tensors, equation: (equation, *tensors),
    "nn.functional.embedding": lambda weight, index: (index, weight),
    "nn.functional.embedding_bag": lambda weight, index, *rest: (index, weight, *rest),
    "where": lambda x, condition, other: (condition, x, other),
}


def converted(info: Any, dtype: str, number: int, sample: Any, *, way: str = "function") -> Sample:
    """Return a sample of torch's as a call of this package."""
    function = (method_of if way == "method" else function_of)(info)
    assert function is not None
    kwargs = {k: v for k, v in sample.kwargs.items() if k not in _IGNORED}
    args, kwargs = _mapped(((sample.input, *sample.args), kwargs), leaf)
    if way == "function" and info.name in _ARGUMENTS:
        args = _ARGUMENTS[info.name](*args)
    return Sample(name_of(info), dtype, number, function, args, kwargs, info, sample)


def samples(
    dtype: str,
    names: Sequence[str] = (),
    *,
    limit: int | None = None,
    kind: str = "sample",
    way: str = "function",
) -> Iterator[Sample]:
    """Yield the samples of operators, at most ``limit`` of each, spread over all of its samples.

    ``kind`` is ``sample``, or ``reference`` for the larger set that torch compares with NumPy;
    ``way`` is ``function``, or ``method`` for the methods that arrays have like torch's.
    """  # fmt: skip
    for info in infos(names):
        if getattr(torch, dtype) in info.dtypes:
            yield from samples_of(info, dtype, limit=limit, kind=kind, way=way)


@functools.lru_cache(maxsize=1)
def _drawn(name: str, dtype: str, kind: str, count: int) -> list[Any]:
    """Return the first samples of an operator, of which some take seconds."""
    (info,) = infos([name])
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = getattr(info, f"{kind}_inputs")("cpu", getattr(torch, dtype), requires_grad=False)
        return [s for s in islice(drawn, count) if _is_plain(s)]


def samples_of(
    info: Any, dtype: str, *, limit: int | None = None, kind: str = "sample", way: str = "function"
) -> Iterator[Sample]:
    """Yield the samples of one operator, none if there is no such function here."""
    if (method_of if way == "method" else function_of)(info) is None:
        return
    drawn = _drawn(name_of(info), dtype, kind, 3000 if limit is None else 100 * limit)
    if way == "method":
        drawn = [s for s in drawn if isinstance(s.input, torch.Tensor)]
    step = 1 if limit is None else max(1, -(-len(drawn) // limit))
    for number in range(0, len(drawn), step):
        yield converted(info, dtype, number, drawn[number], way=way)
