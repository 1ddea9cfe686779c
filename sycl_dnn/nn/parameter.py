# SPDX-License-Identifier: Apache-2.0
"""``Parameter`` and ``Buffer``: markers for arrays that become attributes of modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.module_arrays import handed

#: Methods of arrays that return their object in torch if nothing is to be converted.
_SAME = frozenset((
    "bfloat16", "contiguous", "cpu", "cuda", "double", "float", "half", "to", "type", "type_as",
    "xpu",
))  # fmt: skip


class Parameter:
    """An array that a module trains, as ``torch.nn.Parameter``.

    Assigning it to an attribute of a module registers the array; the attribute then is the array
    itself.

    Parameters
    ----------
    data : dpnp.ndarray or Array (*)
        Shared, not copied.
    requires_grad : bool
        Whether it receives a gradient; ``Module.freeze`` changes that.

    Raises
    ------
    TypeError
        ``data`` is not an array.

    Notes
    -----
    Source: ``torch.nn.Parameter``.

    Examples
    --------
    >>> from sycl_dnn import functional as F, nn
    >>> class Scale(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = nn.Parameter(F.ones(3))
    ...     def forward(self, x):
    ...         return x * self.weight
    >>> [name for name, _ in Scale().named_parameters()]
    ['weight']
    """

    def __init__(self, data: Any, requires_grad: bool = True) -> None:
        if isinstance(data, Parameter):
            data = data.data
        if not nested_arguments.is_array(data):
            kind = type(data).__name__
            raise TypeError(
                f"{type(self).__name__}: data must be a dpnp.ndarray or Array, got {kind}"
            )
        self.data: Any = data
        self.requires_grad = requires_grad

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "data":
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")
        value = getattr(handed(self.data), name)
        return self._unless_changed(value) if name in _SAME or name.endswith("_") else value

    def _unless_changed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that returns this object, as torch's, unless it converts the array."""

        def call(*args: Any, **kwargs: Any) -> Any:
            result = method(*args, **kwargs)
            if not nested_arguments.is_array(result):
                return result
            is_same = (result.dtype, result.sycl_queue) == (self.data.dtype, self.data.sycl_queue)
            return self if is_same else result

        return call

    def requires_grad_(self, requires_grad: bool = True) -> Parameter:
        """Set ``requires_grad``."""
        self.requires_grad = requires_grad
        return self

    def __getitem__(self, key: Any) -> Any:
        return handed(self.data)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        handed(self.data)[key] = value

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"{type(self).__name__} containing:\n{self.data!r}"


class Buffer(Parameter):
    """An array of a module's state that is not trained, as ``torch.nn.Buffer``.

    Parameters
    ----------
    data : dpnp.ndarray or Array (*)
    persistent : bool
        Whether ``state_dict`` includes it.
    """

    def __init__(self, data: Any, *, persistent: bool = True) -> None:
        super().__init__(data, requires_grad=False)
        self.persistent = persistent
