# SPDX-License-Identifier: Apache-2.0
"""Programs with PyTorch's results in float64, in one file.

    PYTHONPATH=<folder with PyTorch> python tests/differential/recorded_programs.py

writes ``programs.npz`` again; reading it needs no PyTorch.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "helpers")]

from differential.expected import Expected, Reference  # noqa: E402
from differential.program import Program  # noqa: E402

PATH = Path(__file__).with_name("programs.npz")
SEED, PROGRAMS = 29_000_000, 100
#: Values of one program, of both variants, with gradients.
LARGEST = 900


def _parts(reference: Reference) -> list[tuple[str, Expected]]:
    found = [(f"o{i}", e) for i, e in enumerate(reference.outputs)]
    for kind, result in (("g", reference.gradients), ("s", reference.seconds)):
        found += [(kind + n, e) for n, e in (result or {}).items()]
    return found


class Writer:
    """Values and tolerances of all programs, one after the other."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.values: list[Any] = []
        self.tolerances: list[Any] = []

    def add(self, program: Program, references: list[Reference]) -> None:
        described = []
        for reference in references:
            row = []
            for name, e in _parts(reference):
                row.append([name, list(e.values.shape), e.values.dtype.kind])
                self.values.append(e.values.astype(np.float32).reshape(-1))
                # Rounded upwards: float16 has ten bits.
                with np.errstate(over="ignore"):
                    kept = (np.asarray(e.tolerance).reshape(-1) * 1.002 + 1e-7).astype(np.float16)
                self.tolerances.append(kept)
            described.append(row)
        self.rows.append([json.loads(program.to_json()), described])

    def write(self, path: Path) -> None:
        text = np.frombuffer(json.dumps(self.rows).encode(), np.uint8)
        np.savez_compressed(
            path, text=text, values=np.concatenate(self.values),
            tolerances=np.concatenate(self.tolerances),
        )  # fmt: skip


def read(path: Path = PATH) -> list[tuple[Program, list[Reference]]]:
    """Return each program with the references of its two variants."""
    with np.load(path) as file:
        rows = json.loads(file["text"].tobytes())
        values, tolerances = file["values"], file["tolerances"].astype(np.float64)
    found, at = [], 0
    for described, variants in rows:
        references = []
        for variant in variants:
            reference = Reference([])
            for name, shape, kind in variant:
                end = at + int(np.prod(shape))
                result = values[at:end].reshape(shape)
                if kind != "f":
                    result = result.astype(bool if kind == "b" else np.int64)
                limit = tolerances[at:end].reshape(shape)
                at = end
                _put(reference, name, Expected(result, limit if kind == "f" else limit // 1e-3))
            references.append(reference)
        found.append((Program.from_json(json.dumps(described)), references))
    return found


def _put(reference: Reference, name: str, made: Expected) -> None:
    if name[0] == "o":
        reference.outputs.append(made)
        return
    attribute = "gradients" if name[0] == "g" else "seconds"
    if getattr(reference, attribute) is None:
        setattr(reference, attribute, {})
    getattr(reference, attribute)[name[1:]] = made


def record() -> None:
    from differential.drawing import draw
    from differential.reference import refer

    writer, seed = Writer(), SEED
    while len(writer.rows) < PROGRAMS:
        program = draw(seed)
        seed += 1
        order = 2 if len(writer.rows) % 3 == 0 else 1
        try:
            sizes = (3e-7, 1e-6, 3e-6)
            references = [refer(program, program.values(v), order, sizes) for v in (0, 1)]
        except (RuntimeError, TypeError):
            continue
        if sum(e.values.size for r in references for _, e in _parts(r)) <= LARGEST:
            writer.add(program, references)
    writer.write(PATH)
    print(f"{len(writer.rows)} programs, {PATH.stat().st_size} bytes, {seed - SEED} drawn")


if __name__ == "__main__":
    record()
