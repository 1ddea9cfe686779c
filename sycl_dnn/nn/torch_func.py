# SPDX-License-Identifier: Apache-2.0
"""``torch.func``: transforms of functions, and calls of modules with other parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sycl_dnn import functional as F
from sycl_dnn.call import jacobians, reverse, vectorization
from sycl_dnn.nn import module_tree
from sycl_dnn.trace.module_arrays import plain
from sycl_dnn.trace.torch_methods import in_torch_manner


def _of_torch(transform: Callable[..., Any]) -> Callable[..., Any]:
    """Return a transform of functions whose values have torch's methods."""

    @functools.wraps(transform)
    def transformed(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        @functools.wraps(func)
        def with_methods(*values: Any, **named: Any) -> Any:
            with in_torch_manner():
                return func(*values, **named)

        return transform(with_methods, *args, **kwargs)

    return transformed


@_of_torch
def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error",
    *, chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function of a batch, as ``sycl_dnn.vmap``; the batch is one program, never chunks.

    Unlike in torch, numbers that the function draws for itself (``rand``), not for a mapped array
    (``dropout``, ``rand_like``), are those of all samples; draw them from ``rand_like``.

    Raises
    ------
    ValueError
        ``randomness`` is ``"same"``: masks of samples differ.
    """
    if randomness not in ("error", "different"):
        raise ValueError(f"vmap: randomness must be 'error' or 'different', got {randomness!r}")
    return vectorization.vmap(func, in_dims, out_dims)


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Return the result of a module with other parameters and buffers.

    Parameters
    ----------
    module : Module
        Keeps its own arrays; buffers that the forward updates are those of this call.
    parameter_and_buffer_dicts : dict or sequence of dict
        Arrays by name, as ``named_parameters`` and ``named_buffers`` have them.
    args, kwargs
        Arguments of the module; one that is no tuple is the only one.
    tie_weights : bool
        True: a tied array has one value under all its names.
    strict : bool
        Whether an array for each name is required.

    Raises
    ------
    ValueError
        ``tie_weights`` is false, or two dicts have the same name.
    RuntimeError
        The module has no such name, or one is missing with ``strict``.
    """
    if not tie_weights:
        raise ValueError("functional_call: tie_weights must be True, got False")
    dicts = parameter_and_buffer_dicts
    dicts = (dicts,) if isinstance(dicts, Mapping) else tuple(dicts)
    values = {name: plain(v) for each in dicts for name, v in each.items()}
    if len(values) < sum(map(len, dicts)):
        raise ValueError("functional_call: parameter_and_buffer_dicts must not have a name twice")
    leaves, form = module_tree.flatten(module)
    places = {id(leaf): number for number, leaf in enumerate(leaves)}
    own = [
        *module.named_parameters(remove_duplicate=False),
        *module.named_buffers(remove_duplicate=False),
    ]
    numbers = {name: places[id(plain(leaf))] for name, leaf in own if id(plain(leaf)) in places}
    unknown = sorted(values.keys() - numbers.keys())
    missing = sorted(numbers.keys() - values.keys()) if strict else []
    if unknown or missing:
        what = f"has no {', '.join(unknown)}" if unknown else f"lacks {', '.join(missing)}"
        raise RuntimeError(f"functional_call: names must be those of the module, which {what}")
    for name, value in values.items():
        leaves[numbers[name]] = value
    called = module_tree.unflatten(form, leaves)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    return called(*args, **(kwargs or {}))


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return parameters and buffers of equal modules by name, stacked along a new first axis.

    Raises
    ------
    RuntimeError
        There are none, or their classes differ.
    """
    if not models or len({type(m) for m in models}) > 1:
        kinds = sorted({type(m).__name__ for m in models})
        raise RuntimeError(f"stack_module_state: models must be of one class, got {kinds}")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    return tuple(  # type: ignore[return-value]
        {name: F.stack([plain(state[name]) for state in states]) for name in states[0]}
        for states in (parameters, buffers)
    )


class func:  # noqa: N801 - torch's name
    """``torch.func``: transforms of functions."""

    grad = staticmethod(_of_torch(reverse.grad))
    vjp = staticmethod(_of_torch(reverse.vjp))
    jvp = staticmethod(_of_torch(jacobians.jvp))
    vmap = staticmethod(vmap)
    jacrev = jacfwd = staticmethod(_of_torch(jacobians.jacobian))
    hessian = staticmethod(_of_torch(jacobians.hessian))
    functional_call = staticmethod(functional_call)
    stack_module_state = staticmethod(stack_module_state)

    @staticmethod
    @_of_torch
    def grad_and_value(
        func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False
    ) -> Callable[..., Any]:
        """Return a function that computes a gradient and the value, in this order."""
        both = reverse.value_and_grad(func, argnums, has_aux)
        return lambda *args, **kwargs: both(*args, **kwargs)[::-1]
