# SPDX-License-Identifier: Apache-2.0
"""``autocast``: matrix products in bfloat16 or float16, reductions in float32."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sycl_dnn.errors import Unimplemented
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import policy
from sycl_dnn.trace.capabilities import multiplies
from sycl_dnn.trace.values import Tensor

#: Functions whose inputs become the narrow dtype, by name.
NARROW = frozenset((
    "addmm", "baddbmm", "bmm", "einsum", "linear", "matmul", "mm",
    "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "gru", "lstm", "prelu", "rnn_relu", "rnn_tanh", "scaled_dot_product_attention",
))  # fmt: skip
#: Functions whose inputs become float32.
WIDE = frozenset((
    "exp", "log", "logsigmoid", "pow", "reciprocal", "softplus",
    "fft", "fft2", "fftn", "hfft", "ifft", "ifft2", "ifftn", "ihfft", "irfft", "irfft2", "irfftn",
    "rfft", "rfft2", "rfftn",
    "log_softmax", "logsumexp", "softmax", "softmin",
    "mean", "nanquantile", "norm", "normalize", "prod", "quantile", "std", "sum", "var",
    "group_norm", "layer_norm", "local_response_norm", "rms_norm",
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "huber_loss",
    "kl_div", "l1_loss", "mse_loss", "nll_loss", "smooth_l1_loss",
    "cosine_embedding_loss", "gaussian_nll_loss", "hinge_embedding_loss", "margin_ranking_loss",
    "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
    "poisson_nll_loss", "soft_margin_loss", "triplet_margin_loss",
))  # fmt: skip
#: Functions whose operands have one dtype: all are cast to the widest of them.
WIDEST = frozenset(("bilinear",))

#: The dtypes that are cast; float64, float8 and integers are left alone.
_CAST = ("float32", "float16", "bfloat16")
_NAMES = ("bfloat16", "float16")
#: Arguments that a narrow primitive also accepts in float32: no rounding, no extra step.
_ALSO_FLOAT32 = ("attn_mask", "bias")


@contextmanager
def autocast(dtype: str | None = "bfloat16", enabled: bool = True) -> Iterator[None]:
    """Let the functions called in a ``with`` block choose their dtype, as ``torch.autocast`` does.

    Products take their inputs in ``dtype`` and return it; functions that lose accuracy in a narrow
    dtype use float32. Weights and their gradients remain float32. It applies to eager calls, and
    inside ``vjp``, ``plan`` and ``compile``. An inner block overrides the outer one.

    Parameters
    ----------
    dtype : {"bfloat16", "float16"} or None
        None, like ``"float32"``, casts nothing: a region in full precision.
    enabled : bool
        False casts nothing.

    Raises
    ------
    ValueError
        ``dtype`` is not one of these.
    Unimplemented
        The functions inside raise it if the device has no arithmetic in ``dtype`` and the policy is
        ``set_fallback("error")``. Otherwise it computes in float32, with one warning.

    Notes
    -----
    Which function computes in which dtype:

    - In ``dtype``: linear, matmul, mm, bmm, addmm, baddbmm, einsum, conv1d to conv3d,
      conv_transpose1d to conv_transpose3d, scaled_dot_product_attention, lstm, gru, rnn_tanh,
      rnn_relu, prelu. ``bias`` and ``attn_mask`` may remain float32.
    - In float32: transforms of ``F.fft``, exp, log, pow, reciprocal, softplus, logsigmoid,
      softmax, log_softmax, softmin, logsumexp, sum, mean, prod, var, std, quantile, nanquantile,
      norm, normalize, layer_norm, rms_norm, group_norm, local_response_norm, and all losses.
    - In the widest dtype of their inputs: arithmetic, comparisons, where, cat, stack, bilinear.
    - In the dtype of their input: all others, including batch_norm and instance_norm, as in torch;
      these always sum in float32.

    float64, float8, integers, products with quantized weights, and calls with ``out`` are not cast.
    The lists are those of ``torch.autocast`` for the CPU, with two exceptions. Softmax, sums, norms
    and exponentials follow the list for GPUs, since the one for the CPU leaves them in bfloat16.
    Pools, paddings and unpoolings, which torch widens for lack of a kernel, are not cast.

    A gradient uses the dtypes of the forward pass, wherever the pullback is called.
    Narrow products are faster where the device has instructions for them: a GPU with matrix units,
    a CPU from ``avx512_core_bf16`` or AMX on. oneDNN emulates bfloat16 on other CPUs with AVX-512,
    several times slower than float32.

    Source: PyTorch documentation, "Automatic Mixed Precision package - torch.amp, Autocast Op
    Reference".

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> with sycl_dnn.autocast("bfloat16"):  # linear in bfloat16, softmax in float32
    ...     p = F.softmax(F.linear(F.ones(2, 3), F.ones(4, 3)), -1)
    >>> str(p.dtype)
    'float32'
    """
    if dtype not in (None, "float32", *_NAMES):
        hint = ""
        if dtype == "tf32":
            hint = "; for oneDNN's math modes see sycl_dnn.onednn.PrimitiveAttr.set_fpmath_mode"
        names = ", ".join(map(repr, (*_NAMES, "float32")))
        raise ValueError(f"autocast: dtype must be one of {names} or None, got {dtype!r}{hint}")
    chosen = dtype if enabled and dtype in _NAMES else None
    with policy.using(autocast=chosen):
        yield


@functools.cache
def _parameters_of(body: Callable[..., Any]) -> list[str]:
    return list(inspect.signature(body).parameters)


def casting(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return the body of one of our functions that casts its tensors as the active region does."""
    name = body.__name__

    @functools.wraps(body)
    def cast(*args: Any, **kwargs: Any) -> Any:
        region = policy.current().autocast
        if region is None:
            return body(*args, **kwargs)
        target = _target(name, region, (args, tuple(kwargs.values())))
        # Functions that it calls are not cast again.
        with policy.using(autocast=None):
            if target is None:
                return body(*args, **kwargs)
            names = _parameters_of(body)
            cast_args = [
                _cast(value, target, names[min(i, len(names) - 1)]) for i, value in enumerate(args)
            ]
            return body(*cast_args, **{n: _cast(v, target, n) for n, v in kwargs.items()})

    return cast


def _target(name: str, region: str, arguments: Any) -> str | None:
    """Return the dtype in which a function computes; None for that of its inputs."""
    if name in WIDE:
        return "float32"
    if name not in NARROW and name not in WIDEST:
        return None
    tensors = list(_tensors(arguments))
    if name in WIDEST:
        return dtypes.promote(*(t.dtype for t in tensors)) if tensors else None
    if not tensors or any(_is_quantized(v) for v in _flat(arguments)):
        return None
    engine = tensors[0].trace.engine
    if multiplies(engine, region):
        return region
    reason = f"autocast: {engine.sycl_device.name} has no arithmetic of {region}"
    if policy.current().fallback == "error":
        raise Unimplemented(f"{reason}, which {name} needs")
    policy.warn_once(
        policy.FallbackWarning,
        ("autocast", region, engine.sycl_device.name),
        f"{reason}; products compute in float32 (set_fallback('error') refuses instead)",
    )
    return None


def _cast(value: Any, target: str, name: str) -> Any:
    """Return nested arguments with every tensor that needs casting in the dtype ``target``."""
    if isinstance(value, Tensor):
        stays_float32 = name in _ALSO_FLOAT32 and value.dtype == "float32"
        if value.dtype not in _CAST or stays_float32:
            return value
        return _converted(value, target)
    if isinstance(value, (tuple, list)) and not _is_quantized(value):
        items = [_cast(v, target, name) for v in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _converted(x: Tensor, target: str) -> Tensor:
    """Return a tensor in another dtype; oneDNN cannot convert between two narrow ones."""
    wide = x if "float32" in (x.dtype, target) else x.trace.convert(x, "float32")
    return x.trace.convert(wide, target)


def _is_quantized(value: Any) -> bool:
    return hasattr(value, "zero_point")


def _flat(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, (tuple, list)) and not _is_quantized(value):
        for item in value:
            yield from _flat(item)


def _tensors(value: Any) -> Iterator[Tensor]:
    return (v for v in _flat(value) if isinstance(v, Tensor) and v.dtype in _CAST)
