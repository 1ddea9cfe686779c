# SPDX-License-Identifier: Apache-2.0
"""The driver ``--graph``: a case is a JSON file, options change it. Source: benchdnn's manual."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sycl_dnn.tools.verify import options
from sycl_dnn.tools.verify.driver import Limits, Outcome, Refusal
from sycl_dnn.tools.verify.graph import evaluation, judging, on_device, rewriting
from sycl_dnn.tools.verify.graph.document import Document, read
from sycl_dnn.tools.verify.graph.evaluation import Dropped
from sycl_dnn.tools.verify.graph.judging import Comparison
from sycl_dnn.tools.verify.graph.rewriting import rewrite
from sycl_dnn.tools.verify.options import MB, Option

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
        (judging.memory(document), limits.memory, "bytes"),
        (judging.operations(document), limits.operations, "products"),
    ):
        if needed > most:
            raise Refusal(f"a case must need at most {most} {what}, this one {needed}")


def _kept_all(document: Document) -> Dropped:
    """Return random numbers of dropout without asking the device for them."""
    return lambda op, values: np.ones(document.tensors[op.inputs[0]].shape)


def _has_short_floats(document: Document) -> bool:
    return any(tensor.dtype.startswith("f8") for tensor in document.tensors.values())


def run(case: GraphCase, stream: Any, key: str, limits: Limits) -> Outcome:
    """Run a graph partition by partition, and compare each one's results.

    Raises
    ------
    Broken, Refusal, Failure, sycl_dnn.errors.DnnlError
        See `sycl_dnn.tools.verify.runner.run_case`.
    """
    document = case.document()
    _check_limits(document, limits)
    kind = "cpu" if stream.sycl_queue.sycl_device.is_cpu else "gpu"
    found = on_device.partitions(document, kind)
    impl = f"{len(found)} partition{'s' if len(found) != 1 else ''}"
    device = on_device.Device(document, stream)
    dropped = on_device.dropped_on(stream, document) if limits.check else _kept_all(document)
    for number, value in evaluation.inputs(document, key, dropped).items():
        device.write(number, value)
    comparison = Comparison(document, device, dropped, key)
    for partition in found:
        outputs = device.run(partition)
        if limits.check:
            comparison.add(partition, outputs)
    wanted = case.options["expected-n-partitions"]
    # A GPU fuses differently.
    if wanted and kind == "cpu" and len(found) != wanted:
        text = f"partitions must be {wanted}, got {len(found)}"
        if not comparison.problems and _has_short_floats(document):
            raise Refusal(f"{text}: patterns of 8-bit floats are for CPUs that have them")
        comparison.fail(text)
    return comparison.outcome(impl) if limits.check else Outcome("SUBMITTED", impl=impl)
