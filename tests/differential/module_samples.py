# SPDX-License-Identifier: Apache-2.0
"""PyTorch's inputs of its modules (``module_db``) and a few more: its module and the one here.

``differences(sample)`` calls the module here in every way and lists what is not as torch has it.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing._internal.common_utils import noncontiguous_like

import sycl_dnn
from differential import module_rows, torch_samples
from differential.torch_samples import from_torch, is_array, leaf, to_torch
from sycl_dnn import functional as F  # noqa: N812
from sycl_dnn import nn, tree

#: Rounding errors relative to the largest element: sums are in another order than torch's.
_ROUNDINGS = 16
_NO_FLOAT64 = "computes no float64"
#: Errors may be this many times torch's own in the same dtype.
_TIMES = 8


@dataclass(frozen=True)
class ModuleSample:
    """A module of torch with arguments, in one mode."""

    info: Any
    number: int
    training: bool
    dtype: str
    inputs: Any

    def __str__(self) -> str:
        mode = "train" if self.training else "eval"
        return f"{self.info.name}[{self.number}] {self.dtype} {mode}"


@dataclass
class Results:
    """What a module returns, its gradients by name, and its buffers afterwards."""

    outputs: list[Any]
    gradients: dict[str, Any]
    second: dict[str, Any]
    buffers: dict[str, Any]


def counterpart(info: Any) -> Any:
    """Return the class here for a module of torch, or None."""
    return getattr(nn, info.module_cls.__name__, None)


def samples_of(info: Any, dtype: str, *, limit: int | None = None) -> Iterator[ModuleSample]:
    """Yield the inputs of one module in both modes: of torch's at most ``limit``, spread over all.

    They are float32 numbers in every dtype, which then converts them.
    """
    for training in (True, False):
        torch.manual_seed(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            drawn = info.module_inputs_func(
                info, device="cpu", dtype=torch.float32, requires_grad=True, training=training
            )
        step = 1 if limit is None else max(1, -(-len(drawn) // limit))
        chosen = [*drawn[::step]]
        if training or info.train_and_eval_differ:
            chosen += module_rows.inputs_of(info.module_cls.__name__)
        for number, inputs in enumerate(chosen):
            yield ModuleSample(info, number, training, dtype, inputs)


def _argument(value: Any) -> Any:
    """Return an argument of torch's as one of this package."""
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return _layer(value)
    own = leaf(value)
    return getattr(F, value.__name__) if own is value and callable(value) else own


def _layer(layer: Any) -> Any:
    """Return an encoder layer with the options and parameters of torch's."""
    own = nn.TransformerEncoderLayer(
        layer.linear1.in_features, layer.self_attn.num_heads, layer.linear1.out_features,
        layer.dropout.p, _argument(layer.activation), layer.norm1.eps, layer.self_attn.batch_first,
        layer.norm_first, layer.linear1.bias is not None,
    )  # fmt: skip
    own.load_state_dict(layer.state_dict())
    return own


def _in(value: Any, dtype: torch.dtype) -> Any:
    """Return nested arguments with floating-point tensors, and their dtypes, in another dtype."""

    def leaf(v: Any) -> Any:
        if isinstance(v, torch.Tensor) and v.is_floating_point():
            return v.detach().to(dtype).requires_grad_(v.requires_grad)
        return dtype if isinstance(v, torch.dtype) and v.is_floating_point else v

    return torch_samples._mapped(value, leaf)


def _leaves(value: Any, kind: Callable[[Any], bool]) -> list[Any]:
    found: list[Any] = []
    torch_samples._mapped(value, lambda v: found.append(v) if kind(v) else None)
    return found


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _is_variable(value: Any) -> bool:
    return _is_float(value) and value.requires_grad


def built(sample: ModuleSample, dtype: torch.dtype) -> Any:
    """Return torch's module in a dtype, in the sample's mode."""
    given = sample.inputs.constructor_input
    args, kwargs = _in((given.args, dict(given.kwargs)), dtype)
    for weight in _leaves((args, kwargs), _is_float):
        weight.requires_grad_(False)
    module = sample.info.module_cls(*args, **kwargs)
    return module.to(dtype).train(sample.training)


def own_module(sample: ModuleSample) -> Any:
    """Return the module here, in the sample's mode."""
    given = sample.inputs.constructor_input
    given = _in((given.args, dict(given.kwargs)), getattr(torch, sample.dtype))
    args, kwargs = torch_samples._mapped(given, _argument)
    return counterpart(sample.info)(*args, **kwargs).to(sample.dtype).train(sample.training)


def called(sample: ModuleSample) -> Any:
    """Return the results of the module here, which it may refuse to make."""
    module, given = own_module(sample), sample.inputs.forward_input
    if given is None:
        return module
    args, kwargs = torch_samples._mapped((given.args, dict(given.kwargs)), _argument)
    return module(*args, **kwargs)


def of_torch(module: Any, sample: ModuleSample, dtype: torch.dtype, weights: Any) -> Results:
    """Return the results of torch's module for a sample's arguments in a dtype."""
    given = sample.inputs.forward_input
    args, kwargs = _in((given.args, dict(given.kwargs)), dtype)
    names, wanted = _wanted(module, args, kwargs)
    # The other implementations of attention have no second derivatives.
    with sdpa_kernel(SDPBackend.MATH):
        outputs = _leaves(module(*args, **kwargs), lambda v: isinstance(v, torch.Tensor))
    floats = [v for v in outputs if v.requires_grad]
    total = sum((v * w.to(dtype)).sum() for v, w in zip(floats, weights(floats), strict=True))
    buffers = {n: b.clone() for n, b in module.named_buffers()}
    if not floats:
        return Results(outputs, {}, {}, buffers)
    gradients = _gradients_of_torch(total, wanted, create_graph=True)
    second = _second_of_torch(gradients, wanted) if sample.info.supports_gradgrad else []
    named = (dict(zip(names, values, strict=False)) for values in (gradients, second))
    return Results(outputs, *named, buffers)


def _wanted(module: Any, args: Any, kwargs: Any) -> tuple[list[str], list[Any]]:
    inputs = _leaves((args, kwargs), _is_variable)
    named = dict(module.named_parameters())
    return [*(f"input {i}" for i in range(len(inputs))), *named], [*inputs, *named.values()]


def _gradients_of_torch(total: Any, wanted: list[Any], create_graph: bool = False) -> list[Any]:
    gradients = torch.autograd.grad(total, wanted, allow_unused=True, create_graph=create_graph)
    return [torch.zeros_like(x) if g is None else g for g, x in zip(gradients, wanted, strict=True)]


def _second_of_torch(gradients: list[Any], wanted: list[Any]) -> list[Any]:
    """Return the gradients of half the squares of gradients, nothing if torch has none."""
    moving = [g for g in gradients if g.requires_grad]
    if not moving:
        return [torch.zeros_like(g) for g in gradients]
    try:
        return _gradients_of_torch(sum((g * g.detach()).sum() for g in moving), wanted)
    except RuntimeError as error:
        if "derivative for" not in str(error):
            raise
        return []


def _drawn_weights(values: list[Any]) -> list[Any]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(v.shape, generator=generator) for v in values]


class Own:
    """The module here with the arguments of a sample."""

    def __init__(self, sample: ModuleSample, native: Any, arrange: Any = lambda t: t) -> None:
        self.module = own_module(sample)
        self.state = native.state_dict()
        self.module.load_state_dict(self.state)
        given = sample.inputs.forward_input
        given = _in((given.args, dict(given.kwargs)), getattr(torch, sample.dtype))

        def leaf(v: Any) -> Any:
            is_moved = isinstance(v, torch.Tensor) and v.numel() > 1
            return _argument(arrange(v.detach()) if is_moved else v)

        leaves, self.structure = tree.flatten(torch_samples._mapped(given, leaf))
        self.leaves = list(leaves)
        theirs = _leaves(given, lambda v: isinstance(v, torch.Tensor))
        arrays = [i for i, x in enumerate(leaves) if is_array(x)]
        self.places = [i for i, t in zip(arrays, theirs, strict=True) if _is_variable(t)]
        self.floats = [self.leaves[i] for i in self.places]

    def forward(self, module: Any, floats: list[Any]) -> Any:
        """Return the module's results for other floating-point arguments."""
        leaves = list(self.leaves)
        for place, x in zip(self.places, floats, strict=True):
            leaves[place] = x
        args, kwargs = tree.unflatten(self.structure, leaves)
        return module(*args, **kwargs)

    def loss(self, module: Any, floats: list[Any]) -> Any:
        """Return the weighted sum of the results."""
        outputs = [v for v in tree.leaves(self.forward(module, floats)) if "float" in str(v.dtype)]
        weights = [
            F.astype(from_torch(w), str(v.dtype))
            for w, v in zip(_drawn_weights(outputs), outputs, strict=True)
        ]
        return sum(F.sum(F.mul(v, w)) for v, w in zip(outputs, weights, strict=True))

    def gradients(self, module: Any, floats: list[Any]) -> Any:
        """Return the gradients of the loss."""
        return sycl_dnn.grad(self.loss, argnums=(0, 1))(module, floats)

    def second(self, module: Any, floats: list[Any]) -> Any:
        """Return the gradients of half the squares of the gradients."""

        def squares(module: Any, floats: list[Any]) -> Any:
            of_module, of_floats = self.gradients(module, floats)
            parts = [*dict(of_module.named_parameters()).values(), *of_floats]
            return sum(F.mul(F.sum(F.square(g)), 0.5) for g in parts)

        return sycl_dnn.grad(squares, argnums=(0, 1))(module, floats)

    def named(self, gradients: Any) -> dict[str, Any]:
        """Return gradients by name: of the inputs, then of the parameters."""
        of_module, of_floats = gradients
        inputs = {f"input {i}": g for i, g in enumerate(of_floats)}
        return inputs | dict(of_module.named_parameters())


class Comparison:
    """What differs between the module here and torch's, for one sample."""

    def __init__(self, sample: ModuleSample) -> None:
        self.sample, self.found = sample, []
        # Of float64 torch's error is that of float32, as many times smaller as roundings are.
        dtype = torch.float32 if sample.dtype == "float64" else getattr(torch, sample.dtype)
        native, exact = built(sample, dtype), built(sample, torch.float64)
        exact.load_state_dict(native.state_dict())
        self.native_module = copy.deepcopy(native).to(getattr(torch, sample.dtype))
        self.state = copy.deepcopy(native.state_dict())
        self.native = of_torch(native, sample, dtype, _drawn_weights)
        self.exact = of_torch(exact, sample, torch.float64, _drawn_weights)

    def note(self, way: str, text: str) -> None:
        self.found.append(f"{self.sample} {way}: {text}")

    def check(self, way: str, call: Callable[[], None]) -> None:
        """Call; float64 may be refused, as it is by convolutions, pools and recurrent layers."""
        try:
            call()
        except Exception as error:  # noqa: BLE001 - reported
            is_of_float64 = isinstance(error, sycl_dnn.Unimplemented) or _NO_FLOAT64 in str(error)
            if self.sample.dtype == "float64" and is_of_float64:
                return
            self.note(way, f"{type(error).__name__}: {error}")

    def outputs(self, way: str, results: Any) -> None:
        """Compare the results of a call."""
        found = _leaves(results, is_array)
        if len(found) != len(self.native.outputs):
            self.note(way, f"{len(found)} results, not {len(self.native.outputs)}")
        rows = zip(found, self.native.outputs, self.exact.outputs, strict=False)
        for i, row in enumerate(rows):
            self.values(f"{way} result {i}", *row)

    def gradients(self, way: str, found: dict[str, Any], order: str = "gradients") -> None:
        """Compare gradients by name, unless torch has none."""
        native, exact = getattr(self.native, order), getattr(self.exact, order)
        # Second derivatives are sums of terms as large as the first ones, which may cancel.
        firsts = [float(g.detach().abs().max()) for g in self.exact.gradients.values() if g.numel()]
        scale = max(firsts, default=0.0) if order == "second" else 0.0
        if native and list(found) != list(native):
            self.note(way, f"gradients of {list(found)}, not {list(native)}")
        elif native:
            for name, value in found.items():
                self.values(f"{way} of {name}", value, native[name], exact[name], scale)

    def values(
        self, way: str, found: Any, native: Any, exact: Any, least_scale: float = 0.0
    ) -> None:
        """Compare an array with torch's in the same dtype and in float64."""
        found, native, exact = to_torch(found), native.detach(), exact.detach()
        wanted = exact.dtype if self.sample.dtype == "float64" else native.dtype
        if (found.shape, found.dtype) != (native.shape, wanted):
            text = f"{found.dtype} {tuple(found.shape)}, not {wanted} {tuple(native.shape)}"
        elif not found.is_floating_point():
            text = "" if torch.equal(found, native) else "differs"
        else:
            text = error_of(found, native, exact, least_scale)
        if text:
            self.note(way, text)


def error_of(found: Any, native: Any, exact: Any, least_scale: float = 0.0) -> str:
    """Return how floating-point values differ from torch's by more than roundings, or ""."""
    eps, native_eps = (torch.finfo(t.dtype).eps for t in (found, native))
    found, native = found.double(), native.double()
    finite = found.isfinite() & native.isfinite() & exact.isfinite()
    same = (found == native) | (found.isnan() & native.isnan())
    if not (finite | same).all():
        return f"{int((~(finite | same)).sum())} elements are not finite as torch's"
    if not finite.any():
        return ""
    found, native, exact = (t[finite] for t in (found, native, exact))
    error, its = (float((t - exact).abs().max()) for t in (found, native))
    largest = max(float(exact.abs().max()), least_scale)
    # Inputs are near 1, and small results are differences of such numbers.
    allowed = _TIMES * its * eps / native_eps + _ROUNDINGS * eps * largest + 2 * eps
    return f"error {error:.3g}, torch's {its:.3g}, allowed {allowed:.3g}" * (error > allowed)


def differences(
    sample: ModuleSample, ways: str = "eager strided compiled copied second"
) -> list[str]:
    """Return how the module here differs from torch's, one line each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        comparison = Comparison(sample)
    own = None
    try:
        own = Own(sample, comparison.native_module)
    except Exception as error:  # noqa: BLE001 - reported
        comparison.note("constructor", f"{type(error).__name__}: {error}")
        return comparison.found
    for way in ways.split():
        comparison.check(way, lambda way=way: _WAYS[way](comparison, own))
    return comparison.found


def _eager(c: Comparison, own: Own) -> None:
    module, native = own.module, c.native_module
    if repr(module) != repr(native):
        c.note("repr", f"{module!r}, not {native!r}")
    forms = [
        [(n, tuple(v.shape), str(v.dtype).removeprefix("torch.")) for n, v in d.items()]
        for d in (module.state_dict(), native.state_dict())
    ]
    if forms[0] != forms[1]:
        c.note("state_dict", f"{forms[0]}, not {forms[1]}")
    c.outputs("eager", own.forward(module, own.floats))
    state = module.state_dict()
    for name, native in c.native.buffers.items():
        c.values(f"buffer {name}", state[name], native, c.exact.buffers[name])
    module.load_state_dict(c.state)
    c.gradients("gradient", own.named(own.gradients(module, own.floats)))
    module.load_state_dict(c.state)


def _strided(c: Comparison, own: Own) -> None:
    strided = Own(c.sample, c.native_module, noncontiguous_like)
    strided.module = own.module
    own.module.load_state_dict(c.state)
    c.outputs("strided", strided.forward(own.module, strided.floats))
    own.module.load_state_dict(c.state)
    c.gradients("strided gradient", strided.named(strided.gradients(own.module, strided.floats)))


def _compiled(c: Comparison, own: Own) -> None:
    both = sycl_dnn.compile(lambda m, x: (own.forward(m, x), own.gradients(m, x)))
    alone = sycl_dnn.compile(own.forward)
    for way in ("compiled", "compiled again"):
        own.module.load_state_dict(c.state)
        c.outputs(way, alone(own.module, own.floats))
        own.module.load_state_dict(c.state)
        outputs, gradients = both(own.module, own.floats)
        c.outputs(way + " with gradient", outputs)
        c.gradients(way + " gradient", own.named(gradients))


def _copied(c: Comparison, own: Own) -> None:
    own.module.load_state_dict(c.state)
    copies = {
        "deepcopy": copy.deepcopy(own.module),
        "pickle": pickle.loads(pickle.dumps(own.module)),
    }
    for way, module in copies.items():
        if repr(module) != repr(own.module) or module.training != own.module.training:
            c.note(way, f"{module!r}, not {own.module!r}")
        c.outputs(way, own.forward(module, own.floats))


def _second(c: Comparison, own: Own) -> None:
    if not c.native.second:
        return
    own.module.load_state_dict(c.state)
    found = own.named(own.second(own.module, own.floats))
    c.gradients("second derivative", found, "second")


_WAYS = {"eager": _eager, "strided": _strided, "compiled": _compiled, "copied": _copied,
         "second": _second}  # fmt: skip
