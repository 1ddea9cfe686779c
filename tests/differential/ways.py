# SPDX-License-Identifier: Apache-2.0
"""All ways to call a program with sycl_dnn, and how each differs from the reference."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dpnp
import numpy as np

import sycl_dnn
from differential.placing import placed
from differential.program import Program
from differential.reference import Expected, Reference, directions_of, weights_of
from differential.transforms import EAGER, TRANSFORMS
from sycl_dnn import functional as F

#: Errors that a call may raise, if they name the function and the reason.
REFUSALS = (ValueError, TypeError, NotImplementedError, sycl_dnn.DnnlError)
_NAMED = re.compile(r"^([A-Za-z_][\w.]*(\(.*?\)|\[.*?\] = \.\.\.)?|\S+=)( of .*?)?: ")


@dataclass
class Finding:
    """One call that did not match the reference: ``wrong``, ``crash`` or ``refused``."""

    way: str
    kind: str
    text: str


def is_refusal(error: Exception) -> bool:
    """Whether an error names the function that refuses."""
    if isinstance(error, sycl_dnn.DnnlError):
        return True
    return isinstance(error, REFUSALS) and _NAMED.match(str(error)) is not None


def difference(got: Any, value: Any, tolerance: Any, is_any_dtype: bool = False) -> str | None:
    """Describe a difference from values beyond their tolerances; None if there is none."""
    got = got if isinstance(got, (bool, float, int)) else dpnp.asnumpy(got)
    got = np.asarray(got)
    if got.shape != value.shape:
        return f"shape {got.shape}, not {value.shape}"
    if (got.dtype.kind == "f") != (value.dtype.kind == "f") and not is_any_dtype:
        return f"dtype {got.dtype}, not {value.dtype}"
    if got.dtype.kind != "f":
        bad = (got != value) & (tolerance == 0) if not is_any_dtype else got != value
    else:
        with np.errstate(all="ignore"):
            same = (got == value) | (np.isnan(got) & np.isnan(value))
            bad = ~same & ~(np.abs(got - value) <= tolerance) & ~np.isinf(tolerance)
            # Results beyond the range of float32 may overflow.
            bad &= ~((np.abs(value) > 3e38) & np.isinf(got) & (np.sign(got) == np.sign(value)))
    if not bad.any():
        return None
    at = tuple(int(n) for n in np.argwhere(bad)[0])
    return f"{int(bad.sum())} of {bad.size} differ, at {at}: {got[at]}, not {value[at]}"


def _differs(got: Any, expected: Expected) -> str | None:
    return difference(got, expected.values, expected.tolerance)


class Caller:
    """The arguments of one program on a device, and the ways to call it."""

    def __init__(self, program: Program, queue: Any) -> None:
        self.program, self.queue = program, queue
        self.function = program.function(F)
        self.args = self.placed(0)
        self.other_args = self.placed(1)
        self.floats = [i.name for i in program.inputs if i.is_float]
        self.can_be_batched = all(hasattr(v, "shape") for v in self.args.values())
        self.findings: list[Finding] = []
        self.passed: list[str] = []
        self.only: str | None = None

    def placed(self, variant: int, is_dense: bool = False) -> dict[str, Any]:
        values = self.program.values(variant)
        return {
            i.name: placed(values[i.name], "dense" if is_dense else i.layout, self.queue)
            for i in self.program.inputs
        }

    def both(self) -> dict[str, Any]:
        """Return the arguments of two calls as a batch of two samples."""
        return sycl_dnn.tree.map(
            lambda first, second: dpnp.stack([first, second]), self.args, self.other_args
        )

    def check(self, way: str, call: Callable[[], Any], compare: Callable[[Any], Any]) -> Any:
        """Call in one way; record failures."""
        if self.only not in (None, way):
            return None
        try:
            result = call()
            text = compare(result)
        except Exception as error:
            kind = "refused" if is_refusal(error) else "crash"
            self.findings.append(Finding(way, kind, f"{type(error).__name__}: {error}"))
            return None
        if text:
            self.findings.append(Finding(way, "wrong", text))
        else:
            self.passed.append(way)
        return result

    def outputs(self, expected: Reference) -> Callable[[Any], Any]:
        def compare(made: Any) -> str | None:
            if len(made) != len(expected.outputs):
                return f"{len(made)} results"
            for index, (actual, want) in enumerate(zip(made, expected.outputs, strict=True)):
                text = _differs(actual, want)
                if text:
                    return f"result {index}: {text}"
            return None

        return compare

    def gradients(self, expected: dict[str, Expected]) -> Callable[[Any], Any]:
        def compare(made: Any) -> str | None:
            made = made[1] if isinstance(made, tuple) else made
            for name, want in expected.items():
                text = _differs(made[name], want)
                if text:
                    return f"gradient of {name}: {text}"
            return None

        return compare

    def split(self, args: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        floats = {n: args[n] for n in self.floats}
        return floats, {n: v for n, v in args.items() if n not in floats}

    def loss(self, reference: Reference) -> Callable[..., Any]:
        """Return the scalar loss that is differentiated."""
        is_float = [e.values.dtype.kind == "f" for e in reference.outputs]
        chosen = [e.values for e, known in zip(reference.outputs, is_float, strict=True) if known]
        weights = [dpnp.asarray(w, sycl_queue=self.queue) for w in weights_of(self.program, chosen)]
        function = self.function

        def loss(floats: Any, others: Any) -> Any:
            outputs = function(**floats, **others)
            parts = [o for o, known in zip(outputs, is_float, strict=True) if known]
            total = 0.0
            for out, weight in zip(parts, weights, strict=True):
                total = total + F.sum(out * weight) + 0.1 * F.sum(out * out)
            return total

        return loss

    def pulled_back(self, reference: Reference, args: dict[str, Any]) -> Any:
        """Return the gradients by ``vjp`` and its pullback."""
        chosen = [e.values for e in reference.outputs]
        weights = weights_of(self.program, chosen)
        floats, others = self.split(args)
        _, pullback = sycl_dnn.vjp(lambda f, o: self.function(**f, **o), floats, others)
        dy = [
            dpnp.asarray(w + 0.2 * v.astype(np.float32), sycl_queue=self.queue)
            for w, v in zip(weights, chosen, strict=True)
        ]
        return pullback(tuple(dy))[0]


def call_all(
    program: Program,
    queue: Any,
    reference: Reference,
    other: Reference,
    extra: bool,
    only: str | None = None,
) -> Caller:
    """Call a program in all ways, or in one with ``only``; the returned object has the findings."""
    caller = Caller(program, queue)
    caller.only = only
    # By default NaN may be lost, as docs/supported.md says, so such programs enable propagation.
    with sycl_dnn.nan_mode("propagate" if program.is_special else "fast"):
        _call_plainly(caller, reference, other)
    if extra and not program.is_special:
        with sycl_dnn.nan_mode("propagate"):
            _call_in_mode(caller, reference, other, "nan ")
        with sycl_dnn.kernel_mode("always"):
            _call_in_mode(caller, reference, other, "kernels ")
        if reference.gradients is not None:
            _call_transformed(caller, reference)
        if caller.can_be_batched:
            _call_exported(caller, reference)
    return caller


def _call_exported(caller: Caller, reference: Reference) -> None:
    """Run the program as an ONNX model, if it has the form of one."""
    args = tuple(caller.args.values())

    def call() -> tuple[Any, ...]:
        made = sycl_dnn.onnx.load(model)(*args)
        return made if isinstance(made, tuple) else (made,)

    try:
        model = sycl_dnn.onnx.export(caller.function, *args)
    except Exception as error:
        if not is_refusal(error):
            caller.findings.append(Finding("onnx", "crash", f"{type(error).__name__}: {error}"))
        return
    caller.check("onnx", call, caller.outputs(reference))


def _call_plainly(caller: Caller, reference: Reference, other: Reference) -> None:
    function, args, other_args = caller.function, caller.args, caller.other_args
    same, differs = caller.outputs(reference), caller.outputs(other)
    caller.check("eager", lambda: function(**args), same)
    compiled = sycl_dnn.compile(function)
    caller.check("compile", lambda: compiled(**args), same)
    caller.check("compile again", lambda: compiled(**other_args), differs)
    caller.check("compile, dense", lambda: compiled(**caller.placed(0, True)), same)
    caller.check("plan", lambda: sycl_dnn.plan(function, **args)(), same)
    if caller.can_be_batched:
        mapped = sycl_dnn.vmap(lambda args: function(**args))
        caller.check("vmap", lambda: _apart(mapped(caller.both())), _of_both(same, differs))
    if reference.gradients is not None and not caller.program.is_special:
        _call_gradients(caller, reference, other, "")


def _apart(batch: Any) -> tuple[Any, Any]:
    """Return the first and the second sample of a batch."""
    return sycl_dnn.tree.map(lambda v: v[0], batch), sycl_dnn.tree.map(lambda v: v[1], batch)


def _of_both(*compare: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def compared(made: Any) -> str | None:
        texts = [c(sample) for c, sample in zip(compare, made, strict=True)]
        return next((f"sample {i}: {text}" for i, text in enumerate(texts) if text), None)

    return compared


def _call_in_mode(caller: Caller, reference: Reference, other: Reference, prefix: str) -> None:
    same = caller.outputs(reference)
    caller.check(f"{prefix}eager", lambda: caller.function(**caller.args), same)
    again = sycl_dnn.compile(caller.function)
    caller.check(f"{prefix}compile", lambda: again(**caller.args), same)
    if reference.gradients is not None:
        _call_gradients(caller, reference, other, prefix)


def _call_gradients(caller: Caller, reference: Reference, other: Reference, prefix: str) -> None:
    loss = caller.loss(reference)
    floats, others = caller.split(caller.args)
    floats_2, others_2 = caller.split(caller.other_args)
    same = caller.gradients(reference.gradients or {})
    both = sycl_dnn.value_and_grad(loss)
    caller.check(f"{prefix}value_and_grad", lambda: both(floats, others), same)
    step = sycl_dnn.compile(both)
    caller.check(f"{prefix}compiled value_and_grad", lambda: step(floats, others), same)
    if other.gradients is not None:
        differs = caller.gradients(other.gradients)
        caller.check(f"{prefix}compiled gradient again", lambda: step(floats_2, others_2), differs)
        caller.check(f"{prefix}gradient again", lambda: both(floats_2, others_2), differs)
        if caller.can_be_batched:
            mapped = sycl_dnn.vmap(both)
            caller.check(
                f"{prefix}vmap gradient",
                lambda: _apart(mapped(*caller.split(caller.both()))),
                _of_both(same, differs),
            )
    if all(e.values.dtype.kind == "f" for e in reference.outputs):
        args = caller.args
        caller.check(f"{prefix}vjp", lambda: caller.pulled_back(reference, args), same)
    if reference.seconds is not None:
        _call_seconds(caller, loss, reference.seconds, floats, others, prefix)


def _call_transformed(caller: Caller, reference: Reference) -> None:
    """Take gradients of the loss inside what users wrap around it, and into donated arrays."""
    loss = caller.loss(reference)
    floats, others = caller.split(caller.args)
    same = caller.gradients(reference.gradients or {})
    for name, transform in TRANSFORMS.items():
        both = sycl_dnn.value_and_grad(transform(loss))
        caller.check(f"{name} gradient", functools.partial(both, floats, others), same)
        if name not in EAGER:
            step = sycl_dnn.compile(both)
            caller.check(f"{name} compiled gradient", functools.partial(step, floats, others), same)
    donating = sycl_dnn.compile(sycl_dnn.value_and_grad(loss), donate="floats")
    for n in range(2):
        given = caller.split(caller.placed(0))
        caller.check(f"donated gradient {n}", functools.partial(donating, *given), same)


def _call_seconds(
    caller: Caller, loss: Any, expected: Any, floats: Any, others: Any, prefix: str
) -> None:
    along = {
        n: dpnp.asarray(v, sycl_queue=caller.queue)
        for n, v in directions_of(caller.program).items()
    }
    gradient = sycl_dnn.grad(loss)

    def directional(floats: Any, others: Any) -> Any:
        first = gradient(floats, others)
        total = 0.0
        for name, part in first.items():
            total = total + F.sum(part * along[name])
        return total

    twice = sycl_dnn.grad(directional)
    same = caller.gradients(expected)
    caller.check(f"{prefix}second", lambda: twice(floats, others), same)
    compiled = sycl_dnn.compile(twice)
    caller.check(f"{prefix}compiled second", lambda: compiled(floats, others), same)


def suspicious(caller: Caller) -> list[Finding]:
    """Return the findings to report: wrong results, and refusals in only some of the ways."""
    found = [f for f in caller.findings if f.kind != "refused"]
    refused = [f for f in caller.findings if f.kind == "refused"]
    # A function without a derivative is refused in each way to take it.
    for f in refused:
        partners = [
            w for w in caller.passed if (_order(w), _mode(w)) == (_order(f.way), _mode(f.way))
        ]
        if partners:
            found.append(Finding(f.way, "suspicious", f"{f.text} (but {partners[0]} succeeds)"))
    return found


def _order(way: str) -> int:
    if "second" in way:
        return 2
    return 1 if "grad" in way or "vjp" in way else 0


def _mode(way: str) -> str:
    first = way.split()[0]
    return first if first in ("nan", "kernels", "vmap") else ""
