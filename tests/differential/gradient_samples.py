# SPDX-License-Identifier: Apache-2.0
"""Derivatives of PyTorch's own samples of its operators: ``vjp``, ``jvp``, ``vmap`` and others.

``differences(sample)`` compares them with torch's, one line for each that differs or is refused.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

import sycl_dnn
from differential.sample_comparison import leaves
from differential.torch_samples import Sample, _mapped, from_torch, to_torch
from sycl_dnn import functional as F  # noqa: N812

#: Rounding errors relative to the largest element, and multiples of torch's own error.
_ROUNDINGS, _TIMES = 32, 8
#: The mark of what torch does not compute.
NOTHING = object()


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _is_complex(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_complex()


class Native:
    """A sample as a function of its floating-point tensors, in torch and in a dtype.

    Torch's own error in float64 is estimated as what rounding the tensors changes.
    """

    def __init__(self, sample: Sample, dtype: torch.dtype, is_exact: bool = False) -> None:
        self.sample, self.dtype = sample, dtype
        of = sample.torch_sample
        self.given = (of.input, of.args, dict(of.kwargs))
        self.tensors: list[Any] = []
        _mapped(self.given, lambda v: self.tensors.append(v) if _is_float(v) else None)
        own = getattr(torch, sample.dtype)
        self.tensors = [t.detach().to(dtype if t.dtype == own else t.dtype) for t in self.tensors]
        if sample.dtype == "float64" and not is_exact:
            signs = [torch.sign(w) for w in _weights(self.tensors)]
            rows = zip(self.tensors, signs, strict=True)
            self.tensors = [t * (1 + torch.finfo(t.dtype).eps * s.to(t.dtype)) for t, s in rows]

    def __call__(self, *tensors: Any) -> list[Any]:
        """Return the floating-point results for other tensors."""
        rest = iter(tensors)
        own = getattr(torch, self.sample.dtype)

        def leaf(v: Any) -> Any:
            if _is_float(v):
                return next(rest).clone()  # torch may write to statistics
            if isinstance(v, torch.Tensor):
                return v.detach().clone()
            return self.dtype if v is own else v

        x, args, kwargs = _mapped(self.given, leaf)
        with sdpa_kernel(SDPBackend.MATH):
            result = self.sample.info(x, *args, **kwargs)
        process = self.sample.torch_sample.output_process_fn_grad
        if process is not None:
            result = process(result)
        parts = [torch.view_as_real(v) if _is_complex(v) else v for v in leaves(result)]
        return [v for v in parts if _is_float(v)]


class Own:
    """A sample as a function of its floating-point arrays."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.arrays = sample.arrays
        self.places = [i for i, a in enumerate(self.arrays) if "float" in str(a.dtype)]
        self.floats = [self.arrays[i] for i in self.places]

    def __call__(self, *floats: Any) -> list[Any]:
        """Return the floating-point results for other arrays."""
        arrays = list(self.arrays)
        for place, x in zip(self.places, floats, strict=True):
            arrays[place] = x
        result = self.sample.call(*arrays)
        process = self.sample.torch_sample.output_process_fn_grad
        if process is not None:
            result = process(result)
        arrays = [v for v in leaves(result) if hasattr(v, "dtype")]
        parts = [F.view_as_real(v) if "complex" in str(v.dtype) else v for v in arrays]
        return [v for v in parts if "float" in str(v.dtype)]


def _weights(values: list[Any]) -> list[Any]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(tuple(v.shape), generator=generator) for v in values]


def _weighted(values: list[Any], weights: list[Any]) -> Any:
    return sum(F.sum(F.mul(v, w)) for v, w in zip(values, weights, strict=True))


def _own_weights(values: list[Any]) -> list[Any]:
    rows = zip(values, _weights(values), strict=True)
    return [F.astype(from_torch(w), str(v.dtype)) for v, w in rows]


class Comparison:
    """What differs between the derivatives here and torch's, for one sample."""

    def __init__(self, sample: Sample) -> None:
        self.sample, self.found = sample, []
        self.own = Own(sample)
        native, exact = getattr(torch, sample.dtype), torch.float64
        self.natives = [Native(sample, native), Native(sample, exact, is_exact=True)]
        self.is_differentiable = True

    def note(self, way: str, text: str) -> None:
        self.found.append(f"{way} of {self.sample}: {text}")

    def compare(
        self, way: str, call: Callable[[], Any], of_torch: Callable[[Any], Any], scale: float = 0.0
    ) -> None:
        """Compare results of a way to call with torch's, unless torch has none."""
        try:
            native, exact = (of_torch(n) for n in self.natives)
        except Exception:  # noqa: BLE001 - what torch has not
            self.is_differentiable &= way != "vjp"
            return
        if not native or native is NOTHING:
            return
        if self.sample.dtype == "float64":
            # Results of formulas whose terms cancel have the roundings of the terms.
            scale = max(scale, 1.0)
        try:
            found = [to_torch(v) for v in leaves(call())]
        except Exception as error:  # noqa: BLE001 - reported
            self.note(way, f"{type(error).__name__}: {error}")
            return
        if len(found) != len(native):
            self.note(way, f"{len(found)} results, not {len(native)}")
        for i, row in enumerate(zip(found, native, exact, strict=False)):
            if text := _difference(*row, scale):
                self.note(f"{way} {i}", text)


def _difference(found: Any, native: Any, exact: Any, scale: float = 0.0) -> str:
    """Return how values differ from torch's by more than roundings, or ""."""
    eps = torch.finfo(found.dtype).eps
    found, native, exact = found.double(), native.detach().double(), exact.detach().double()
    if found.shape != native.shape:
        return f"shape {tuple(found.shape)}, not {tuple(native.shape)}"
    finite = found.isfinite() & native.isfinite() & exact.isfinite()
    same = (found == native) | (found == exact) | (found.isnan() & (native.isnan() | exact.isnan()))
    wrong = ~(finite | same)
    if wrong.any():
        place = tuple(int(n) for n in wrong.nonzero()[0])
        values = [float(t[place]) for t in (found, native, exact)]
        return f"special value: {int(wrong.sum())} of {wrong.numel()}, at {place}: {values}"
    if not finite.any():
        return ""
    error, its = ((t - exact)[finite].abs() for t in (found, native))
    largest = max(float(exact[finite].abs().max()), scale)
    allowed = _TIMES * float(its.max()) + _ROUNDINGS * eps * largest + 1e-30
    if float(error.max()) <= allowed:
        return ""
    place = int(error.argmax())
    values = [float(t[finite][place]) for t in (found, native, exact)]
    return (
        f"value: {int((error > allowed).sum())} of {error.numel()}, {values}, allowed {allowed:.2g}"
    )


def _grad(outputs: list[Any], weights: list[Any], tensors: list[Any], **options: Any) -> list[Any]:
    rows = [(v, w) for v, w in zip(outputs, weights, strict=True) if v.requires_grad]
    if not rows:
        return [torch.zeros_like(t) for t in tensors]
    total = sum((v * w.to(v.dtype)).sum() for v, w in rows)
    found = torch.autograd.grad(total, tensors, allow_unused=True, **options)
    return [torch.zeros_like(t) if g is None else g for t, g in zip(tensors, found, strict=True)]


def _first_of_torch(native: Native, **options: Any) -> list[Any]:
    tensors = [t.clone().requires_grad_() for t in native.tensors]
    outputs = native(*tensors)
    return _grad(outputs, _weights(outputs), tensors, **options)


def _is_linear(native: Native) -> bool:
    """Whether the gradients do not depend on the tensors."""
    tensors = [t.clone().requires_grad_() for t in native.tensors]
    outputs = native(*tensors)
    gradients = _grad(outputs, _weights(outputs), tensors, create_graph=True)
    return not any(g.requires_grad for g in gradients)


def _second_of_torch(native: Native, is_squared: bool) -> Any:
    tensors = [t.clone().requires_grad_() for t in native.tensors]
    outputs = [v * v for v in native(*tensors)] if is_squared else native(*tensors)
    gradients = _grad(outputs, _weights(outputs), tensors, create_graph=True)
    moving = [g for g in gradients if g.requires_grad]
    if not moving:
        return [torch.zeros_like(t) for t in tensors]
    return _grad(moving, [g.detach() for g in moving], tensors)


def _tangents(tensors: list[Any]) -> list[Any]:
    """Return random tangents, symmetric ones of symmetric matrices."""
    found = []
    for t, w in zip(tensors, _weights(tensors), strict=True):
        is_square = t.ndim > 1 and t.shape[-1] == t.shape[-2] > 1
        found.append((w + w.mT) / 2 if is_square and torch.allclose(t, t.mT) else w)
    return found


def _jvp_of_torch(native: Native) -> Any:
    rows = zip(_tangents(native.tensors), native.tensors, strict=True)
    tangents = tuple(w.to(t.dtype) for w, t in rows)
    _, found = torch.func.jvp(lambda *ts: tuple(native(*ts)), tuple(native.tensors), tangents)
    return list(found)


def _batches(tensor: torch.Tensor, axis: int) -> torch.Tensor:
    return torch.stack([tensor, tensor.flip(0) if tensor.ndim else tensor], axis)


def _vmap_of_torch(native: Native, axis: int) -> Any:
    rows = [(t, t.flip(0) if t.ndim else t) for t in native.tensors]
    both = [native(*row) for row in zip(*rows, strict=True)]
    return [torch.stack(row) for row in zip(*both, strict=True)]


def _first(c: Comparison) -> None:
    own = c.own

    def gradient(*floats: Any) -> Any:
        outputs, pullback = sycl_dnn.vjp(lambda *xs: tuple(own(*xs)), *floats)
        return pullback(tuple(_own_weights(list(outputs))))

    c.compare("vjp", lambda: gradient(*own.floats), _first_of_torch)


def gradient_of(own: Own, is_squared: bool = False) -> Callable[..., Any]:
    """Return the function that computes the gradients of the weighted sum of the results."""

    def loss(*floats: Any) -> Any:
        outputs = [F.mul(v, v) for v in own(*floats)] if is_squared else own(*floats)
        return _weighted(outputs, _own_weights(outputs))

    return sycl_dnn.grad(loss, argnums=tuple(range(len(own.floats))))


def _compiled(c: Comparison) -> None:
    compiled = sycl_dnn.compile(gradient_of(c.own))
    c.compare("compiled gradient", lambda: compiled(*c.own.floats), _first_of_torch)


def _dense(c: Comparison) -> None:
    """Compare with dense operands where the sample's are not, and the other way around."""

    def other(x: Any) -> Any:
        y = to_torch(x)
        if y.ndim < 2:
            return from_torch(torch.stack([y, y], -1)[..., 0]) if y.ndim else x
        return from_torch(y.transpose(0, 1).contiguous().transpose(0, 1))

    floats = [other(x) for x in c.own.floats]
    c.compare("gradient in another layout", lambda: gradient_of(c.own)(*floats), _first_of_torch)


def _repeated(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor whose last axis repeats its first element, with a stride of 0."""
    return tensor[..., :1].expand_as(tensor) if tensor.ndim and tensor.numel() else tensor


def _repeating(c: Comparison) -> None:
    other = Comparison(c.sample)
    own, (native, exact) = other.own, other.natives
    own.floats = [from_torch(_repeated(t)) for t in native.tensors]
    for n in (native, exact):
        n.tensors = [_repeated(t).contiguous() for t in n.tensors]
    other.compare("gradient of repeated", lambda: gradient_of(own)(*own.floats), _first_of_torch)
    c.found += other.found


def _second(c: Comparison) -> None:
    """Compare second derivatives; those of linear functions with their results squared."""
    if not c.sample.info.supports_gradgrad or not c.is_differentiable:
        return
    is_squared = _is_linear(c.natives[1])
    gradient = gradient_of(c.own, is_squared)

    def squares(*floats: Any) -> Any:
        return sum(F.mul(F.sum(F.square(g)), 0.5) for g in leaves(gradient(*floats)))

    second = sycl_dnn.grad(squares, argnums=tuple(range(len(c.own.floats))))
    # Second derivatives are sums of terms as large as the first ones, which may cancel.
    firsts = [g.abs().nan_to_num(0, 0, 0).max() for g in _first_of_torch(c.natives[1]) if g.numel()]
    scale = float(max(firsts, default=0.0))
    c.compare(
        "second derivative", lambda: second(*c.own.floats),
        lambda n: _second_of_torch(n, is_squared), scale,
    )  # fmt: skip


def _jvp(c: Comparison) -> None:
    if not c.sample.info.supports_forward_ad:
        return
    own = c.own
    native = c.natives[0]
    rows = zip(_tangents(native.tensors), native.tensors, strict=True)
    tangents = tuple(from_torch(w.to(t.dtype)) for w, t in rows)
    c.compare(
        "jvp", lambda: sycl_dnn.jvp(lambda *xs: tuple(own(*xs)), tuple(own.floats), tangents)[1],
        _jvp_of_torch,
    )  # fmt: skip


def _vmap(c: Comparison) -> None:
    for axis in (0, -1):
        floats = [from_torch(_batches(to_torch(x), axis)) for x in c.own.floats]
        mapped = sycl_dnn.vmap(lambda *xs: tuple(c.own(*xs)), in_axes=axis)
        c.compare(
            f"vmap {axis}", lambda m=mapped, f=floats: m(*f), lambda n, a=axis: _vmap_of_torch(n, a)
        )


WAYS = {"vjp": _first, "compiled": _compiled, "dense": _dense, "repeated": _repeating,
        "second": _second, "jvp": _jvp, "vmap": _vmap}  # fmt: skip


def differences(sample: Sample, ways: str = " ".join(WAYS)) -> list[str]:
    """Return how derivatives of a sample differ from torch's, one line each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison = Comparison(sample)
        try:
            outputs = comparison.own(*comparison.own.floats)
        except Exception:  # noqa: BLE001 - not a matter of derivatives
            return []
        if comparison.own.floats and outputs:
            for way in ways.split():
                WAYS[way](comparison)
    return comparison.found
