# SPDX-License-Identifier: Apache-2.0
"""``torch.autograd`` for model code: functions with their own gradient, and gradients in a forward.

``Function`` is ``custom_vjp`` in torch's form; ``grad`` follows what a differentiated function has
done so far.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

from sycl_dnn import _torch_habits, tree
from sycl_dnn import functional as F
from sycl_dnn.call import jacobians, reverse
from sycl_dnn.call.custom_gradients import custom_vjp
from sycl_dnn.call.recorded_tensor import Opaque
from sycl_dnn.nn.hooks import mapped
from sycl_dnn.trace import nested_arguments
from sycl_dnn.trace.cloning import stopped
from sycl_dnn.trace.gradients import accumulate, propagate, separate, zeros_like
from sycl_dnn.trace.module_arrays import building, handed, is_building, plain
from sycl_dnn.trace.refusals import NeedsTape
from sycl_dnn.trace.torch_methods import in_torch_manner, overwritten, unspoilt
from sycl_dnn.trace.values import Tensor, alias

#: ``torch.autograd.function`` is a separate module there.
function = sys.modules[__name__]


class Context:
    """The ``ctx`` of a ``Function``, in which ``forward`` keeps values for ``backward``.

    Attributes that are assigned to it are kept, too: arrays, Python values, and tuples, lists and
    dicts of them.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        Which arguments are floating-point arrays.
    """

    def __init__(self, needs_input_grad: tuple[bool, ...] = ()) -> None:
        self.needs_input_grad = needs_input_grad
        self._saved: tuple[Any, ...] = ()
        self._constant: tuple[int, ...] = ()
        self._marked: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"ctx has no attribute {name!r}: forward keeps arrays, numbers and strings for "
            "backward; a function to be called again is sycl_dnn.checkpoint(function)(*args)"
        )

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep arrays for ``backward``, which reads them as ``saved_tensors``."""
        self._saved = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The arrays given to ``save_for_backward``."""
        return self._saved

    saved_variables = saved_tensors  # the name in old code

    def mark_non_differentiable(self, *outputs: Any) -> None:
        """Mark results without a gradient: ``backward`` receives zeros for them."""
        self._marked = outputs

    def mark_dirty(self, *inputs: Any) -> None:
        """Do nothing: writes to arguments are seen."""

    def set_materialize_grads(self, value: bool) -> None:
        """Do nothing: ``backward`` always receives arrays, zeros for results without a gradient."""

    def _returned(self, result: Any) -> None:
        results = result if isinstance(result, tuple) else (result,)
        self._constant = tuple(
            i for i, v in enumerate(results) if any(v is m for m in self._marked)
        )
        self._marked = ()


class Function:
    """A function with its own gradient, as ``torch.autograd.Function``; call ``apply``.

    Subclasses define the static methods ``forward(ctx, *args)``, or ``forward(*args)`` and
    ``setup_context(ctx, inputs, output)``, and ``backward(ctx, *grads)``. ``backward`` returns one
    gradient for each argument of ``forward``, None where there is none; derivatives of higher
    order are those of ``backward``.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> from sycl_dnn.nn import torch_names as torch
    >>> class Sign(torch.autograd.Function):  # straight-through estimator
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return torch.sign(x)
    ...     @staticmethod
    ...     def backward(ctx, dy):
    ...         return dy
    >>> sycl_dnn.grad(lambda x: (2 * Sign.apply(x)).sum())(F.ones(2)).tolist()
    [2.0, 2.0]
    """

    _rule: Any = None

    @staticmethod
    def setup_context(ctx: Context, inputs: tuple[Any, ...], output: Any) -> None:
        """Keep values for ``backward``, if ``forward`` has no ``ctx``."""
        raise NotImplementedError

    @staticmethod
    def forward(*args: Any) -> Any:
        """Return the result."""
        raise NotImplementedError("Function: a subclass must define forward")

    @staticmethod
    def backward(ctx: Context, *grads: Any) -> Any:
        """Return the gradients of the arguments for the gradients of the results."""
        raise NotImplementedError("Function: a subclass must define backward for its gradient")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Return the result of ``forward``, with the gradient that ``backward`` defines."""
        trace = nested_arguments.trace_of_leaves(tree.leaves(args))
        if trace is None:
            with building():
                return mapped(plain, cls._run(*mapped(handed, args))[0])
        args = tuple(nested_arguments.replaced(list(args), trace.capture))
        writes: list[tuple[int, int | None]] = []

        def forward(*args: Any) -> Any:
            own = [_own(a) if isinstance(a, Tensor) else a for a in args]
            numbers = [getattr(a, "number", None) for a in own]
            result, kept = cls._run(*own)
            writes.extend(_writes(own, numbers, result))
            return (result, [own[i] for i, _ in writes]), kept

        if not trace.training:
            returned = forward(*args)[0]
        else:
            returned = cls._custom().recorded(trace, forward, args, {})
        return _written(cls.__name__, args, writes, *returned)

    @classmethod
    def _custom(cls) -> custom_vjp:
        """Return the rule of the class, the same at each call."""
        if "_rule" not in cls.__dict__:
            cls._rule = custom_vjp(cls.forward)
            cls._rule._name = cls.__name__
            cls._rule.defvjp(cls._run, cls._pulled_back)
        return cls._rule  # type: ignore[no-any-return]

    @classmethod
    def _run(cls, *args: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the result of ``forward``, and the values for ``backward``."""
        ctx = Context(tuple(isinstance(v, Tensor) and v.is_float for v in args))
        with contextlib.nullcontext() if is_building() else in_torch_manner():
            if cls.setup_context is Function.setup_context:
                result = cls.forward(ctx, *args)
            else:
                result = cls.forward(*args)
                cls.setup_context(ctx, args, result)
        ctx._returned(result)
        return result, (len(args), ctx.__dict__)

    @classmethod
    def _pulled_back(cls, kept: tuple[Any, ...], grads_of_all: Any) -> tuple[Any, ...]:
        """Return the gradients that ``backward`` computes, one for each argument."""
        n_args, attributes = kept
        dy, _ = grads_of_all
        ctx = Context()
        ctx.__dict__.update({n: v for n, v in attributes.items() if not _holds_opaque(v)})
        output_grads = list(dy) if isinstance(dy, tuple) else [dy]
        for i in ctx._constant:
            output_grads[i] = None if output_grads[i] is None else F.zeros_like(output_grads[i])
        with in_torch_manner():
            grads = cls.backward(ctx, *output_grads)
        grads = list(grads) if isinstance(grads, (tuple, list)) else [grads]
        while len(grads) > n_args and grads[-1] is None:  # as torch allows
            grads.pop()
        return tuple(grads)


def _holds_opaque(value: Any) -> bool:
    return any(isinstance(leaf, Opaque) for leaf in tree.leaves(value))


def _own(x: Tensor) -> Tensor:
    """Return a value of the function's own: writes to it are no writes to ``x`` yet.

    In ``vmap`` it is ``x`` itself, to which writes are refused.
    """
    return x if x.trace.depth else x.trace.logged(_aliased, x)  # type: ignore[no-any-return]


def _aliased(x: Tensor) -> Tensor:
    return x.trace.view(x, alias(x), lambda grad: grad)  # type: ignore[no-any-return]


def _writes(
    own: Sequence[Any], numbers: Sequence[Any], result: Any
) -> list[tuple[int, int | None]]:
    """Return the numbers of arguments that were written, with their places among the results."""
    results = result if isinstance(result, tuple) else (result,)
    changed = [i for i, a in enumerate(own) if getattr(a, "number", None) != numbers[i]]
    return [(i, next((j for j, y in enumerate(results) if y is own[i]), None)) for i in changed]


def _written(
    name: str, args: Sequence[Any], writes: Sequence[tuple[int, int | None]], result: Any,
    values: Sequence[Any],
) -> Any:  # fmt: skip
    """Repeat the writes of ``forward`` to its arguments; return its result, with those in it."""
    results = list(result) if isinstance(result, tuple) else [result]
    for (number, place), value in zip(writes, values, strict=True):
        new = stopped(value) if place is None else results[place]
        written = overwritten(args[number], f"{name}.apply", new)
        if place is not None:
            results[place] = written
    return tuple(results) if isinstance(result, tuple) else results[0]


def __getattr__(name: str) -> Any:
    raise _torch_habits.missing("torch", "torch_names.autograd", name)


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``backward`` unchanged: its computations have derivatives here."""
    return backward


def Variable(data: Any, requires_grad: bool = False) -> Any:  # noqa: N802 - torch's name
    """Return the array."""
    return data


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
    create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
    is_grads_batched: bool = False, materialize_grads: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the gradients of ``outputs`` by ``inputs``, as ``torch.autograd.grad``.

    It works where code runs over traced values: in functions given to ``sycl_dnn.vjp``, ``grad``,
    ``value_and_grad`` and ``compile``, and in the forward of a module. The result can always be
    differentiated further: by another ``grad``, and by the function's own gradient.

    Parameters
    ----------
    outputs, inputs : array or sequence of arrays
        Values of the function; ``inputs`` may be its arguments, parameters, captured arrays, and
        intermediate values.
    grad_outputs : array or sequence of arrays, optional
        Gradients of the outputs, of their shapes; None for outputs of one element.
    retain_graph, create_graph, only_inputs
        Accepted as torch's; they change nothing.
    allow_unused : bool, optional
        Whether the gradient of an input that the outputs do not depend on is None.
    is_grads_batched : bool
        Must be false.
    materialize_grads : bool
        Whether it is zeros instead.

    Raises
    ------
    TypeError
        ``outputs`` are arrays, whose computation is not known, or an input is not an array.
    ValueError
        A gradient of an output is missing or has another shape.
    RuntimeError
        The outputs do not depend on an input, and ``allow_unused`` is false.

    Examples
    --------
    >>> import sycl_dnn
    >>> from sycl_dnn import functional as F
    >>> from sycl_dnn.nn import torch_names as torch
    >>> def residual(x):  # u'' + u
    ...     u = torch.sin(x)
    ...     u_x, = torch.autograd.grad(u.sum(), x, create_graph=True)
    ...     return torch.autograd.grad(u_x.sum(), x)[0] + u
    >>> sycl_dnn.compile(residual)(F.ones(2)).tolist()
    [0.0, 0.0]
    """
    if is_grads_batched:
        raise NotImplementedError("autograd.grad: is_grads_batched must be False, got True")
    results, targets = (list(v) if isinstance(v, (tuple, list)) else [v] for v in (outputs, inputs))
    seeds = list(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else [grad_outputs]
    if grad_outputs is None:
        seeds *= len(results)
    if len(seeds) != len(results):
        raise ValueError(
            f"autograd.grad: grad_outputs must have one array for each of {len(results)} outputs, "
            f"got {len(seeds)}"
        )
    trace = _trace_of(results, targets)
    targets = [trace.capture(t) if nested_arguments.is_array(t) else t for t in targets]
    seeds = [
        _checked_seed(i, y, dy, trace) for i, (y, dy) in enumerate(zip(results, seeds, strict=True))
    ]
    if not trace.training:
        raise NeedsTape("autograd.grad: plan knows no gradients inside; use sycl_dnn.compile")
    grads = trace.logged(_gradients, results, targets, seeds, materialize_grads)
    for number, gradient in enumerate(grads):
        if gradient is None and not allow_unused:
            raise RuntimeError(
                f"autograd.grad: inputs[{number}] must be used to compute outputs; set "
                "allow_unused=True if None is the gradient wanted"
            )
    return tuple(grads)


def _trace_of(results: Sequence[Any], targets: Sequence[Any]) -> Any:
    trace = nested_arguments.trace_of_leaves([*results, *targets])
    if trace is None or not all(isinstance(y, Tensor) for y in results):
        raise TypeError(
            "autograd.grad: outputs must be values of a function given to sycl_dnn.vjp, grad, "
            "value_and_grad or compile, or of a module's forward, got arrays; use "
            "sycl_dnn.grad(function)(x)"
        )
    for number, target in enumerate(targets):
        if not isinstance(target, Tensor) and not nested_arguments.is_array(target):
            raise TypeError(
                f"autograd.grad: inputs[{number}] must be an array, got {type(target).__name__}"
            )
    return trace


def _checked_seed(number: int, y: Any, dy: Any, trace: Any) -> Any:
    if dy is None:
        if y.size != 1:
            raise ValueError(
                f"autograd.grad: grad_outputs must have an array of shape {tuple(y.shape)} for "
                f"outputs[{number}]; only outputs of one element need none"
            )
        return F.ones_like(y)
    seed = trace.capture(dy) if nested_arguments.is_array(dy) else unspoilt("autograd.grad", dy)
    if tuple(seed.shape) != tuple(y.shape):
        raise ValueError(
            f"autograd.grad: grad_outputs[{number}] must have shape {tuple(y.shape)}, got "
            f"{tuple(seed.shape)}"
        )
    return seed


def _gradients(
    results: Sequence[Tensor], targets: Sequence[Tensor], values: Sequence[Tensor], is_full: bool
) -> list[Tensor | None]:
    """Record the reverse pass over the tape so far; return the gradients of the targets."""
    trace = results[0].trace
    seeds: dict[int, Tensor] = {}
    for result, value in zip(results, values, strict=True):
        accumulate(seeds, result, trace.convert(value, result.dtype))
    grads = propagate(trace, list(trace.tape), seeds, targets)
    pairs = zip(targets, grads, strict=True)
    grads = [zeros_like(t) if g is None and is_full else g for t, g in pairs]
    return [None if g is None else separate(g) for g in grads]


class functional:  # noqa: N801 - torch's name
    """``torch.autograd.functional``: derivatives of a function at a point.

    A tuple of inputs are the arguments of the function, and has a tuple of derivatives.
    """

    @staticmethod
    def jacobian(func: Callable[..., Any], inputs: Any, **options: Any) -> Any:
        """Return the Jacobian; as ``sycl_dnn.jacobian``."""
        args, numbers = _arguments(inputs)
        return jacobians.jacobian(func, numbers)(*args)

    @staticmethod
    def hessian(func: Callable[..., Any], inputs: Any, **options: Any) -> Any:
        """Return the Hessian of a scalar function; as ``sycl_dnn.hessian``."""
        args, numbers = _arguments(inputs)
        return jacobians.hessian(func, numbers)(*args)

    @staticmethod
    def vjp(func: Callable[..., Any], inputs: Any, v: Any = 1.0, **options: Any) -> Any:
        """Return the result, and ``v`` pulled back to the inputs."""
        args, numbers = _arguments(inputs)
        y, pullback = reverse.vjp(func, *args)
        grads = pullback(v)
        return y, grads[0] if numbers == 0 else grads

    @staticmethod
    def jvp(func: Callable[..., Any], inputs: Any, v: Any, **options: Any) -> Any:
        """Return the result, and its derivative along ``v``."""
        return jacobians.jvp(func, _arguments(inputs)[0], _arguments(v)[0])

    @staticmethod
    def hvp(func: Callable[..., Any], inputs: Any, v: Any, **options: Any) -> Any:
        """Return the value of a scalar function, and its Hessian times ``v``."""
        args, numbers = _arguments(inputs)
        y, products = jacobians.hvp(func, args, _arguments(v)[0])
        return y, products[0] if numbers == 0 else products


def _arguments(inputs: Any) -> tuple[tuple[Any, ...], Any]:
    """Return inputs as arguments, and their numbers as ``argnums`` has them."""
    if isinstance(inputs, tuple):
        return inputs, tuple(range(len(inputs)))
    return (inputs,), 0
