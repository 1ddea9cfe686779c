# SPDX-License-Identifier: Apache-2.0
"""``Optimizer``, the base class: options, parameter groups, state, and one program per step."""

from __future__ import annotations

import numbers
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sycl_dnn import _torch_habits, tree
from sycl_dnn import functional as F
from sycl_dnn.compiler.decorator import compile
from sycl_dnn.functional.defined import defined
from sycl_dnn.ir.node import Node
from sycl_dnn.nn import lent_arrays, module_tree
from sycl_dnn.nn.partitioned_parameters import check_whole
from sycl_dnn.nn.utils.gradient_clipping import norm_of
from sycl_dnn.onednn import dtypes
from sycl_dnn.ops.arithmetic import EQ, cast, where
from sycl_dnn.optim.clipping import clipped
from sycl_dnn.optim.option_attributes import SCHEDULED, OptionAttributes, check_options, each_of
from sycl_dnn.optim.step_counts import COUNTS, Counts, slots_of
from sycl_dnn.optim.tied_parameters import check_untied
from sycl_dnn.trace.values import Tensor

#: Serializes ``step``, so that each thread starts from the result of the previous step.
_stepping = threading.Lock()
#: Per optimizer: the state that ``step`` keeps for each module.
_states: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

State = dict[str, Any]
#: Returns a part of the initial state of a parameter.
Maker = Callable[[Any], Any]
_WIDE = ("float32", "float64")


def _after(steps: Any, value: Any) -> Any:
    """Return an option after ``steps`` steps: a schedule's value, anything else unchanged."""
    if isinstance(value, (tuple, list)):
        return tuple([_after(steps, v) for v in value])
    return value(steps) if callable(value) else value


def rate_of(name: str, args: tuple[Any, ...], options: dict[str, Any], default: float) -> Any:
    """Return the rate passed to a constructor, removing it from ``options``.

    Raises TypeError if it is neither a number nor a schedule; torch's signature starts with the
    parameters.
    """
    for value in (*args[:1], *(options[n] for n in ("params", "lr") if n in options)):
        if not _is_rate(value):
            raise _torch_habits.wrong_rate(name, value)
    if len(args) > 1 or (args and "lr" in options):
        raise TypeError(f"{name}: only lr may be positional, and once, got {args!r}")
    return args[0] if args else options.pop("lr", default)


def zeros(p: Any) -> Any:
    """Return zeros with the shape, dtype and queue of a parameter."""
    return F.mul(p, 0.0)


def _is_rate(value: Any) -> bool:
    """Whether a value is a number, an array with one element, or a callable."""
    if isinstance(value, (bool, type)) or hasattr(value, "_parameters"):
        return False
    is_of_module = hasattr(getattr(value, "__self__", None), "_parameters")
    is_number = isinstance(value, numbers.Real) or getattr(value, "shape", None) == ()
    return is_number or (callable(value) and not is_of_module)


class Options:
    """The hyper-parameters of one group, and values that a step derives from them."""

    def __init__(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, name, value)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

        def __setattr__(self, name: str, value: Any) -> None: ...


class Row(NamedTuple):
    """A parameter, its gradient and its state."""

    name: str
    p: Any
    g: Any
    slots: dict[str, Any]


class Optimizer(OptionAttributes):
    """Base class of all optimizers.

    The rate, ``momentum`` and each of ``betas`` are numbers or functions of the number of completed
    steps (``sycl_dnn.optim.schedules``). ``groups`` is a list of pairs ``(filter, options)``: the
    first filter that accepts a parameter's name determines the options that override the defaults.
    Parameters whose gradient is None are not updated. The state then has their own numbers of
    updates, ``state["steps"]``, which bias corrections read; schedules read ``state["step"]``.

    Arithmetic is in float32 (float64 for float64). Complex parameters are updated as pairs of real
    numbers, as in torch, and their state is that of the pairs; rules that do not update elements
    independently refuse them. With ``master_weights`` the state has float32 copies of narrower
    parameters, to which updates are applied without rounding.
    """

    #: Options with defaults, in addition to the rate.
    defaults: dict[str, Any] = {}
    #: Whether elements are updated independently, so that ranks may share the work.
    is_elementwise = False
    #: Parts of the state of a parameter that are zeros at first.
    zero_slots: tuple[str, ...] = ()
    #: Whether complex parameters are updated as pairs of numbers; what reads whole arrays is not.
    takes_complex = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.takes_complex = cls.takes_complex or cls.is_elementwise

    if TYPE_CHECKING:
        # For subclasses, which add their options as keywords.
        def __init__(
            self, lr: float | Callable[[Any], Any] = ..., *,
            groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]] = ...,
            decay_mask: Callable[[str, Any], bool] | None = ..., max_norm: float | None = ...,
            master_weights: bool = ..., **options: Any,
        ) -> None: ...  # fmt: skip

    def _set_up(
        self, lr: float | Callable[[Any], Any], options: dict[str, Any],
        groups: Sequence[tuple[Callable[[str], bool], dict[str, Any]]],
        decay_mask: Callable[[str, Any], bool] | None, max_norm: float | None,
        master_weights: bool,
    ) -> None:  # fmt: skip
        name = type(self).__name__
        unknown = {k for _, group_options in groups for k in group_options} - set(options) - {"lr"}
        if unknown:
            raise TypeError(f"{name}: groups must have options of {name}, got {sorted(unknown)}")
        self.options = {"lr": lr, **options}
        for group_options in ({}, *(group_options for _, group_options in groups)):
            check_options(name, self.options | group_options)
        self.groups = tuple((chosen, dict(group_options)) for chosen, group_options in groups)
        self.decay_mask = decay_mask
        self.max_norm = max_norm
        self.master_weights = master_weights

    # Methods that an update rule defines, for the arrays of one parameter.

    def slots(self, p: Any, options: Options) -> dict[str, Maker]:
        """Return how to make the initial state of one parameter from it, by name."""
        return dict.fromkeys(self.zero_slots, zeros)

    def moved(self, p: Any, g: Any, slots: dict[str, Any], o: Options) -> tuple[Any, Any]:
        """Return a parameter and its state after a step."""
        raise NotImplementedError

    def prepare(self, o: Options) -> None:
        """Compute the values that a group's parameters share in step ``o.t``."""

    def agreed(self, is_finite: Any) -> Any:
        """Return whether gradients are finite on all ranks that take part in a step."""
        return is_finite

    # Public interface.

    def init(self, params: Any) -> State:
        """Return the initial state.

        Parameters
        ----------
        params : tree of arrays
            A module or any tree; buffers and frozen parameters have no state.

        Returns
        -------
        dict
            ``"step"`` and the entries of the update rule, each a dict by parameter name. A tree
            that ``sycl_dnn.save`` accepts.

        Raises
        ------
        TypeError
            A trainable array is not floating point, or the rule reads whole arrays and ``params``
            has tensor parallel layers.
        ValueError
            There are no trainable arrays, or two modules in ``params`` share one.
        """
        check_untied(type(self).__name__, params)
        if not self.is_elementwise:
            check_whole(type(self).__name__, params)
        state: State = {}
        for name, p in named(params):
            self._check_dtype(name, p)
            wide = _wide(p)
            for slot, make in self.slots(wide, self._options_of(name)).items():
                state.setdefault(slot, {})[name] = make(wide)
            if self.master_weights and str(p.dtype) not in _WIDE:
                state.setdefault("master", {})[name] = wide
            state.setdefault("step", F.zeros(device=p.sycl_queue))
        if not state:
            raise ValueError(f"{type(self).__name__}: params must have a trainable array, got none")
        return state

    def update(self, grads: Any, state: State, params: Any, *, lr: Any = None) -> tuple[Any, State]:
        """Apply one step; return the new parameters and state.

        In a compiled function the step becomes part of its program; otherwise it is one program
        over the whole tree.

        Parameters
        ----------
        grads : tree of arrays
            Same structure as ``params``; None for parameters without a gradient. Entries for
            buffers and frozen parameters of modules are ignored.
        state : dict
            From ``init`` or the previous step.
        params : tree of arrays
        lr : float or array (), optional
            Overrides the optimizer's rate in this step, for all groups without their own.

        Returns
        -------
        params, state
            New ones; the arguments are not modified.

        Raises
        ------
        KeyError
            The state belongs to other parameters; the message names the first one missing.
        ValueError
            Gradients differ from parameters in structure or shape; the message names the entry.

        Examples
        --------
        >>> from sycl_dnn import functional as F, optim
        >>> opt = optim.SGD(0.5)
        >>> params = {"w": F.ones(2)}
        >>> params, state = opt.update({"w": F.ones(2)}, opt.init(params), params)
        >>> params["w"].tolist(), float(state["step"])
        ([0.5, 0.5], 1.0)
        """
        if any(isinstance(v, Tensor) for v in tree.leaves((grads, state, params, lr))):
            return self._update(grads, state, params, lr)
        # The rate is an argument of the program; everything else that may change is part of its
        # key.
        fixed = repr(
            (
                {n: v for n, v in self.options.items() if n != "lr"},
                [options for _, options in self.groups], self.max_norm, self.master_weights,
            )
        )  # fmt: skip
        functions = [self.decay_mask, *(chosen for chosen, _ in self.groups)]
        for options in (self.options, *(options for _, options in self.groups)):
            functions += [v for n in SCHEDULED for v in each_of(options.get(n)) if callable(v)]
        key = (fixed, functions)
        lr = self.options["lr"] if lr is None else lr
        return _program_of(self)(grads, state, params, lr, key)

    def step(self, module: Any = None, grads: Any = None) -> None:
        """Update a module in place; the optimizer keeps its state.

        The module and its submodules get new arrays. Another network sees the update if it shares
        submodules, not if it merely shares an array.

        Several threads may call it on one module: steps are serialized.

        Raises
        ------
        RuntimeError
            A function is being traced; use ``update`` instead.
        TypeError
            The gradients or the module are missing.

        Examples
        --------
        >>> import sycl_dnn
        >>> from sycl_dnn import functional as F, nn, optim
        >>> net, opt = nn.Linear(2, 1), optim.SGD(0.01)
        >>> loss = lambda net, x: F.mean(F.square(net(x)))
        >>> value, grads = sycl_dnn.value_and_grad(loss)(net, F.ones(4, 2))
        >>> opt.step(net, grads)
        >>> float(loss(net, F.ones(4, 2))) < float(value)
        True
        """
        self._step(module, grads, lambda state: self.update(grads, state, module))

    def _step(self, module: Any, grads: Any, update: Callable[[State], tuple[Any, State]]) -> None:
        """Update a module in place by ``update(state)``."""
        if module is None or grads is None:
            raise _torch_habits.wrong_step(type(self).__name__)
        if any(isinstance(v, Tensor) for v in tree.leaves((module, grads))):
            raise RuntimeError(
                f"{type(self).__name__}.step: a traced function cannot change the optimizer; use "
                "params, state = opt.update(grads, state, params)"
            )
        with _stepping:
            states = _states.setdefault(self, weakref.WeakKeyDictionary())
            if module not in states:
                states[module] = self.init(module)
            result, states[module] = update(states[module])
            lent_arrays.replace(module, module_tree.flatten(result)[0])

    def state_of(self, module: Any) -> State:
        """Return the state that ``step`` keeps for a module, before a step the initial one."""
        states = _states.setdefault(self, weakref.WeakKeyDictionary())
        return states[module] if module in states else self.init(module)

    def load_state(self, module: Any, state: State) -> None:
        """Continue from a state, such as one read from a file."""
        _states.setdefault(self, weakref.WeakKeyDictionary())[module] = state

    # Implementation of a step.

    def _group(self, name: str) -> int | None:
        """Return the index of a parameter's option group; None if no filter accepts it."""
        return next((i for i, (chosen, _) in enumerate(self.groups) if chosen(name)), None)

    def _options_of(self, name: str) -> Options:
        number = self._group(name)
        return Options(self.options | ({} if number is None else self.groups[number][1]))

    def _update(self, grads: Any, state: State, params: Any, lr: Any = None) -> tuple[Any, State]:
        leaves, structure = tree.flatten(params)
        gradients = self._gradients(grads, structure)
        counts, updated = Counts(state), set()
        prepared: dict[Any, Options] = {}
        result: State = {key: {} for key in state if key not in COUNTS}
        new = list(leaves)
        for i, (name, p, g) in enumerate(zip(tree.names(params), leaves, gradients, strict=True)):
            if g is not None:
                self._check(name, p, g)
                updated.add(name)
                wide = "float64" if str(p.dtype) in ("float64", "complex128") else "float32"
                group_key = self._group(name), self._is_decayed(name, p), wide, counts.own(name)
                if group_key not in prepared:
                    prepared[group_key] = self._prepared(
                        name, *counts.of(name, wide), group_key[1], lr
                    )
                row = Row(name, p, g, slots_of(name, state))
                new[i], slots = self._one(row, prepared[group_key])
                for slot, value in slots.items():
                    result[slot][name] = value
        for key, slots in result.items():
            result[key] = {name: slots.get(name, old) for name, old in state[key].items()}
        return tree.unflatten(structure, new), result | counts.after(updated)

    def _gradients(self, grads: Any, structure: tree.Structure) -> list[Any]:
        """Return the gradient of each leaf of the parameters; None for buffers."""
        gradients = tree.matched(structure, grads, f"{type(self).__name__}: grads", none_fills=True)
        rows = zip(gradients, tree.constants(structure), strict=True)
        gradients = [None if is_constant else g for g, is_constant in rows]
        if self.max_norm is None:
            return gradients
        return list(clipped(gradients, norm_of(gradients, structure), self.max_norm))

    def _is_decayed(self, name: str, p: Any) -> bool:
        return self.decay_mask is None or bool(self.decay_mask(name, p))

    def _prepared(self, name: str, step: Any, t: Any, is_decayed: bool, lr: Any) -> Options:
        """Return the options in a step of all parameters that is the ``t``-th of one."""
        o = self._options_of(name)
        fixed = {option: value for option, value in vars(o).items() if option != "lr"}
        check_options(type(self).__name__, fixed)
        number = self._group(name)
        if lr is not None and (number is None or "lr" not in self.groups[number][1]):
            o.lr = lr
        steps = F.sub(step, 1.0)
        for option, value in list(vars(o).items()):
            setattr(o, option, _after(steps, value))
        if not is_decayed and hasattr(o, "weight_decay"):
            o.weight_decay = 0.0
        o.t = t
        self.prepare(o)
        return o

    def _check(self, name: str, p: Any, g: Any) -> None:
        if tuple(g.shape) != tuple(p.shape):
            raise ValueError(
                f"{type(self).__name__}: the gradient of {name} must have shape {p.shape}, got "
                f"{g.shape}"
            )
        self._check_dtype(f"the gradient of {name}", g)

    def _check_dtype(self, name: str, x: Any) -> None:
        dtype = str(x.dtype)
        if dtypes.is_complex(dtype) and not self.takes_complex:
            raise TypeError(
                f"{type(self).__name__}: {name} must be real, got {dtype}: its rule does not "
                "update elements independently"
            )
        if not dtypes.has_gradients(dtype):
            raise TypeError(f"{type(self).__name__}: {name} must be floating-point, got {dtype}")

    def _check_state(self, row: Row, wide: Any) -> None:
        """Refuse a parameter without a state, such as one that was frozen in ``init``."""
        needed = [*self.slots(wide, self._options_of(row.name))]
        if self.master_weights and str(row.p.dtype) not in _WIDE:
            needed.append("master")
        for slot in needed:
            if slot not in row.slots:
                raise KeyError(f"{type(self).__name__}: the state has no {slot!r} of {row.name}")

    def _one(self, row: Row, o: Options) -> tuple[Any, dict[str, Any]]:
        slots = dict(row.slots)
        master = slots.pop("master", None)
        wide = _wide(row.p) if master is None else _current(master, row.p)
        self._check_state(row, wide)
        try:
            g = _in_dtype(_wide(row.g), wide)
            g = F.neg(g) if getattr(o, "maximize", False) else g
            moved, slots = self.moved(wide, g, slots, o)
        except KeyError as error:
            raise KeyError(
                f"{type(self).__name__}: the state has no {error} of {row.name}"
            ) from None
        if master is not None:
            slots = {**slots, "master": moved}
        is_complex = dtypes.is_complex(str(row.p.dtype))
        moved = F.view_as_complex(moved) if is_complex else moved
        return _in_dtype(moved, row.p), slots


def _program_of(optimizer: Optimizer) -> Any:
    program = _programs.get(optimizer)
    if program is None:
        # A strong reference would keep the optimizer alive.
        holder = weakref.ref(optimizer)
        program = _programs[optimizer] = compile(_Update(holder))
    return program


_programs: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class _Update:
    """The update of one optimizer as a function for the compiler."""

    __name__ = "update"
    #: Rate and options are arguments.
    guarded_by_identity = True

    def __init__(self, holder: Any) -> None:
        self.holder = holder

    def __call__(
        self, grads: Any, state: State, params: Any, lr: Any, more: Any
    ) -> tuple[Any, State]:
        return self.holder()._update(grads, state, params, lr)


def _current(master: Any, p: Any) -> Any:
    """Return the wide copy of a parameter, updated where others have written to the parameter."""

    def definition(master: Node, p: Node) -> tuple[Node]:
        wide = cast(p, master.dtype)
        return (where(EQ(cast(cast(master, p.dtype), master.dtype), wide), master, wide),)

    return defined(definition, [master, p])[0]


def _in_dtype(x: Any, like: Any) -> Any:
    return x if x.dtype == like.dtype else F.astype(x, str(like.dtype))


def _wide(p: Any) -> Any:
    """Return an array in the dtype of the arithmetic; complex numbers as pairs."""
    if dtypes.is_complex(str(p.dtype)):
        return F.view_as_real(p)
    return p if str(p.dtype) in _WIDE else F.astype(p, "float32")


def named(params: Any) -> list[tuple[str, Any]]:
    """Return the trainable arrays of a tree with their names."""
    leaves, structure = tree.flatten(params)
    fixed = tree.constants(structure)
    rows = zip(tree.names(params), leaves, fixed, strict=True)
    return [(name, p) for name, p, is_constant in rows if not is_constant]
