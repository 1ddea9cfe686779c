# SPDX-License-Identifier: Apache-2.0
"""Complex arguments of functions: moved as they are, computed by their own rule, or refused.

Bodies are written for real numbers, and one that is unaware of complex ones would drop or misread
their imaginary parts. So each function is refused unless it is listed here or has a rule.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sycl_dnn import tree
from sycl_dnn.call import arguments
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import nested_arguments, policy
from sycl_dnn.trace.values import Tensor

F = TypeVar("F", bound=Callable[..., Any])

#: Functions whose bodies move elements, call functions that have rules, or expect complex numbers.
#: Those of ``linalg`` with that before their names, since another function has the name ``norm``.
MOVING = frozenset((
    "astype", "broadcast_to", "cat", "chunk", "copied", "created", "cross", "cumsum", "diag",
    "diagonal", "diff", "dot", "eig", "eigvals", "einsum", "embedding", "empty_like", "expand",
    "fft", "fft2", "fftn", "fftshift", "flatten", "flip", "full_like", "gather", "hfft", "hstack",
    "ifft", "ifft2", "ifftn", "ifftshift", "ihfft", "index_add", "index_copy", "index_fill",
    "index_put", "index_select", "irfft", "irfft2", "irfftn", "isclose", "linalg.cholesky",
    "linalg.cond", "linalg.det", "linalg.eigh", "linalg.eigvalsh", "linalg.inv", "linalg.lstsq",
    "linalg.matrix_norm", "linalg.matrix_power", "linalg.multi_dot", "linalg.norm", "linalg.qr",
    "linalg.slogdet", "linalg.solve", "linalg.solve_triangular", "linalg.svd", "linalg.svdvals",
    "lu_factor", "meshgrid", "movedim", "mv", "narrow", "ones_like", "outer", "pad", "permute",
    "pinv", "pixel_shuffle", "pixel_unshuffle", "repeat_interleave", "reshape", "rfft", "rfft2",
    "rfftn", "roll", "rot90", "scatter", "scatter_add", "select", "select_scatter", "slice_scatter",
    "split", "squeeze", "stack", "stop_gradient", "swapaxes", "take", "take_along_dim",
    "tensor_split", "tensordot", "tile", "trace", "transpose", "tril", "triu", "unbind",
    "unflatten", "unsqueeze", "vstack", "zeros_like",
))  # fmt: skip
#: Rules by name of the function; they take its arguments.
RULES: dict[str, Callable[..., Any]] = {}


def of_complex(rule: F) -> F:
    """Register the rule of the function of the same name."""
    RULES[rule.__name__] = rule
    return rule


#: Functions of those that move elements which take complex numbers of Python's.
_FILLING = frozenset(("created", "full_like"))


def is_complex(value: Any) -> bool:
    """Whether a value is a complex tensor or number."""
    if isinstance(value, Tensor):
        return dtypes.is_complex(value.dtype)
    return isinstance(value, complex)


def _is_moved(name: str, values: Sequence[Any]) -> bool:
    has_numbers = any(isinstance(v, complex) for v in values)
    return name in MOVING and (name in _FILLING or not has_numbers)


def routed(body: Callable[..., Any]) -> Callable[..., Any]:
    """Return the body of a function that accepts complex tensors only if it can handle them.

    Raises TypeError if an argument is complex, and the function has no rule for that.
    """
    name = body.__name__.lstrip("_")
    name = f"linalg.{name}" if ".functional.linalg." in body.__module__ else name

    @functools.wraps(body)
    def call(*args: Any, **kwargs: Any) -> Any:
        values: Sequence[Any] = (*args, *kwargs.values())
        if not nested_arguments.is_flat(values):
            values = tree.leaves(values)
        if not any(map(is_complex, values)) or _is_moved(name, values):
            return body(*args, **kwargs)
        if name not in RULES:
            raise _refusal(name.removeprefix("linalg."), body, args, kwargs)
        # Regions in narrow dtypes leave complex numbers alone.
        with policy.using(autocast=None):
            return RULES[name](*args, **kwargs)

    return call


def _refusal(name: str, body: Any, args: Any, kwargs: Any) -> TypeError:
    """Return the error; bodies shared by several functions receive the name of the called one."""
    values = arguments.by_name(body, args, kwargs)
    name = str(values.get("name", name))
    for parameter, value in values.items():
        for path, leaf in tree.paths(value):
            if is_complex(leaf):
                actual = getattr(leaf, "dtype", leaf)
                return TypeError(f"{name}: {parameter}{path} must not be complex, got {actual}")
    return TypeError(f"{name}: arguments must not be complex")
