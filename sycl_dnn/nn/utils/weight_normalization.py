# SPDX-License-Identifier: Apache-2.0
"""Weight normalization, under the names of both of torch's interfaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from sycl_dnn import functional as F
from sycl_dnn.nn import module_tree
from sycl_dnn.nn.containers import ModuleDict
from sycl_dnn.nn.module import Module
from sycl_dnn.nn.parameter import Parameter

M = TypeVar("M", bound=Module)


class Way(NamedTuple):
    """The computation of a weight from other parameters."""

    #: ``compute(module, name, way)`` returns the weight.
    compute: Callable[[Any, str, Any], Any]
    is_parametrization: bool
    dim: int = 0
    #: Suffixes of its parameters and buffers, unless it is a parametrization.
    ends: tuple[str, ...] = ()
    n_power_iterations: int = 1
    eps: float = 0.0


#: Classes with computed weights, by their plain class and the way each weight is computed.
_classes: dict[Any, type] = {}
#: The inverse: the plain class and the ways of each such class.
_origins: dict[type, tuple[type, dict[str, Way]]] = {}


class _WeightNorm(Module):
    """``g * v / |v|``, under the name that torch's ``repr`` shows."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        """Return length and direction of a weight."""
        return _norm(weight, self.dim), weight


class ParametrizationList(Module):
    """The originals and parametrizations of one weight, named as torch's ``repr`` shows."""

    def __init__(self, originals: list[Any], *steps: Module) -> None:
        super().__init__()
        for number, value in enumerate(originals):
            name = "original" if len(originals) == 1 else f"original{number}"
            self.register_parameter(name, value)
        for number, step in enumerate(steps):
            self.register_module(str(number), step)

    def assign(self, weight: Any) -> None:
        """Set the originals to those from which a weight is computed.

        Raises NotImplementedError if a parametrization has no ``right_inverse``.
        """
        value = weight
        for step in reversed(self._modules.values()):
            if not hasattr(step, "right_inverse"):
                raise NotImplementedError(
                    f"{type(step).__name__} must have right_inverse(weight) for an assignment"
                )
            value = step.right_inverse(value)
        values = value if isinstance(value, (tuple, list)) else [value]
        self.load_state_dict(dict(zip(self._parameters, values, strict=True)), strict=False)


def _norm(v: Any, dim: int) -> Any:
    """Return the norm of each slice along ``dim``; of all elements for -1."""
    squares = F.square(F.astype(v, "float32") if str(v.dtype) != "float64" else v)
    if dim == -1:
        total = F.sum(squares)
    else:
        axes = tuple(a for a in range(v.ndim) if a != dim)
        total = F.sum(squares, axes, True) if axes else squares
    return F.astype(F.sqrt(total), str(v.dtype))


def _parts(module: Any, name: str, way: Way) -> tuple[Any, Any]:
    """Return the length and the direction."""
    if way.is_parametrization:
        arrays = module._modules["parametrizations"]._modules[name]._parameters
        return arrays["original0"], arrays["original1"]
    arrays = module._parameters
    return arrays[f"{name}_g"], arrays[f"{name}_v"]


def _length_times_direction(module: Any, name: str, way: Way) -> Any:
    g, v = _parts(module, name, way)
    return F.mul(v, F.div(g, _norm(v, way.dim)))


def _computed(name: str, way: Way) -> property:
    def weight(self: Any) -> Any:
        """Compute the weight."""
        return way.compute(self, name, way)

    def assigned(self: Any, value: Any) -> None:
        if not way.is_parametrization:
            sources = " and ".join(name + end for end in way.ends)
            raise AttributeError(f"{name} is computed from other arrays: assign to {sources}")
        self._modules["parametrizations"]._modules[name].assign(value)

    return property(weight, assigned)


def _pickled(self: Any, protocol: int) -> Any:
    """Return the pickled form of the module: its class is generated, not importable."""
    return _unpickled, origin_of(self), self.__getstate__()


def _unpickled(plain: type, ways: dict[str, Way]) -> Any:
    return object.__new__(_class_of(plain, ways))


def _class_of(plain: type, ways: dict[str, Way]) -> type:
    key = (plain, tuple(sorted(ways.items())))
    if key not in _classes:
        is_new = any(way.is_parametrization for way in ways.values())
        namespace: dict[str, Any] = {name: _computed(name, way) for name, way in ways.items()}
        namespace |= {"__module__": plain.__module__, "__doc__": plain.__doc__}
        namespace["__reduce_ex__"] = _pickled
        title = f"Parametrized{plain.__name__}" if is_new else plain.__name__
        _classes[key] = type(title, (plain,), namespace)
        _origins[_classes[key]] = (plain, dict(ways))
    return _classes[key]


def origin_of(module: Any) -> tuple[type, dict[str, Way]]:
    """Return the plain class of a module and how its computed weights are obtained."""
    plain, ways = _origins.get(type(module), (type(module), {}))
    return plain, dict(ways)


def replaced(function: str, module: Any, name: str, way: Way) -> tuple[Any, bool]:
    """Remove a weight, so that it is computed; return it and whether it was frozen."""
    plain, ways = origin_of(module)
    weight = module._parameters.get(name)
    if weight is None:
        raise ValueError(
            f"{function}: name must be a parameter of {type(module).__name__} that is not "
            f"normalized, got {name!r}"
        )
    if not -1 <= way.dim < weight.ndim:
        raise ValueError(
            f"{function}: dim must be None or an axis of {name} {tuple(weight.shape)}, got "
            f"{way.dim}"
        )
    is_frozen = name in module._frozen
    del module._parameters[name]
    module.__dict__["_frozen"] -= {name}
    module.__class__ = _class_of(plain, ways | {name: way})
    return weight, is_frozen


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Split a weight into length and direction, as ``torch.nn.utils.weight_norm``.

    The parameter ``name`` is replaced by ``name_g`` and ``name_v``; the attribute is evaluated as
    ``g * v / |v|`` at each use.

    Parameters
    ----------
    module : Module
        Changed in place.
    name : str
        Name of a parameter of the module itself.
    dim : int, optional
        The axis whose slices have their own lengths; None for a single length.

    Returns
    -------
    Module
        ``module``.

    Raises
    ------
    ValueError
        There is no such parameter, or no such axis.

    Examples
    --------
    >>> from sycl_dnn import nn
    >>> layer = nn.utils.weight_norm(nn.Linear(20, 40))
    >>> {name: value.shape for name, value in layer.state_dict().items()}
    {'bias': (40,), 'weight_g': (40, 1), 'weight_v': (40, 20)}
    """
    way = Way(_length_times_direction, False, -1 if dim is None else dim, ("_g", "_v"))
    v, is_frozen = replaced("weight_norm", module, name, way)
    for suffix, value in (("_g", _norm(v, way.dim)), ("_v", v)):
        module.register_parameter(name + suffix, Parameter(value, not is_frozen))
    return module


def parametrized_weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Normalize like ``torch.nn.utils.parametrizations.weight_norm``, with its parameter names.

    Parameters
    ----------
    module : Module
        Changed in place.
    name : str
    dim : int, optional
        As for ``weight_norm``.

    Returns
    -------
    Module
        ``module``.

    Raises
    ------
    ValueError
        There is no such parameter, or no such axis.

    Examples
    --------
    >>> from sycl_dnn import nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(20, 40))
    >>> list(layer.state_dict())[1:]
    ['parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    way = Way(_length_times_direction, True, -1 if dim is None else dim)
    v, is_frozen = replaced("parametrizations.weight_norm", module, name, way)
    result = ParametrizationList([_norm(v, way.dim), v], _WeightNorm(way.dim))
    return parametrized(module, name, result, is_frozen)


def parametrized(module: M, name: str, parametrizations: ParametrizationList, is_frozen: bool) -> M:
    """Register a parametrized weight's list on its module."""
    if "parametrizations" not in module._modules:
        module.register_module("parametrizations", ModuleDict())
    parametrizations.train(module.training)
    if is_frozen:
        parametrizations.freeze()
    module._modules["parametrizations"][name] = parametrizations
    module_tree.form_changed()
    return module


def restored(function: str, module: Any, name: str, is_parametrization: bool) -> Any:
    """Make a computed weight a parameter again, with its current value."""
    plain, ways = origin_of(module)
    if name not in ways or ways[name].is_parametrization != is_parametrization:
        raise ValueError(f"{function}: {name} of {type(module).__name__} must be normalized so")
    value = getattr(module, name)
    way = ways.pop(name)
    if way.is_parametrization:
        is_frozen = bool(module._modules["parametrizations"]._modules[name]._frozen)
        del module._modules["parametrizations"]._modules[name]
        if not module._modules["parametrizations"]._modules:
            del module._modules["parametrizations"]
    else:
        is_frozen = name + way.ends[0] in module._frozen
        for suffix in way.ends:
            delattr(module, name + suffix)
            module.__dict__["_frozen"] -= {name + suffix}
    module.__class__ = _class_of(plain, ways) if ways else plain
    module.register_parameter(name, Parameter(value, not is_frozen))
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Undo ``weight_norm``: the weight becomes a parameter again, with its current value.

    Raises
    ------
    ValueError
        The weight was not normalized by ``weight_norm``.

    Examples
    --------
    >>> from sycl_dnn import nn
    >>> layer = nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(20, 40)))
    >>> list(layer.state_dict())
    ['bias', 'weight']
    """
    return restored("remove_weight_norm", module, name, False)


def remove_parametrizations(module: M, tensor_name: str) -> M:
    """Undo ``parametrizations.weight_norm``; the weight keeps its current value.

    Raises
    ------
    ValueError
        The weight has no such parametrization.

    Examples
    --------
    >>> from sycl_dnn import nn
    >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(20, 40))
    >>> list(nn.utils.parametrize.remove_parametrizations(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    return restored("remove_parametrizations", module, tensor_name, True)


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a weight, or any weight, is parametrized.

    Examples
    --------
    >>> from sycl_dnn import nn
    >>> nn.utils.parametrize.is_parametrized(nn.Linear(2, 2))
    False
    """
    _, ways = origin_of(module)
    parametrized_names = [name for name, way in ways.items() if way.is_parametrization]
    return bool(parametrized_names) if tensor_name is None else tensor_name in parametrized_names
