# SPDX-License-Identifier: Apache-2.0
"""Reduce a failing program: fewer results, lines and arguments, simpler layouts.

python tests/differential/shrinking.py 7000123
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "helpers")]

import torch  # noqa: E402

from differential.program import Input, Program  # noqa: E402
from differential.torch_functions_of_programs import TorchFunctions, turned  # noqa: E402

_WORD = re.compile(r"[A-Za-z_]\w*")


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text))


def _defined(text: str) -> set[str]:
    return {
        n.id
        for n in ast.walk(ast.parse(text))
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def pruned(program: Program) -> Program:
    """Return the program without lines and arguments that no result needs."""
    needed, kept = set(program.results), []
    for line in reversed(program.lines):
        if _defined(line) & needed:
            kept.append(line)
            needed |= _words(line)
    inputs = tuple(i for i in program.inputs if i.name in needed)
    return replace(program, lines=tuple(reversed(kept)), inputs=inputs)


def _values(program: Program) -> dict[str, Any]:
    scope = {
        name: torch.from_numpy(v).double()
        if not isinstance(v, float) and v.dtype.kind == "f"
        else (v if isinstance(v, float) else torch.from_numpy(v))
        for name, v in program.values().items()
    }
    scope |= {"F": TorchFunctions(torch.float64), "turned": turned}
    for line in program.lines:
        exec(line, scope)
    return scope


def smaller(program: Program) -> Iterator[Program]:
    """Yield programs that are one step simpler."""
    for name in program.results:
        if len(program.results) > 1:
            yield pruned(replace(program, results=(name,)))
    scope = _values(program)
    for index in reversed(range(len(program.lines))):
        names = [n for n in sorted(_words(program.lines[index])) if re.match(r"v\d", n)]
        for name in names:
            value = scope.get(name)
            # The value becomes a result: what follows is removed.
            if isinstance(value, torch.Tensor) and (name,) != program.results:
                yield pruned(replace(program, results=(name,)))
            # The value becomes an argument: what precedes is removed.
            defines = re.match(rf"{name} = ", program.lines[index].split("\n")[0])
            if isinstance(value, torch.Tensor) and value.dtype == torch.float64 and defines:
                given = Input(name, tuple(value.shape))
                lines = program.lines[:index] + program.lines[index + 1 :]
                if lines:
                    cut = replace(program, lines=lines, inputs=(*program.inputs, given))
                    yield pruned(cut)
    for index, given in enumerate(program.inputs):
        for simpler in (replace(given, layout="dense"), replace(given, specials=())):
            if simpler != given:
                inputs = list(program.inputs)
                inputs[index] = simpler
                yield replace(program, inputs=tuple(inputs))


def shrink(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Return a failing program from which no part can be removed."""
    found = True
    while found:
        found = False
        for candidate in smaller(program):
            if len(candidate.lines) <= len(program.lines) and candidate != program:
                try:
                    found = fails(candidate)
                except Exception:
                    found = False
                if found:
                    program = candidate
                    break
    return program


def shrink_seed(seed: int, queue: Any) -> tuple[Program, list[Any]]:
    from differential.playing import play, play_seed

    program, _, found = play_seed(seed, queue)
    if not found:
        return program, []
    first = found[0]
    kind = "refused" if first.kind == "suspicious" else first.kind
    is_extra = first.way.startswith(("nan", "kernels"))

    def fails(candidate: Program) -> bool:
        only = None if first.kind == "suspicious" else first.way
        caller, _ = play(candidate, queue, is_extra, only)
        if first.kind == "suspicious" and not caller.passed:
            return False
        return any(f.kind == kind and f.way == first.way for f in caller.findings)

    small = shrink(pruned(program), fails) if fails(pruned(program)) else program
    caller, _ = play(small, queue, is_extra)
    return small, caller.findings


def main() -> None:
    import sycl_dnn

    warnings.simplefilter("ignore")
    for seed in sys.argv[1:]:
        program, findings = shrink_seed(int(seed), sycl_dnn.default_queue())
        print(program.standing_alone())
        for finding in findings:
            print(f"    # {finding.way}: {finding.kind}: {finding.text[:300]}")


if __name__ == "__main__":
    main()
