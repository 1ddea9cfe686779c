# SPDX-License-Identifier: Apache-2.0
"""The driver ``--graph``: cases are JSON files that options change. Source: benchdnn's manual."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from conformance.verify import known_faults
from conformance.verify.graph import evaluation, rewriting
from conformance.verify.graph.document import Document, OpText, read
from conformance.verify.graph.evaluation import Dropped, Evaluation, Values
from conformance.verify.graph.rewriting import rewrite
from conformance.verify.outcomes import Beyond, Limits, Outcome
from conformance.verify.tolerance import Verdict
from sycl_dnn.onednn.fault import GraphOp
from sycl_dnn.tools.cases import options, storage
from sycl_dnn.tools.cases.data import generator
from sycl_dnn.tools.cases.driver import Driver, Refusal
from sycl_dnn.tools.cases.options import MB, Option

PREFIX = "--case="


def _fpmath(text: str) -> tuple[str, bool] | None:
    return options.fpmath(text) if text else None


OPTIONS = (
    Option("in-shapes", rewriting.in_shapes),
    Option("op-attrs", rewriting.op_attrs),
    MB,
    Option("dt", rewriting.dtypes, "undef"),
    Option("op-kind", rewriting.op_kinds),
    Option("tensor-property", rewriting.properties),
    Option("expected-n-partitions", rewriting.partitions, "1"),
    Option("attr-fpmath", _fpmath),
)


@dataclass(frozen=True)
class GraphCase:
    """A file with the options of a case; `document` may raise `Broken`."""

    path: Path
    options: dict[str, Any]

    def document(self) -> Document:
        """Return the graph as the options change it."""
        try:
            return rewrite(read(self.path), self.options)
        except ValueError as problem:
            text = str(problem).removeprefix(f"{self.path.name}: ")
            raise type(problem)(f"{self.path.name}: {text}") from None


def problem(text: str) -> Path:
    """Read ``--case=FILE``."""
    path = Path(text.removeprefix(PREFIX))
    if not path.is_file():
        raise ValueError(f"--case must name a file, got {str(path)!r}")
    return path


def _check_limits(document: Document, limits: Limits) -> None:
    for needed, most, what in (
        (memory(document), limits.memory, "bytes"),
        (operations(document), limits.operations, "products"),
    ):
        if needed > most:
            raise Beyond(f"a case must need at most {most} {what}, this one {needed}")


def _kept_all(document: Document) -> Dropped:
    """Return random numbers of dropout without reading them from the device."""
    return lambda op, values: np.ones(document.tensors[op.inputs[0]].shape)


def _has_short_floats(document: Document) -> bool:
    return any(tensor.dtype.startswith("f8") for tensor in document.tensors.values())


def run(case: GraphCase, stream: Any, key: str, limits: Limits) -> Outcome:
    """Run a graph partition by partition and compare the results of each.

    Raises
    ------
    Broken, Refusal, Failure, sycl_dnn.errors.DnnlError
        See `conformance.verify.runner.run_case`.
    """
    document = case.document()
    _check_limits(document, limits)
    kind = "cpu" if stream.sycl_queue.sycl_device.is_cpu else "gpu"
    partitions = evaluation.partitions(document, kind)
    impl = f"{len(partitions)} partition{'s' if len(partitions) != 1 else ''}"
    device = evaluation.Device(document, stream)
    dropped = evaluation.dropped_on(stream, document) if limits.check else _kept_all(document)
    for number, value in evaluation.inputs(document, key, dropped).items():
        device.write(number, value)
    comparison = Comparison(document, device, dropped, key)
    for partition in partitions:
        outputs = device.run(partition)
        if limits.check:
            comparison.add(partition, outputs)
    expected = case.options["expected-n-partitions"]
    # A GPU fuses differently.
    if expected and kind == "cpu" and len(partitions) != expected:
        text = f"partitions must be {expected}, got {len(partitions)}"
        if not comparison.problems and _has_short_floats(document):
            raise Refusal(f"{text}: patterns of 8-bit floats are for CPUs that have them")
        comparison.fail(text)
    return comparison.outcome(impl) if limits.check else Outcome("SUBMITTED", impl=impl)


# --- Results of partitions against references that start from the values that the device read


#: Number of references with drawn errors.
RUNS = 3
#: A result's error may be this many times the largest error of those references.
_MARGIN = 4.0
#: Distance between the smallest numbers of narrow floats.
_LEAST = {"f16": 2.0**-24, "f8_e5m2": 2.0**-16, "f8_e4m3": 2.0**-9}
#: Share of zeros above which a comparison says nothing.
_ZEROS = 0.95


def _spread(raw: np.ndarray, others: list[np.ndarray]) -> float:
    with np.errstate(invalid="ignore"):
        far = [np.abs(other - raw) for other in others]
    return max((float(d[np.isfinite(d)].max(initial=0.0)) for d in far), default=0.0)


def _allowed(raw: np.ndarray, dtype: str, spread: float) -> np.ndarray:
    """Return the error that each element may have."""
    finite = np.abs(np.where(np.isfinite(raw), raw, 0.0))
    slack = _MARGIN * spread + 16 * storage.epsilon("f32") * finite.max(initial=0.0)
    if dtype in storage.INTEGERS:
        return np.full(raw.shape, 0.5 + slack)
    return storage.epsilon(dtype) * finite + slack + _LEAST.get(dtype, 0.0)


def check(name: str, actual: np.ndarray, raw: np.ndarray, others: list, dtype: str) -> Verdict:
    """Compare one result.

    Parameters
    ----------
    got : what the device wrote
    raw : the reference, neither rounded nor saturated
    others : references with drawn errors
    """
    dtype = "u8" if dtype == "boolean" else dtype
    top = storage.largest(dtype)
    low, high = storage.smallest(dtype), top
    # A chain that overflows may do so one rounding earlier or later.
    want = np.clip(raw, low, high) if dtype in storage.INTEGERS else raw
    others = [np.clip(o, low, high) for o in others] if dtype in storage.INTEGERS else others
    allowed = _allowed(want, dtype, _spread(want, others))
    with np.errstate(invalid="ignore"):
        diff = np.abs(actual - want)
        good = (diff <= allowed) | (actual == want) | (np.isnan(actual) & np.isnan(want))
        good |= ~np.isfinite(actual) & (np.abs(want) + allowed >= top)
        good |= np.logical_or.reduce([np.isfinite(o) != np.isfinite(want) for o in others])
    score = np.where(good & ~np.isfinite(diff), 0.0, diff / np.maximum(np.abs(want), 1e-5))
    if not good.all():
        worst = np.unravel_index(np.argmax(np.where(good, -1.0, diff)), diff.shape)
        at = ",".join(map(str, worst))
        text = (
            f"{name}: {int((~good).sum())} of {good.size} wrong, most at ({at}): got "
            f"{actual[worst]:.9g}, expected {want[worst]:.9g} within {allowed[worst]:.3g}"
        )
        return Verdict(text, float(diff[worst]))
    trusted = bool(actual.size < 10 or np.count_nonzero(actual == 0) <= _ZEROS * actual.size)
    return Verdict(error=float(np.max(score, initial=0.0)), trusted=trusted)


# --- What a graph needs, estimated before anything is allocated


def _positions(op: OpText, shapes: dict[str, tuple[int, ...]]) -> int:
    """Return how often a convolution applies its kernel."""
    channels_last = op.attributes()["data_format"] == "NXC"
    spatial = [s[1:-1] if channels_last else s[2:] for s in shapes.values()]
    return min(s[0] for s in shapes.values()) * min(prod(s) for s in spatial)


def _products(op: OpText, document: Document) -> int:
    shapes = [document.tensors[n].shape for n in (*op.inputs[:2], op.outputs[0])]
    if op.kind == "MatMul":
        axis = -2 if op.attrs.get("transpose_a") and len(shapes[0]) > 1 else -1
        return prod(shapes[-1]) * shapes[0][axis]
    if op.kind.startswith("Conv"):
        names = ("src", "weights", "dst")
        weights = 2 if op.kind.endswith("Weights") else 1
        data = {n: s for i, (n, s) in enumerate(zip(names, shapes, strict=True)) if i != weights}
        return prod(shapes[weights]) * _positions(op, data)
    return 0


def operations(document: Document) -> int:
    """Return how many products the references of a graph compute."""
    once = sum(_products(op, document) for op in document.ops if op.outputs)
    return once * (1 + RUNS)


def memory(document: Document) -> int:
    """Return the bytes that a graph needs, on the device and in arrays of the host."""
    elements = sum(prod(t.shape) for t in document.tensors.values())
    strided = sum(
        sum((n - 1) * s for n, s in zip(t.shape, t.strides or (), strict=True)) + 1
        for t in document.tensors.values()
        if 0 not in t.shape
    )
    return 8 * elements * (3 + RUNS) + 3 * 4 * strided


def _leaves_zeros(op: OpText, document: Document) -> bool:
    """Whether the result can only be zeros, for any input."""
    if op.kind in ("Clamp", "ClampBackward"):
        return op.attrs["min"] == op.attrs["max"]
    if op.kind == "GenIndex":
        return document.tensors[op.inputs[0]].shape[op.attrs["axis"]] == 1
    return False


class Comparison:
    """Compares partitions after they have run, and determines the result of the case.

    Parameters
    ----------
    key : str
        Seed of the references' errors.
    """

    def __init__(
        self, document: Document, device: evaluation.Device, dropped: Dropped, key: str
    ) -> None:
        self.document, self.device, self.dropped, self.key = document, device, dropped, key
        self.problems: list[str] = []
        self.faults: list[str] = []
        self.trusted, self.error = True, 0.0

    def fail(self, problem: str, fault: str = "") -> None:
        """Record a problem, with the name of the fault that explains it."""
        self.problems.append(problem)
        self.faults.append(fault)

    def _references(self, ops: list[OpText], inputs: Values) -> list[Evaluation]:
        """Return the exact reference and those with drawn errors."""
        noises = [generator(self.key, f"noise {i}") for i in range(RUNS)]
        results = []
        for noise in (None, *noises):
            results.append(Evaluation(self.document, dict(inputs), noise, self.dropped))
            results[-1].run_all(ops)
        return results

    def _wrong(self, outputs: list[int], references: list[Evaluation]) -> list[str]:
        """Return what is wrong with the current results."""
        results = []
        exact, *shaken = references
        for number in outputs:
            name = f"tensor {number}"
            intrusion = storage.intrusion(self.device.buffers[number])
            if intrusion:
                results.append(f"{name}: {intrusion}")
            raw, others = exact.raw[number], [run.raw[number] for run in shaken]
            dtype = self.document.tensors[number].dtype
            verdict = check(name, self.device.read(number), raw, others, dtype)
            self.error = max(self.error, verdict.error)
            self.trusted &= verdict.trusted
            if verdict.problem:
                results.append(verdict.problem)
        return results

    def add(self, partition: Any, outputs: list[int]) -> None:
        """Compare the results of one partition."""
        inputs, trusted = (
            {n: self.device.read(n) for n in evaluation.ports(partition)[0]},
            self.trusted,
        )
        ops = evaluation.members(self.document, partition)
        references = self._references(ops, inputs)
        wrong = self._wrong(outputs, references)
        device = self.device.stream.engine.kind.name
        fault = known_faults.explain_partition(self._described(ops), device) if wrong else ""
        if len(ops) == 1 and _leaves_zeros(ops[0], self.document):
            self.trusted = trusted
        for problem in wrong:
            self.fail(problem, fault)

    def _described(self, ops: list[Any]) -> list[GraphOp]:
        """Return operations in the form that the register of faults accepts."""
        tensors = self.document.tensors
        return [
            GraphOp(
                op.kind,
                [tensors[n].shape for n in op.inputs],
                op.attributes().get("data_format", ""),
                [tensors[n].strides for n in op.inputs],
                tensors[op.outputs[0]].shape,
            )
            for op in ops
        ]

    def outcome(self, impl: str) -> Outcome:
        """Return the result of the case."""
        if self.problems and all(self.faults):
            return Outcome("KNOWN", f"{self.faults[0]} [{self.problems[0]}]", self.error, impl)
        if self.problems:
            return Outcome("FAILED", "; ".join(self.problems), self.error, impl)
        if not self.trusted:
            text = "too many zeros in the result to say anything"
            return Outcome("MISTRUSTED", text, self.error, impl)
        return Outcome("PASSED", "", self.error, impl)


GRAPH = Driver("graph", OPTIONS, problem, GraphCase, attributes=())
