# SPDX-License-Identifier: Apache-2.0
"""Operators of exported graphs for linear algebra, Fourier transforms, complex numbers, statistics.

Most have the arguments of the function of that name in torch, which ``torch_names`` has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn import torch_names as names
from sycl_dnn.nn.torch_matrices import eye_like

#: Its namespaces are made at import.
torch_names: Any = names

#: Operators with the same arguments as torch's function of the same name.
_PLAIN = (
    "addbmm", "addmv", "addr", "angle", "bartlett_window", "blackman_window", "cholesky_solve",
    "column_stack", "complex", "conj", "conj_physical", "corrcoef", "cov", "cummax", "cummin",
    "cumulative_trapezoid", "diag", "diag_embed", "diagflat", "dist", "dstack", "frexp", "gcd",
    "hamming_window", "hann_window", "hstack", "i0", "imag", "index_reduce", "inner", "inverse",
    "isin", "isneginf", "isposinf", "istft", "kaiser_window", "kron", "lcm", "ldexp",
    "logcumsumexp", "logdet", "logspace", "matrix_exp", "mode", "multinomial", "mvlgamma",
    "nextafter", "pdist", "polar", "polygamma", "randint", "randperm", "ravel", "real", "renorm",
    "resolve_conj", "resolve_neg", "rrelu", "sgn", "tensor_split", "tile", "trapezoid",
    "tril_indices", "triu_indices", "vdot", "view_as_complex", "view_as_real", "vstack",
)  # fmt: skip
_FOURIER = (
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft",
    "rfft2", "rfftfreq", "rfftn",
)  # fmt: skip
_MATRICES = (
    "cholesky", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv",
    "lu", "lu_factor", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power",
    "matrix_rank", "multi_dot", "norm", "pinv", "qr", "slogdet", "solve", "solve_triangular", "svd",
    "svdvals", "vecdot",
)  # fmt: skip
_SPECIAL = (
    "digamma", "entr", "erf", "erfc", "erfcx", "erfinv", "exp2", "expit", "expm1", "gammaln",
    "i0", "i0e", "i1", "i1e", "log1p", "log_ndtr", "log_softmax", "logit", "logsumexp",
    "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "sinc", "softmax", "xlog1py",
    "xlogy",
)  # fmt: skip


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the row of a function that takes each array of a list as an argument."""
    return lambda arrays: function(*arrays)


def _undriven(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the row of a decomposition without the choice of a CUDA library."""
    return lambda *args, driver=None, **options: function(*args, **options)


def _stft(
    x: Any, n_fft: int, hop_length: Any = None, win_length: Any = None, window: Any = None,
    normalized: bool = False, onesided: Any = None, return_complex: Any = None, *_: Any,
    **options: Any,
) -> Any:  # fmt: skip
    # torch pads in Python, before the operator.
    return torch_names.stft(
        x, n_fft, hop_length, win_length, window, False, "constant", normalized, onesided,
        return_complex,
    )  # fmt: skip


def _tensordot(a: Any, b: Any, of_a: Sequence[int], of_b: Sequence[int]) -> Any:
    return F.tensordot(a, b, (of_a, of_b))


def _exponential(x: Any, lambd: float = 1.0) -> Any:
    return F.div(F.log1p(F.neg(F.rand_like(x))), -lambd)


def _uniform(x: Any, low: float = 0.0, high: float = 1.0) -> Any:
    return F.add(F.mul(F.rand_like(x), high - low), low)


def _normal(x: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    return F.add(F.mul(F.randn_like(x), std), mean)


SAME: dict[str, Callable[..., Any]] = {
    **{name: getattr(torch_names, name) for name in _PLAIN},
    **{f"fft_{name}": getattr(torch_names.fft, name) for name in _FOURIER},
    **{f"linalg_{name}": getattr(torch_names.linalg, name) for name in _MATRICES},
    **{f"special_{name}": getattr(torch_names.special, name) for name in _SPECIAL},
}
ROWS: dict[str, Callable[..., Any]] = {
    **SAME,
    **{
        name: _spread(getattr(torch_names, name))
        for name in ("block_diag", "broadcast_tensors", "cartesian_prod")
    },
    **{
        f"linalg_{name}": _undriven(getattr(torch_names.linalg, name))
        for name in ("svd", "svdvals")
    },
    "cholesky_inverse": lambda x, upper=False: torch_names.cholesky_solve(
        eye_like(x, x.shape[-1]), x, upper
    ),
    "exponential": _exponential,
    "normal_functional": _normal,
    "stft": _stft,
    "tensordot": _tensordot,
    "uniform": _uniform,
    "_conj": F.conj,
    "_conj_physical": F.conj,
    "_neg_view": F.neg,
}
