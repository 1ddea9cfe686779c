# SPDX-License-Identifier: Apache-2.0
"""``Module``: the base class of layers and networks, as ``torch.nn.Module``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from sycl_dnn import _torch_habits, tree
from sycl_dnn.nn import buffer_writes, copying, hooks, lent_arrays, module_tree, written_attributes
from sycl_dnn.nn.eager import run_forward
from sycl_dnn.nn.parameter import Buffer, Parameter
from sycl_dnn.nn.shown_options import shown_options
from sycl_dnn.nn.state import ModuleState
from sycl_dnn.nn.summary import Summary, summary_of
from sycl_dnn.trace import array_writes, functions, nested_arguments
from sycl_dnn.trace.module_arrays import BUILDERS, ModuleArray, built, plain
from sycl_dnn.trace.values import Tensor

_GROUPS = ("_parameters", "_buffers", "_modules")


def _check_array(what: str, name: str, value: Any) -> None:
    if value is not None and not nested_arguments.is_array(value):
        required = ", sycl_dnn.nn.Parameter" if what == "parameter" else ""
        raise TypeError(
            f"cannot assign '{type(value).__name__}' object to {what} '{name}' (an array{required} "
            "or None required)"
        )


class Module(ModuleState):
    """A network or part of one: parameters, buffers and submodules as attributes, and ``forward``.

    Names, defaults, ``state_dict`` and ``repr`` are those of ``torch.nn.Module``. Differences:

    - A module is a tree: ``vjp``, ``grad``, ``compile`` and ``sycl_dnn.tree.map`` accept and return
      modules. Its leaves are its arrays, each once. The gradient with respect to a module is a
      module of the same class, with None for buffers and frozen parameters. A program is compiled
      for one mode (training or inference) and one set of hyper-parameters.
    - A call outside other transforms runs ``forward`` as one compiled program. Inside ``forward``
      arrays are traced and have the methods of torch's tensors. Assigning to a registered buffer
      writes into that buffer. A forward that assigns other attributes, or changes lists and dicts
      among them, runs on each call; ``compile`` accepts assignments of arrays.
    - A registered parameter is read as a dpnp array that also has torch's methods (``dim``,
      ``numel``, ``normal_``, ``requires_grad``), the same object each time. While ``__init__``
      runs, arrays created by functions have these methods too.

    Raises
    ------
    AttributeError
        A parameter, buffer or module is assigned before ``super().__init__()`` is called.

    Notes
    -----
    Source: ``torch.nn.Module``.

    Examples
    --------
    >>> import dpnp
    >>> from sycl_dnn import nn
    >>> from sycl_dnn import functional as F
    >>> class Net(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hidden = nn.Linear(4, 8)
    ...         self.out = nn.Linear(8, 2)
    ...     def forward(self, x):
    ...         return self.out(F.relu(self.hidden(x)).view(x.size(0), -1))
    >>> net = Net()
    >>> net(dpnp.ones((3, 4), dtype="f4")).shape
    (3, 2)
    >>> list(net.state_dict())
    ['hidden.weight', 'hidden.bias', 'out.weight', 'out.bias']
    """

    training: bool

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        module_tree.register(cls)
        for name in BUILDERS:
            if inspect.isfunction(vars(cls).get(name)):
                setattr(cls, name, built(vars(cls)[name]))

    def __init__(self) -> None:
        attrs = self.__dict__
        attrs["training"] = True
        for group in _GROUPS:
            attrs[group] = {}
        attrs["_frozen"] = attrs["_transient"] = frozenset()
        module_tree.form_changed()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the result; subclasses must define it.

        Raises
        ------
        NotImplementedError
            The subclass does not define it.
        """
        kind = type(self).__name__
        raise NotImplementedError(f'Module [{kind}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run ``forward``: inlined in the function being traced, or as a compiled program."""
        return run_forward(self, args, kwargs)

    # Attributes.

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Buffer):
            self.register_buffer(name, value.data, value.persistent)
        elif isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif issubclass(type(value), Module):  # a weak proxy of one is no submodule
            self.register_module(name, value)
        elif self._has(name):
            self._assign(name, value)
        elif isinstance(value, ModuleArray) and value.is_parameter:
            # A parameter of another module is shared with this one.
            self.register_parameter(name, value)
        elif self.__dict__.get(name, self) is not value:  # else nothing changes
            self._check_plain(name, value)
            object.__setattr__(self, name, value)
            module_tree.form_changed()

    def _has(self, name: str) -> bool:
        return any(name in self.__dict__.get(group, ()) for group in _GROUPS)

    def _check_plain(self, name: str, value: Any) -> None:
        """Refuse an assignment that would be lost or would outlive the trace."""
        is_traced = any(isinstance(v, Tensor) for v in tree.leaves(value))
        if is_traced or "_is_traced" in self.__dict__ or written_attributes.runs(self):
            written_attributes.check_assignment(self, name)
        else:
            self.__dict__.get("_returned", {}).pop(name, None)

    def _runs_as(self, copy: Module, trace: Any) -> None:
        """Record a function's changes of a copy's attributes, to repeat them on the module."""
        written_attributes.watch(trace, self, copy)

    def _set_returned(self, part: int, name: str, value: Any, group: str) -> None:
        """Set an attribute of a part of the module that a compiled function assigned."""
        written_attributes.set_returned(self, part, name, value, group)

    def _assign(self, name: str, value: Any) -> None:
        """Bind a registered name to another parameter, buffer or module."""
        value = plain(value)
        attrs = self.__dict__
        group = next(attrs[g] for g in _GROUPS if name in attrs[g])
        if group is attrs["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{type(value).__name__}' as child module '{name}' "
                    "(sycl_dnn.nn.Module or None expected)"
                )
        elif (
            isinstance(value, Tensor) and group is attrs["_buffers"]
            and getattr(group[name], "shape", None) != value.shape
        ):  # fmt: skip
            self.register_buffer(name, value, name not in attrs["_transient"])
            return
        elif isinstance(value, Tensor) and "_is_traced" not in attrs:
            if group is attrs["_parameters"]:
                raise RuntimeError(
                    f"{type(self).__name__}.{name}: a parameter must not be assigned to in forward"
                )
            self.update_buffer(name, value)
            return
        elif isinstance(value, Tensor) and group is attrs["_buffers"]:
            buffer_writes.assign(self, name, value)
            return
        elif not isinstance(value, Tensor):
            _check_array("parameter" if group is attrs["_parameters"] else "buffer", name, value)
        group[name] = value
        lent_arrays.bind(self, name)
        module_tree.form_changed()

    def update_buffer(self, name: str, value: Any) -> None:
        """Write a value computed in ``forward`` into a buffer when the program runs.

        Parameters
        ----------
        name : str
        value : traced array
            Same shape as the buffer. An array is written at once; that happens if ``forward`` runs
            eagerly because the device lacks a primitive.

        Raises
        ------
        ValueError
            The shape differs, or the buffer belongs to no argument of the function being traced:
            pass the module to that function as an argument.
        """
        old, is_traced = self.__dict__["_buffers"][name], isinstance(value, Tensor)
        if old.shape != value.shape:
            path = f"{type(self).__name__}.{name}"
            raise ValueError(f"{path} must keep its shape {old.shape}, got {value.shape}")
        if is_traced and not isinstance(old, Tensor):
            old = value.trace.capture(old)
        if is_traced:
            converted = value.trace.convert(value, str(old.dtype))
            value.trace.update(old, converted, f"{type(self).__name__}.{name}")
        else:
            array_writes.assign(old, functions.astype(value, str(old.dtype)))

    def __getattr__(self, name: str) -> Any:
        attrs = self.__dict__
        for group in _GROUPS:
            values = attrs.get(group, ())
            if name in values:
                return self._handed(name, values[name])
        if name in attrs.get("_returned", ()):
            return written_attributes.returned(self, name)
        if "_parameters" not in attrs:
            raise AttributeError(
                f"{type(self).__name__}: super().__init__() must be called before attributes are "
                f"used, got {name!r}"
            )
        raise _torch_habits.missing("module", f"'{type(self).__name__}' object", name)

    def __delattr__(self, name: str) -> None:
        for group in (*_GROUPS, "_returned"):
            if name in self.__dict__.get(group, ()):
                del self.__dict__[group][name]
                lent_arrays.bind(self, name)
                break
        else:
            object.__delattr__(self, name)
        module_tree.form_changed()

    def __dir__(self) -> list[str]:
        attrs = self.__dict__
        groups = (*_GROUPS, "_returned")
        return sorted({*super().__dir__(), *(n for g in groups for n in attrs.get(g, ()))})

    def _check_new(self, what: str, name: str) -> None:
        attrs = self.__dict__
        if "_parameters" not in attrs:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if not name or "." in name:
            raise KeyError(f"{what} name must not be empty or contain a dot, got {name!r}")
        if what != "buffer" and "_is_traced" in attrs:
            raise RuntimeError(f"{type(self).__name__}: {what} {name!r} must be made in __init__")
        attrs.pop(name, None)
        for group in _GROUPS:
            if group != f"_{what}s":
                attrs[group].pop(name, None)

    def register_parameter(self, name: str, param: Parameter | Any | None) -> None:
        """Register a parameter; None registers an absent one."""
        self._check_new("parameter", name)
        if isinstance(param, ModuleArray) and param.is_parameter:
            param = Parameter(param, param.requires_grad)
        if isinstance(param, Parameter):
            if not param.requires_grad:
                self.__dict__["_frozen"] |= {name}
            param = param.data
        _check_array("parameter", name, param)
        self.__dict__["_parameters"][name] = plain(param)
        lent_arrays.bind(self, name)
        module_tree.form_changed()

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Register an array that is not trained; if ``persistent``, state dicts include it."""
        if "_is_traced" in self.__dict__ or written_attributes.runs(self):
            written_attributes.check_assignment(self, name, "_buffers")
        self._check_new("buffer", name)
        if not isinstance(tensor, Tensor):
            _check_array("buffer", name, tensor)
        self.__dict__["_buffers"][name] = plain(tensor)
        lent_arrays.bind(self, name)
        self.__dict__["_transient"] -= {name}
        if not persistent:
            self.__dict__["_transient"] |= {name}
        module_tree.form_changed()

    def register_module(self, name: str, module: Module | None) -> None:
        """Register a submodule."""
        self._check_new("module", name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self.__dict__["_modules"][name] = module
        module_tree.form_changed()

    add_module = register_module

    # Hooks.

    def register_forward_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False,
        always_call: bool = False,
    ) -> hooks.RemovableHandle:  # fmt: skip
        """Run ``hook(module, args, output)`` after ``forward``.

        A result other than None replaces the output. In eager calls hooks see arrays; a module
        whose submodules have hooks then runs call by call rather than as one program. In traced
        functions hooks are traced once, so anything to keep must be returned.

        Parameters
        ----------
        hook : callable
        prepend : bool
            Whether to run before the existing hooks.
        with_kwargs : bool
            Whether to call ``hook(module, args, kwargs, output)``.
        always_call : bool
            Whether to run even if ``forward`` raises, with None as output.

        Returns
        -------
        RemovableHandle
            ``remove()`` removes the hook.

        Raises
        ------
        TypeError
            The hook cannot be called.
        RuntimeError
            The module is being traced.

        Notes
        -----
        Source: ``torch.nn.Module.register_forward_hook``.

        Examples
        --------
        >>> from sycl_dnn import functional as F, nn
        >>> net, features = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 3)), {}
        >>> handle = net[1].register_forward_hook(
        ...     lambda module, args, output: features.update(relu=output))
        >>> _ = net(F.ones(5, 2))
        >>> features["relu"].shape
        (5, 4)
        >>> handle.remove()
        """
        return hooks.register(self, hooks.AFTER, hook, prepend, with_kwargs, always_call)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> hooks.RemovableHandle:
        """Run ``hook(module, args)`` before ``forward``.

        A result other than None replaces the arguments; anything but a tuple becomes the only
        argument. With ``with_kwargs``, ``hook(module, args, kwargs)`` returns both or None.
        Otherwise as ``register_forward_hook``.

        Examples
        --------
        >>> from sycl_dnn import functional as F, nn
        >>> net = nn.Identity()
        >>> handle = net.register_forward_pre_hook(lambda module, args: args[0] * 2)
        >>> net(F.ones(2)).tolist()
        [2.0, 2.0]
        """
        return hooks.register(self, hooks.BEFORE, hook, prepend, with_kwargs, False)

    # Modes.

    def train(self, mode: bool = True) -> Module:
        """Set the mode of the module and its submodules: training or inference."""
        self.__dict__["training"] = bool(mode)
        for module in self.children():
            module.train(mode)
        module_tree.form_changed()
        return self

    def eval(self) -> Module:
        """Switch the module and its submodules to inference mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Set whether the parameters receive gradients."""
        return self.unfreeze() if requires_grad else self.freeze()

    def freeze(self, chosen: Callable[[str], bool] | None = None) -> Module:
        """Exclude parameters from gradients and optimizer updates.

        Parameters
        ----------
        chosen : callable, optional
            ``chosen(name)`` says whether to freeze a parameter; all by default. A tied parameter is
            frozen if any of its names is chosen.

        Examples
        --------
        >>> from sycl_dnn import nn
        >>> net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
        >>> _ = net.freeze(lambda name: name.startswith("0."))
        >>> [name for name, _ in net.named_parameters(trainable=True)]
        ['1.weight', '1.bias']
        """
        return self._frozen_by(chosen, True)

    def unfreeze(self, chosen: Callable[[str], bool] | None = None) -> Module:
        """Undo ``freeze``."""
        return self._frozen_by(chosen, False)

    def _frozen_by(self, chosen: Callable[[str], bool] | None, is_frozen: bool) -> Module:
        named = [
            (f"{path}.{n}" if path else n, array)
            for path, module in self.named_modules(remove_duplicate=False)
            for n, array in module._parameters.items()
        ]
        array_ids = {id(array) for n, array in named if chosen is None or chosen(n)}
        for module in self.modules():
            names = {n for n, array in module._parameters.items() if id(array) in array_ids}
            old = module.__dict__["_frozen"]
            module.__dict__["_frozen"] = old | names if is_frozen else old - names
        module_tree.form_changed()
        return self

    def _rebind(self, name: str, value: Any) -> None:
        """Implement ``weight.data = value`` if the shape or dtype differs."""
        with lent_arrays.replacing(self):
            for group in (self._parameters, self._buffers):
                if name in group:
                    group[name] = value
        module_tree.form_changed()

    def _set_frozen(self, name: str, is_frozen: bool) -> None:
        """Implement ``weight.requires_grad = False``."""
        old = self.__dict__["_frozen"]
        self.__dict__["_frozen"] = old | {name} if is_frozen else old - {name}
        module_tree.form_changed()

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call ``fn`` on every submodule, then on this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # Text and copies.

    #: The attributes that ``repr`` shows, as for ``shown_options``.
    _shown: tuple[Any, ...] = ()

    def extra_repr(self) -> str:
        """Return the text between the parentheses of ``repr``."""
        return shown_options(self, self._shown)

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = [
            f"({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self._modules.items()
        ]
        if not lines:
            return f"{self._get_name()}({extra})"
        inner = "\n  ".join([*extra.split("\n"), *lines] if extra else lines)
        return f"{self._get_name()}(\n  {inner}\n)"

    def summary(self, *args: Any, **kwargs: Any) -> Summary:
        """Summarize the layers: shapes, parameters, operations, memory.

        Parameters
        ----------
        *args, **kwargs
            Arguments of ``forward``, which is traced but not run.

        Returns
        -------
        Summary
            ``str`` gives a table.

        Examples
        --------
        >>> from sycl_dnn import functional as F, nn
        >>> summary = nn.Sequential(nn.Linear(4, 8), nn.ReLU()).summary(F.ones(2, 4))
        >>> [(row.name, row.shape, row.n_parameters, row.flop) for row in summary.rows]
        [('0', '(2, 8)', 40, 128), ('1', '(2, 8)', 0, 0)]
        """
        return summary_of(self, args, kwargs)

    def __deepcopy__(self, memo: dict[int, Any]) -> Module:
        return copying.deep_copy(self, memo)  # type: ignore[no-any-return]

    def __copy__(self) -> Module:
        result: Module = object.__new__(type(self))
        result.__dict__.update(self.__dict__)
        return result

    def __getstate__(self) -> dict[str, Any]:
        return copying.state_of(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        lent_arrays.adopt(self)


module_tree.register(Module)
