# SPDX-License-Identifier: Apache-2.0
"""Export of a torch module by ``torch.export``, keeping some layers intact."""

from __future__ import annotations

import contextlib
import operator
import re
import traceback
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from sycl_dnn.torch_modules.gradient_functions import recorded

_LIBRARY = torch.library.Library("sycl_dnn", "DEF")  # type: ignore[no-untyped-call, unused-ignore]
_ONE_STATE = ("gru", "rnn_tanh", "rnn_relu")
_NUMBERS = (
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional, bool batch_first"
)
#: Layers that become single operators without side effects: torch would unroll recurrences and
#: decompose updates of statistics.
_SCHEMAS = {
    "constant": "(Tensor input) -> Tensor",
    "without_gradient": "(Tensor input, str name) -> Tensor",
    "batch_norm": "(Tensor input, Tensor? weight, Tensor? bias, Tensor? mean, Tensor? var, "
    "bool training, float momentum, float eps) -> Tensor",
    **dict.fromkeys(
        ("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"),
        "(Tensor input, float p, bool train) -> Tensor",
    ),
    "lstm": f"(Tensor input, Tensor[] hx, {_NUMBERS}) -> (Tensor, Tensor, Tensor)",
    **dict.fromkeys(_ONE_STATE, f"(Tensor input, Tensor hx, {_NUMBERS}) -> (Tensor, Tensor)"),
}
_SCHEMAS["instance_norm"] = _SCHEMAS["batch_norm"]
#: Otherwise torch.export runs operators on constants, and these have no kernels.
_TAGS = (torch.Tag.nondeterministic_seeded,)
_RECURRENT = {getattr(torch, name): name for name in ("lstm", *_ONE_STATE)}


def _same(x: Any, *_: Any) -> Any:
    return torch.empty_like(x)


def _recurrence(x: Any, states: Any, params: Any, *numbers: Any) -> Any:
    states_in = list(states) if isinstance(states, (list, tuple)) else [states]
    directions = 2 if numbers[4] else 1
    output = x.new_empty([*x.shape[:-1], states_in[0].shape[-1] * directions])
    return output, *(torch.empty_like(state) for state in states_in)


for _name, _schema in _SCHEMAS.items():
    _LIBRARY.define(_name + _schema, tags=_TAGS)  # type: ignore[no-untyped-call, unused-ignore]
    _fake = _recurrence if _name in _RECURRENT.values() else _same
    torch.library.register_fake(f"sycl_dnn::{_name}", _fake, lib=_LIBRARY)

_OPS = torch.ops.sycl_dnn
_ATEN = torch.ops.aten
#: torch's operators, with their replacements and numbers of arguments.
_REPLACED = {
    _ATEN.batch_norm.default: (_OPS.batch_norm.default, 8),
    _ATEN.instance_norm.default: (_OPS.instance_norm.default, 8),
    _ATEN.dropout.default: (_OPS.dropout.default, 3),
    _ATEN.feature_dropout.default: (_OPS.feature_dropout.default, 3),
    _ATEN.alpha_dropout.default: (_OPS.alpha_dropout.default, 3),
    _ATEN.feature_alpha_dropout.default: (_OPS.feature_alpha_dropout.default, 3),
}
_IN_PLACE = {
    _ATEN.dropout_.default: _OPS.dropout.default,
    _ATEN.feature_dropout_.default: _OPS.feature_dropout.default,
    _ATEN.alpha_dropout_.default: _OPS.alpha_dropout.default,
    _ATEN.feature_alpha_dropout_.default: _OPS.feature_alpha_dropout.default,
}


class _Whole(TorchFunctionMode):  # type: ignore[misc, unused-ignore]
    """Records each call of a recurrent layer as a single operator."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        name = _RECURRENT.get(func) if func.__hash__ else None
        # For packed sequences the second argument is an array of sizes.
        is_plain = name is not None and len(args) == 9 and isinstance(args[3], bool)
        called = getattr(_OPS, name) if is_plain and name else func
        return called(*args, **(kwargs or {}))


@contextlib.contextmanager
def _prepared(module: Any, is_training: bool) -> Iterator[None]:
    """Set the mode; represent cumulative averages by a momentum of -1."""
    modes = [(m, m.training) for m in module.modules()]
    averaging = [m for m in module.modules() if getattr(m, "momentum", 0.1) is None]
    fast = torch.backends.mha.get_fastpath_enabled()
    try:
        module.train(is_training)
        for m in averaging:
            m.momentum = -1.0
        torch.backends.mha.set_fastpath_enabled(False)
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for m in averaging:
            m.momentum = None
        for m, mode in modes:
            m.training = mode


def exported(
    module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], sizes: Any, is_training: bool
) -> Any:
    """Export a module in a mode as a functional ``ExportedProgram``.

    Raises RuntimeError if torch.export refuses; the error has its message and the source line.
    """
    options: dict[str, Any] = {"kwargs": kwargs, "dynamic_shapes": sizes, "strict": False}
    with warnings.catch_warnings(), torch.enable_grad(), _prepared(module, is_training):
        warnings.simplefilter("ignore")
        try:
            with _Whole(), recorded(_OPS.without_gradient):
                program = torch.export.export(module, args, **options)
            _keep_whole(program.graph_module, set(program.graph_signature.inputs_to_buffers))
            return program.run_decompositions({})
        except Exception as error:
            raise RuntimeError(_refusal(module, error, is_training)) from error


def _keep_whole(root: Any, buffers: set[str]) -> None:
    """Replace operators that torch would decompose, and mark what is computed under ``no_grad``."""
    for graph_module in root.modules():
        if not isinstance(graph_module, torch.fx.GraphModule):
            continue
        graph = graph_module.graph
        for node in list(graph.nodes):
            if node.target in _REPLACED:
                node.target, n = _REPLACED[node.target]
                node.args = node.args[:n]
            elif node.target in _IN_PLACE:
                _write_after(graph, node)
            elif getattr(node.target, "_name", "") == "wrap_with_set_grad_enabled":
                _mark_constants(graph, node, buffers if graph_module is root else set())
        detached = [n for n in graph.nodes if n.target is _ATEN.detach.default]
        for node, base in _writes(graph, detached):
            _keep_gradient(graph, node, base.args[0], base.args[0].name in buffers)
        graph_module.recompile()


def _write_after(graph: Any, node: Any) -> None:
    """Replace an in-place operator by an out-of-place one and a copy."""
    with graph.inserting_before(node):
        replacement = graph.call_function(_IN_PLACE[node.target], node.args)
        replacement.meta = dict(node.meta)
    node.target, node.args = _ATEN.copy_.default, (node.args[0], replacement)


def _mark_constants(graph: Any, node: Any, buffers: set[str]) -> None:
    """Mark the results of a region, and keep the gradients of what it writes to."""
    if node.args[0]:
        return
    region, inputs = getattr(graph.owning_module, node.args[1].target).graph, node.args[2:]
    outer = dict(zip((n for n in region.nodes if n.op == "placeholder"), inputs, strict=True))
    for tensor in dict.fromkeys(outer[base] for _, base in _writes(region, outer)):
        _keep_gradient(graph, node, tensor, tensor.name in buffers)
    results = region.output_node().args[0]
    for user in list(node.users):
        result = results[user.args[1]]
        while getattr(result.target, "_schema", None) and result.target._schema.is_mutable:
            result = result.args[0]  # what an in-place operator returns is its argument
        if result in outer:
            user.replace_all_uses_with(outer[result])
            continue
        with graph.inserting_after(user):
            constant = graph.call_function(_OPS.constant.default, (user,))
            constant.meta = dict(user.meta)
            user.replace_all_uses_with(constant, lambda n, constant=constant: n is not constant)


def _writes(graph: Any, roots: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Return each node that writes to one of the roots, itself or through views, with the root."""
    bases, writes = {root: root for root in roots}, []
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        for argument, value in zip(schema.arguments if schema else (), node.args, strict=False):
            base = bases.get(value) if isinstance(value, torch.fx.Node) else None
            if base is not None and argument.alias_info is not None:
                bases.setdefault(node, base)
                if argument.alias_info.is_write and node.target is not _ATEN.detach_.default:
                    writes.append((node, base))
        if node.target is operator.getitem and node.args[0] in bases:
            bases[node] = bases[node.args[0]]  # one of several views
    return writes


def _keep_gradient(graph: Any, node: Any, tensor: Any, is_buffer: bool) -> None:
    """Let a write that gradients do not see leave the gradient of a tensor as it was before."""
    if not tensor.meta["val"].is_floating_point():
        return

    def call(function: Any, *args: Any) -> Any:
        result = graph.call_function(function, args)
        result.meta = dict(tensor.meta)
        return result

    with graph.inserting_before(node):
        old = None if is_buffer else call(_ATEN.clone.default, tensor)
    with graph.inserting_before(node.next):
        value = call(_OPS.constant.default, tensor)
        if old is not None:
            nothing = call(_ATEN.sub.Tensor, old, call(_OPS.constant.default, old))
            value = call(_ATEN.add.Tensor, value, nothing)
        call(_ATEN.copy_.default, tensor, value)


def composed(program: Any, missing: dict[Any, str]) -> Any:
    """Decompose some operators of a program by torch.

    Raises NotImplementedError if it cannot; the error names all of them, with a line that uses
    each.
    """
    decompositions = torch.export.default_decompositions()
    rules = {target: decompositions[target] for target in missing if target in decompositions}
    if rules:
        return program.run_decompositions(rules)
    lines = "".join(
        f"\n  {operator_name(target)}" + (f" at {line}" if line else "")
        for target, line in missing.items()
    )
    raise NotImplementedError(
        f"from_torch: the forward uses operators of torch that are not supported:{lines}"
    )


def operator_name(target: Any) -> str:
    """Return the name of a node's target: ``aten.relu``, ``aten.add.Tensor``, ``_operator.mul``."""
    if isinstance(target, torch._ops.OpOverload):
        return str(target).removesuffix(".default")
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"higher_order.{target._name}"
    return f"{target.__module__}.{target.__name__}"


def _refusal(module: Any, error: Exception, is_training: bool) -> str:
    mode = "training" if is_training else "inference"
    line = _line_of_error(error)
    location = f" at {line}" if line else ""
    message = str(error).split("\n\nThe error above occurred when calling")[0].strip()
    return (
        f"from_torch: torch.export refuses {type(module).__name__} in {mode} mode{location}\n"
        f"{type(error).__name__}: {message}"
    )


_TORCH = str(Path(torch.__file__).parent)
_MINE = str(Path(__file__).parent)
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)(?:\n\s+(.+))?')


def _location(path: str, line: Any, code: str | None) -> str:
    return f"{path}, line {line}: {(code or '').strip()}".removesuffix(": ")


def _is_user(path: str) -> bool:
    return not path.startswith((_TORCH, _MINE, "<"))


def _line_of_error(error: BaseException | None) -> str:
    """Return the last source line outside torch in an error's traceback or message."""
    cause: BaseException | None = error
    while cause is not None:
        frames = [f for f in traceback.extract_tb(cause.__traceback__) if _is_user(f.filename)]
        if frames:
            return _location(frames[-1].filename, frames[-1].lineno, frames[-1].line)
        cause = cause.__cause__ or cause.__context__
    return line_of(str(error))


def line_of(stack: str | None) -> str:
    """Return the last line outside torch in a textual stack trace; torch's if there is none."""
    frames = _FRAME.findall(stack or "")
    mine = [f for f in frames if _is_user(f[0])] or frames
    return _location(mine[-1][0], mine[-1][1], mine[-1][3]) if mine else ""
