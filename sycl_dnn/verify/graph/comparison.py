# SPDX-License-Identifier: Apache-2.0
"""Results of partitions against references that start from what the device read."""

from __future__ import annotations

from typing import Any

from sycl_dnn.onednn import faults
from sycl_dnn.verify import storage
from sycl_dnn.verify.fill import generator
from sycl_dnn.verify.graph import execute, tolerance
from sycl_dnn.verify.graph.document import Document, OpText
from sycl_dnn.verify.graph.evaluate import Dropped, Evaluation, Values
from sycl_dnn.verify.outcome import Outcome


def _leaves_zeros(op: OpText, document: Document) -> bool:
    """Whether nothing but zeros can come out, whatever goes in."""
    if op.kind in ("Clamp", "ClampBackward"):
        return op.attrs["min"] == op.attrs["max"]
    if op.kind == "GenIndex":
        return document.tensors[op.inputs[0]].shape[op.attrs["axis"]] == 1
    return False


class Comparison:
    """Takes partitions as they have run and tells what the case comes to.

    Parameters
    ----------
    key : str
        Draws the errors of the references.
    """

    def __init__(
        self, document: Document, device: execute.Device, dropped: Dropped, key: str
    ) -> None:
        self.document, self.device, self.dropped, self.key = document, device, dropped, key
        self.problems: list[str] = []
        self.faults: list[str] = []
        self.trusted, self.error = True, 0.0

    def fail(self, problem: str, fault: str = "") -> None:
        """Keep a problem, with the name of the fault that explains it."""
        self.problems.append(problem)
        self.faults.append(fault)

    def _references(self, ops: list[OpText], given: Values) -> list[Evaluation]:
        """Return the exact reference and those with errors."""
        noises = [generator(self.key, f"noise {i}") for i in range(tolerance.RUNS)]
        found = []
        for noise in (None, *noises):
            found.append(Evaluation(self.document, dict(given), noise, self.dropped))
            found[-1].run_all(ops)
        return found

    def _wrong(self, outputs: list[int], references: list[Evaluation]) -> list[str]:
        """Return what is wrong with the present results."""
        found = []
        exact, *shaken = references
        for number in outputs:
            name = f"tensor {number}"
            intrusion = storage.intrusion(self.device.buffers[number])
            if intrusion:
                found.append(f"{name}: {intrusion}")
            raw, others = exact.raw[number], [run.raw[number] for run in shaken]
            dtype = self.document.tensors[number].dtype
            verdict = tolerance.check(name, self.device.read(number), raw, others, dtype)
            self.error = max(self.error, verdict.error)
            self.trusted &= verdict.trusted
            if verdict.problem:
                found.append(verdict.problem)
        return found

    def add(self, partition: Any, outputs: list[int]) -> None:
        """Compare the results of one partition."""
        given, trusted = {n: self.device.read(n) for n in execute.ports(partition)[0]}, self.trusted
        ops = execute.members(self.document, partition)
        references = self._references(ops, given)
        wrong = self._wrong(outputs, references)
        fault = faults.explain_partition(self._described(ops)) if wrong else ""
        if len(ops) == 1 and _leaves_zeros(ops[0], self.document):
            self.trusted = trusted
        for problem in wrong:
            self.fail(problem, fault)

    def _described(self, ops: list[Any]) -> list[tuple[str, Any, str]]:
        """Return operations as the register of faults takes them."""
        tensors = self.document.tensors
        return [
            (
                op.kind,
                [tensors[n].shape for n in op.inputs],
                op.attributes().get("data_format", ""),
            )
            for op in ops
        ]

    def outcome(self, impl: str) -> Outcome:
        """Return what the case comes to."""
        if self.problems and all(self.faults):
            return Outcome("KNOWN", f"{self.faults[0]} [{self.problems[0]}]", self.error, impl)
        if self.problems:
            return Outcome("FAILED", "; ".join(self.problems), self.error, impl)
        if not self.trusted:
            text = "too many zeros in the result to say anything"
            return Outcome("MISTRUSTED", text, self.error, impl)
        return Outcome("PASSED", "", self.error, impl)
