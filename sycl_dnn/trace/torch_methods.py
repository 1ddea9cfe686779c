# SPDX-License-Identifier: Apache-2.0
"""Methods of torch's tensors on traced tensors, while the forward of a module runs.

Otherwise traced tensors have the methods of dpnp's arrays. Some names mean different things in the
two (``transpose``, ``max``, ``var``, ``repeat``): inside a module torch's meaning applies, unless
an argument has one of NumPy's names (``axis``, ``keepdims``, ``ddof``).
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import dpnp

from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import functions, policy
from sycl_dnn.trace.cloning import clone_of, contiguous, stopped
from sycl_dnn.trace.write_marks import OfOthers, captured
from sycl_dnn.trace.written_values import check_written

NUMPY_WORDS = frozenset(("axis", "axis1", "axis2", "keepdims", "ddof", "out", "decimals"))


class _Manner(threading.local):
    depth = 0


_manner = _Manner()


#: Python's operators that write to their left operand.
OPERATORS = frozenset(
    ("+=", "-=", "*=", "/=", "**=", "@=", "//=", "%=", "&=", "|=", "^=", "<<=", ">>=")
)


def is_torch() -> bool:
    """Whether the forward of a module runs in this thread."""
    return _manner.depth > 0


def has_torch_methods() -> bool:
    """Whether traced arrays have torch's methods: in a forward, or everywhere."""
    return _manner.depth > 0 or policy.current().torch_methods


#: By thread: how many of ``module_arrays.BUILDERS`` run. Empty most of the time; None is
#: a key once ``set_tensor_methods`` was called, and then the settings are asked.
depths: dict[int | None, int] = {}


def is_building() -> bool:
    """Whether one of ``BUILDERS`` runs in this thread, or all code counts as one; no forward."""
    if not depths or is_torch():
        return False
    return threading.get_ident() in depths or policy.current().torch_methods


def overwritten(value: Any, writer: str, result: Any) -> Any:
    """Return a traced value, which represents ``result`` from now on.

    Raises
    ------
    TypeError
        The value is a parameter, a captured array, or an argument with a gradient.
    """
    if getattr(value, "marks", None) is None:
        raise captured(writer)
    if isinstance(value.marks, OfOthers):
        return value.marks.written(value, writer, result)
    value.trace.replace(value, result, writer)
    return value


def unspoilt(reader: str, value: Any) -> Any:
    """Return a value that a function reads; views are recomputed after a write."""
    if getattr(value, "marks", None):
        value.trace.refresh(value, reader)
    return value


#: Functions whose results are views of their input in torch: a write to one is seen by the other.
VIEWS = frozenset((
    "broadcast_to", "chunk", "conj", "diagonal", "expand", "flatten", "imag", "movedim", "narrow",
    "permute", "real", "reshape", "select", "split", "squeeze", "swapaxes", "tensor_split",
    "transpose", "unbind", "unflatten", "unsqueeze", "view_as_complex", "view_as_real",
))  # fmt: skip


def alias(source: Any, view: Any) -> Any:
    """Return a view of ``source`` that shares its marks, since torch's writes affect both."""
    if getattr(source, "marks", None) is not None and hasattr(view, "share_marks"):
        view.share_marks(source.marks)
    return view


@contextlib.contextmanager
def in_torch_manner() -> Iterator[None]:
    """Give traced tensors torch's methods inside a ``with`` block."""
    _manner.depth += 1
    try:
        yield
    finally:
        _manner.depth -= 1


class Size(int):
    """The number of elements, callable as in torch: ``x.size()``, ``x.size(0)``."""

    shape: tuple[int, ...]

    def __new__(cls, shape: tuple[int, ...]) -> Size:
        """Return the size of a shape."""
        self = super().__new__(cls, math.prod(shape))
        self.shape = shape
        return self

    def __call__(self, dim: int | None = None) -> Any:
        """Return the shape, or the size of one axis."""
        return self.shape if dim is None else self.shape[dim]


def _sizes(args: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the sizes of ``f(2, 3)`` and of ``f((2, 3))``."""
    return tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else args


def _reduction(name: str) -> Callable[..., Any]:
    def method(x: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        options = {} if dtype is None else {"dtype": dtype}
        return getattr(functions, name)(x, dim, keepdim, **options)

    return method


def spread(name: str) -> Callable[..., Any]:
    """Return torch's ``var`` or ``std``, which has ``unbiased`` in two places."""

    def method(
        x: Any, dim: Any = None, unbiased: bool = True, keepdim: bool = False, *,
        correction: float | None = None,
    ) -> Any:  # fmt: skip
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = int(unbiased) if correction is None else correction
        return getattr(functions, name)(x, dim, correction=correction, keepdim=keepdim)

    return method


def extreme(name: str, of_two: str) -> Callable[..., Any]:
    """Return torch's ``max`` or ``min``: of the elements, along an axis, or of two arrays."""

    def method(x: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if hasattr(dim, "shape"):
            return getattr(functions, of_two)(x, dim)
        return getattr(functions, name)(x, dim, keepdim)

    return method


def _transpose(x: Any, dim0: int, dim1: int) -> Any:
    return functions.transpose(x, dim0, dim1)


def _expanded_shape(x: Any, *sizes: Any, size: Any = None) -> tuple[int, ...]:
    """Return the shape of ``x.expand(...)``; -1 keeps the size of an axis."""
    requested = _sizes(sizes) if size is None else tuple(size)
    lead = len(requested) - x.ndim
    return tuple(x.shape[i - lead] if n == -1 else n for i, n in enumerate(requested))


def _expand(x: Any, *sizes: Any, size: Any = None) -> Any:
    full = _expanded_shape(x, *sizes, size=size)
    if isinstance(x, dpnp.ndarray) and not hasattr(x, "marks"):
        return dpnp.broadcast_to(x, full)
    return x if full == x.shape else functions.expand(x, full)


def _repeat(x: Any, *sizes: Any, repeats: Any = None) -> Any:
    counts = _sizes(sizes) if repeats is None else tuple(repeats)
    if len(counts) < x.ndim:
        raise ValueError(
            f"repeat(): there must be a number for each axis of {x.shape}, got {counts}"
        )
    x = functions.reshape(x, (1,) * (len(counts) - x.ndim) + x.shape)
    for axis, count in enumerate(counts):
        if count != 1:
            x = functions.cat([x] * count, axis) if count else functions.narrow(x, axis, 0, 0)
    return x if any(count != 1 for count in counts) else x.clone()


_DEVICES = {"cpu": "cpu", "cuda": "gpu", "gpu": "gpu", "xpu": "gpu"}


def device_name(value: Any) -> str | None:
    """Return SYCL's name of a device given as a string; None for other values."""
    if not isinstance(value, str):
        return None
    kind, colon, rest = value.partition(":")
    if kind in ("level_zero", "opencl"):
        return value
    return _DEVICES[kind] + colon + rest if kind in _DEVICES else None


def _to(x: Any, *args: Any, copy: bool = False, **kwargs: Any) -> Any:
    """As ``Tensor.to``: a dtype, or an array for its dtype; devices are those of the call."""
    kwargs.pop("non_blocking", None)
    kwargs.pop("device", None)
    found = (_dtype_in(value) for value in (*args, *kwargs.values()))
    dtype = next((name for name in found if name is not None), None)
    result = x if dtype is None else functions.astype(x, dtype)
    return result.clone() if copy and result is x else result


def _dtype_in(value: Any) -> Any:
    """Return the dtype that an argument of ``to`` names or has; None for others."""
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return value.dtype
    if isinstance(value, type) and hasattr(value, "kind"):  # ``torch.LongTensor``
        return value.kind
    return value if isinstance(value, (str, type)) and device_name(value) is None else None


def _type(x: Any, *args: Any, **kwargs: Any) -> Any:
    """As ``Tensor.type``: the name of the class of this dtype, or the elements in another."""
    return _to(x, *args, **kwargs) if args or kwargs else f"torch.{dtypes.tensor_name(x.dtype)}"


def _ordered(name: str) -> Callable[..., Any]:
    def method(x: Any, dim: int = -1, descending: bool = False, *, stable: bool = True) -> Any:
        return getattr(functions, name)(x, dim, descending, stable=stable)

    return method


def _as(dtype: str) -> Callable[..., Any]:
    return lambda x: functions.astype(x, dtype)


def detached(x: Any) -> Any:
    """Return a value that is constant to gradients and shares its memory with ``x``."""
    return alias(x, stopped(x))


def _new(x: Any, size: tuple[Any, ...], value: Any, dtype: Any) -> Any:
    device = None if hasattr(x, "marks") else x.sycl_queue
    return functions.full(_sizes(size), value, dtype=dtype or str(x.dtype), device=device)


def _permute(x: Any, *dims: Any, **named: Any) -> Any:
    return functions.permute(x, named["dims"] if named else _sizes(dims))


def _new_tensor(
    x: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Any:
    device = None if hasattr(x, "marks") else x.sycl_queue
    return functions.tensor(data, dtype=dtype or str(x.dtype), device=device)


def _new_of(x: Any, *data: Any) -> Any:
    if len(data) == 1 and isinstance(data[0], tuple):
        raise TypeError("new(): a size is x.new_empty(size), and data are x.new_tensor(data)")
    is_size = all(isinstance(v, int) for v in data)
    return _new(x, data or (0,), 0, None) if is_size else _new_tensor(x, *data)


def _constant(value: float) -> Callable[..., Any]:
    def method(x: Any, *sizes: Any, size: Any = None, dtype: Any = None, **options: Any) -> Any:
        return _new(x, sizes if size is None else (size,), value, dtype)

    return method


def _new_full(x: Any, size: Any, fill_value: Any, *, dtype: Any = None, **options: Any) -> Any:
    return _new(x, (size,), fill_value, dtype)


# --- Methods that write in torch: they return the result, and their input must not be read again


def _copied(x: Any, src: Any, non_blocking: bool = False) -> Any:
    copy = functions.broadcast_to(functions.astype(src, x.dtype), x.shape)
    return clone_of(copy) if hasattr(copy, "marks") else copy


def _value(x: Any, value: Any) -> Any:
    if hasattr(value, "shape"):
        return _copied(x, value)
    return functions.full_like(x, value)


#: By name without the underscore; other names are those of functions.
_WRITTEN: dict[str, Callable[..., Any]] = {
    "bernoulli": lambda x, p=0.5: functions.bernoulli(_value(x, p)), "copy": _copied,
    "fill": _value, "normal": lambda x, mean=0.0, std=1.0: functions.randn_like(x) * std + mean,
    "uniform": lambda x, low=0.0, high=1.0: functions.rand_like(x) * (high - low) + low,
    "zero": lambda x: functions.zeros_like(x),
}  # fmt: skip
WRITERS = frozenset((
    *_WRITTEN, "acos", "asin", "atan", "cosh", "cumprod", "cumsum", "eq", "exp2", "expm1",
    "floor_divide", "fmod", "ge", "gt", "hardsigmoid", "hardswish", "le", "log10", "log1p", "log2",
    "logical_and", "logical_not", "logical_or", "logit", "lt", "mish", "ne", "remainder", "sign",
    "silu", "sinh", "tan", "abs", "add", "addcdiv", "addcmul", "ceil", "celu", "clamp", "clamp_max",
    "clamp_min", "cos", "div", "elu", "erf", "exp", "floor", "hardtanh", "index_add",
    "leaky_relu", "lerp", "log", "masked_fill", "mul", "nan_to_num", "neg", "pow", "reciprocal",
    "relu", "round", "rsqrt", "scatter", "scatter_add", "selu", "sigmoid", "sin", "sqrt", "square",
    "sub", "tanh", "tril", "triu", "trunc", "absolute", "addmm", "asinh", "atan2", "baddbmm",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "clip", "divide", "erfc", "frac",
    "greater", "greater_equal", "hypot", "index_copy", "index_fill", "index_put", "less",
    "less_equal", "logical_xor", "multiply", "negative", "not_equal", "scatter_reduce", "sinc",
    "subtract", "true_divide", "xlogy", "acosh", "atanh", "bitwise_left_shift",
    "bitwise_right_shift", "copysign", "deg2rad", "digamma", "erfinv", "heaviside", "lgamma",
    "masked_scatter", "rad2deg",
))  # fmt: skip


def writer(name: str) -> Callable[..., Any]:
    """Return the function whose result the method ``name_`` writes."""
    return _WRITTEN.get(name) or functions.method(name)  # type: ignore[no-any-return]


def _writing(name: str) -> Callable[..., Any] | None:
    """Return the method ``name_``, or None."""
    if not name.endswith("_") or name[:-1] not in WRITERS:
        return None
    write = writer(name[:-1])

    def method(x: Any, *args: Any, **kwargs: Any) -> Any:
        return written(x, name, write(unspoilt(name, x), *args, **kwargs))

    return method


def written(x: Any, name: str, result: Any) -> Any:
    """Return the result of a method or an operator that writes ``result`` over a traced value."""
    check_written(x, name if name in OPERATORS else f"{name}()", result)
    result = functions.astype(result, x.dtype)
    return overwritten(x, name, clone_of(result) if result.marks is x.marks else result)


def _itself(x: Any, *args: Any, **kwargs: Any) -> Any:
    return x


#: Names that dpnp's arrays have with a different meaning or different argument names.
SWITCHED: dict[str, Callable[..., Any]] = {
    "__pos__": _itself, "conj": lambda x: functions.conj(x), "transpose": _transpose,
    "flatten": lambda x, start_dim=0, end_dim=-1: functions.flatten(x, start_dim, end_dim),
    "mean": _reduction("mean"), "sum": _reduction("sum"), "prod": _reduction("prod"),
    "all": _reduction("all"), "any": _reduction("any"),
    "max": extreme("max", "maximum"), "min": extreme("min", "minimum"),
    "var": spread("var"), "std": spread("std"), "argmax": _reduction("argmax"),
    "argmin": _reduction("argmin"), "repeat": _repeat,
    "squeeze": lambda x, dim=None: functions.squeeze(x, dim),
    "diagonal": lambda x, offset=0, dim1=0, dim2=1: functions.diagonal(x, offset, dim1, dim2),
    "sort": _ordered("sort"), "argsort": _ordered("argsort"),
    "nonzero": lambda x, *, as_tuple=False: functions.nonzero(x, as_tuple=as_tuple),
    "cumsum": lambda x, dim, dtype=None: functions.cumsum(x, dim, dtype=dtype),
    "cumprod": lambda x, dim, dtype=None: functions.cumprod(x, dim, dtype=dtype),
}  # fmt: skip

#: Names that dpnp's arrays lack.
ADDED: dict[str, Callable[..., Any]] = {
    "bfloat16": _as("bfloat16"), "bool": _as("bool"), "clone": clone_of, "contiguous": contiguous,
    "cpu": _itself, "detach": detached, "dim": lambda x: x.ndim, "ndimension": lambda x: x.ndim,
    "double": _as("float64"), "expand": _expand,
    "expand_as": lambda x, other: _expand(x, *other.shape), "float": _as("float32"),
    "flip": lambda x, *dims, **named: functions.flip(x, **named or {"dims": _sizes(dims)}),
    "half": _as("float16"), "int": _as("int32"),
    "is_floating_point": lambda x: dtypes.is_float(x.dtype), "cfloat": _as("complex64"),
    "cdouble": _as("complex128"),
    "byte": _as("uint8"), "char": _as("int8"), "short": _as("int16"),
    "is_complex": lambda x: functions.is_complex(x), "is_contiguous": lambda x, **named: True,
    "long": _as("int64"), "new": _new_of, "new_empty": _constant(0), "new_full": _new_full,
    "new_ones": _constant(1), "new_zeros": _constant(0),
    "new_tensor": _new_tensor, "cuda": _itself, "xpu": _itself, "get_device": lambda x: 0,
    "numel": lambda x: math.prod(x.shape), "numpy": lambda x: x.asnumpy(), "permute": _permute,
    "reshape_as": lambda x, other: functions.reshape(x, other.shape),
    "swapdims": _transpose, "to": _to,
    "tile": lambda x, *dims, **named: functions.tile(x, **named or {"dims": _sizes(dims)}),
    "type": _type, "type_as": lambda x, other: functions.astype(x, other.dtype),
    "unflatten": lambda x, dim, sizes: functions.unflatten(x, dim, sizes),
    "view_as": lambda x, other: viewed(x, (other.shape,)),
    "nelement": lambda x: math.prod(x.shape),
    "where": lambda x, condition, other: functions.where(condition, x, other),
}  # fmt: skip


def adjoint(input: Any) -> Any:
    """Return the conjugates of matrices, transposed."""
    return functions.conj(functions.transpose(input, -2, -1))


#: Attributes that dpnp's arrays lack.
FACTS: dict[str, Callable[..., Any]] = {
    "H": adjoint, "mH": adjoint, "grad": lambda x: None, "grad_fn": lambda x: None,
    "is_cuda": lambda x: x.sycl_device.is_gpu, "is_sparse": lambda x: False,
    "is_xpu": lambda x: x.sycl_device.is_gpu, "layout": lambda x: "strided",
    "mT": lambda x: functions.transpose(x, -2, -1),
}  # fmt: skip


def in_torch_words(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return named arguments with torch's ``keepdim`` for ``keepdims`` beside ``dim``."""
    if "dim" in kwargs and "keepdims" in kwargs:
        return {"keepdim" if name == "keepdims" else name: v for name, v in kwargs.items()}
    return kwargs


def _switched(name: str, torch: Callable[..., Any]) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        kwargs = in_torch_words(kwargs)
        if not has_torch_methods() or not NUMPY_WORDS.isdisjoint(kwargs):
            rest: Any = super(TorchMethods, self)
            base = getattr(rest, name, None) or rest.__getattr__(name)  # which refuses some by name
            return base(*args, **kwargs)
        return torch(self, *args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"As ``Tensor.{name}`` of torch inside modules, else as dpnp's."
    return method


class TorchMethods:
    """Methods that differ inside modules; otherwise those of the classes after this one."""

    __slots__ = ()

    for _name, _function in SWITCHED.items():
        locals()[_name] = _switched(_name, _function)
    del _name, _function

    @property
    def data(self) -> Any:
        """In modules the values as a constant to gradients, as torch's."""
        if has_torch_methods():
            return detached(self)
        return super().data  # type: ignore[misc]

    @data.setter
    def data(self, value: Any) -> None:
        if not has_torch_methods():
            raise AttributeError("data: elements of a traced array are set by x[...] = value")
        value_copy = clone_of(_value(self, value))
        written(detached(self), "data", detached(value_copy))  # which gradients do not see

    @property
    def requires_grad(self) -> bool:
        """Whether gradients reach it; it can be set to true, which it is."""
        return bool(self.is_float)  # type: ignore[attr-defined]

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self.requires_grad_(value)

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Return the array: gradients reach every floating-point value of a traced function."""
        if not (requires_grad and self.requires_grad):
            rule = "be True in a traced function (else use detach()) and for floating-point arrays"
            raise RuntimeError(f"requires_grad: must {rule}, got {requires_grad} for {self!r}")
        return self

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and has_torch_methods():
            if name in FACTS:
                return FACTS[name](self)
            function = ADDED.get(name)
            if function is None:
                function = functions.method(name) or _writing(name)
            if function is not None:
                return lambda *args, **kwargs: function(self, *args, **kwargs)
        return super().__getattr__(name)  # type: ignore[misc]


def viewed(x: Any, shape: tuple[Any, ...]) -> Any:
    """Return ``x.view(...)`` inside a module: the elements in another shape."""
    sizes = _sizes(shape)
    if not all(isinstance(n, int) for n in sizes):
        raise TypeError(f"view(): sizes must be integers, got {shape}")
    view = functions.reshape(x, sizes)
    if view is not x and hasattr(view, "note_view"):
        view.note_view()
    return view
