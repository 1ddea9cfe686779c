# SPDX-License-Identifier: Apache-2.0
"""Spectral normalization, and weights computed by parametrizations."""

from __future__ import annotations

from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.nn import module_tree
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.parameter import Parameter
from sycl_dnn.nn.utils.weight_normalization import (
    M,
    ParametrizationList,
    Way,
    origin_of,
    parametrized,
    replaced,
    restored,
)
from sycl_dnn.trace.cloning import stopped
from sycl_dnn.trace.values import Tensor


class _SpectralNorm(Module):
    """The vectors of the power iteration, under the name that torch's ``repr`` shows."""

    def __init__(self, u: Any, v: Any) -> None:
        super().__init__()
        self.register_buffer("_u", u)
        self.register_buffer("_v", v)

    def right_inverse(self, weight: Any) -> Any:
        """Return the original of a weight, which is normalized at each use."""
        return weight


def _matrix(weight: Any, dim: int) -> Any:
    """Return the weight as a matrix whose rows are indexed by axis ``dim``."""
    if dim:
        weight = F.permute(weight, (dim, *(a for a in range(weight.ndim) if a != dim)))
    return F.reshape(weight, (weight.shape[0], -1))


def _iterated(matrix: Any, u: Any, v: Any, way: Way) -> tuple[Any, Any]:
    """Return the vectors after power iteration, in the order of torch's two interfaces."""
    transposed = F.transpose(matrix, 0, 1)
    for _ in range(way.n_power_iterations):
        if way.is_parametrization:
            u = F.normalize(F.mv(matrix, v), dim=0, eps=way.eps)
        v = F.normalize(F.mv(transposed, u), dim=0, eps=way.eps)
        if not way.is_parametrization:
            u = F.normalize(F.mv(matrix, v), dim=0, eps=way.eps)
    return u, v


def _over_largest(module: Any, name: str, way: Way) -> Any:
    """Return the weight over its largest singular value, after iterating if in training mode."""
    if way.is_parametrization:
        parametrizations = module._modules["parametrizations"]._modules[name]
        weight, holder, names = (
            parametrizations._parameters["original"],
            parametrizations._modules["0"],
            ("_u", "_v"),
        )
    else:
        weight, holder = module._parameters[f"{name}_orig"], module
        names = (f"{name}_u", f"{name}_v")
    matrix = _matrix(weight, way.dim)
    u, v = (holder._buffers[n] for n in names)
    if module.training and isinstance(matrix, Tensor):
        trace = matrix.trace
        u, v = (x if isinstance(x, Tensor) else trace.capture(x) for x in (u, v))
        u, v = map(stopped, _iterated(stopped(matrix), u, v, way))
        for buffer, value in zip(names, (u, v), strict=True):
            holder.update_buffer(buffer, value)
    return F.div(weight, F.dot(u, F.mv(matrix, v)))


def _vectors(weight: Any, way: Way) -> tuple[Any, Any]:
    matrix = _matrix(F.astype(weight, "float32"), way.dim)
    draws = (F.randn(n, device=matrix.sycl_queue) for n in matrix.shape)
    u, v = (F.normalize(x, dim=0, eps=way.eps) for x in draws)
    return F.astype(u, str(weight.dtype)), F.astype(v, str(weight.dtype))


def _axis(module: Any, dim: int | None) -> int:
    if dim is not None:
        return dim
    return int(any("ConvTranspose" in kind.__name__ for kind in type(module).__mro__))


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> M:  # fmt: skip
    """Divide a weight by its largest singular value, as ``torch.nn.utils.spectral_norm``.

    The parameter ``name`` is replaced by ``name_orig``; the buffers ``name_u`` and ``name_v`` are
    estimates of the singular vectors, refined by each forward in training mode.

    Parameters
    ----------
    module : Module
        Changed in place.
    name : str
        Name of a parameter of the module itself, with at least two axes.
    n_power_iterations : int
        Iterations per forward in training mode.
    eps : float
        Lower bound for the norms that vectors are divided by.
    dim : int, optional
        The output axis: 1 for transposed convolutions, else 0.

    Returns
    -------
    Module
        ``module``.

    Raises
    ------
    ValueError
        There is no such parameter, or a number is out of range.

    Examples
    --------
    >>> from sycl_dnn import nn
    >>> list(nn.utils.spectral_norm(nn.Linear(20, 40)).state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    _check(module, "spectral_norm", name, n_power_iterations)
    suffixes = ("_orig", "_u", "_v")
    way = Way(_over_largest, False, _axis(module, dim), suffixes, n_power_iterations, eps)
    weight, is_frozen = replaced("spectral_norm", module, name, way)
    module.register_parameter(f"{name}_orig", Parameter(weight, not is_frozen))
    for suffix, value in zip(suffixes[1:], _vectors(weight, way), strict=True):
        module.register_buffer(name + suffix, value)
    return module


def _check(module: Any, function: str, name: str, n_power_iterations: int) -> None:
    if n_power_iterations < 1:
        raise ValueError(
            f"{function}: n_power_iterations must be at least 1, got {n_power_iterations}"
        )
    weight = module._parameters.get(name)
    if weight is not None and weight.ndim < 2:
        raise ValueError(f"{function}: {name} must have at least two axes, got {weight.shape}")


def parametrized_spectral_norm(
    module: M, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> M:  # fmt: skip
    """Normalize like ``torch.nn.utils.parametrizations.spectral_norm``, with its parameter names.

    Parameters
    ----------
    module : Module
        Changed in place.
    name : str
    n_power_iterations : int
    eps : float
    dim : int, optional
        As for ``spectral_norm``; the vectors are initialized by 15 iterations.

    Returns
    -------
    Module
        ``module``.

    Raises
    ------
    ValueError
        There is no such parameter, or a number is out of range.

    Examples
    --------
    >>> from sycl_dnn import nn
    >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(20, 40))
    >>> list(layer.state_dict())[1:3]
    ['parametrizations.weight.original', 'parametrizations.weight.0._u']
    """
    function = "parametrizations.spectral_norm"
    _check(module, function, name, n_power_iterations)
    way = Way(_over_largest, True, _axis(module, dim), (), n_power_iterations, eps)
    weight, is_frozen = replaced(function, module, name, way)
    first = way._replace(n_power_iterations=15)
    u, v = _iterated(_matrix(weight, way.dim), *_vectors(weight, way), first)
    return parametrized(module, name, ParametrizationList([weight], _SpectralNorm(u, v)), is_frozen)


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Undo ``spectral_norm``: the weight becomes a parameter again, with its current value.

    Raises
    ------
    ValueError
        The weight was not normalized by ``spectral_norm``.

    Examples
    --------
    >>> from sycl_dnn import nn
    >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(20, 40)))
    >>> list(layer.state_dict())
    ['bias', 'weight']
    """
    return restored("remove_spectral_norm", module, name, False)  # type: ignore[no-any-return]


def _by_steps(module: Any, name: str, way: Way) -> Any:
    """Apply the parametrizations of a weight to its original parameter in order."""
    parametrizations = module._modules["parametrizations"]._modules[name]
    originals = list(parametrizations._parameters.values())
    first, *rest = parametrizations._modules.values()
    value = first(*originals)
    for step in rest:
        value = step(value)
    return value


def register_parametrization(
    module: M, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> M:
    """Compute a weight with a module, as ``torch.nn.utils.parametrize.register_parametrization``.

    The attribute is evaluated as ``parametrization(original)`` at each use.

    Parameters
    ----------
    module : Module
        Changed in place.
    tensor_name : str
        Name of a parameter of the module itself; parametrizations of one weight are chained.
    parametrization : Module
        If it has ``right_inverse``, the original parameters are computed from the current weight,
        and from one that is assigned.
    unsafe : bool
        Has no effect: nothing is validated in advance.

    Returns
    -------
    Module
        ``module``.

    Raises
    ------
    ValueError
        There is no such parameter.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> class Positive(nn.Module):
    ...     def forward(self, x):
    ...         return F.exp(x)
    >>> layer = nn.Linear(2, 2)
    >>> _ = nn.utils.parametrize.register_parametrization(layer, "weight", Positive())
    >>> bool((layer.weight > 0).all())
    True
    """
    lists = module._modules.get("parametrizations")
    if lists is not None and tensor_name in lists._modules:
        if origin_of(module)[1][tensor_name].compute is not _by_steps:
            raise ValueError(
                f"register_parametrization: tensor_name must not be normalized already, got "
                f"{tensor_name!r} of {type(module).__name__}"
            )
        parametrizations = lists._modules[tensor_name]
        parametrizations.register_module(str(len(parametrizations._modules)), parametrization)
        module_tree.form_changed()
        return module
    way = Way(_by_steps, True)
    weight, is_frozen = replaced("register_parametrization", module, tensor_name, way)
    inverse = getattr(parametrization, "right_inverse", None)
    originals = weight if inverse is None else inverse(weight)
    originals = list(originals) if isinstance(originals, (tuple, list)) else [originals]
    return parametrized(
        module, tensor_name, ParametrizationList(originals, parametrization), is_frozen
    )
