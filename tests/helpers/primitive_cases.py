# SPDX-License-Identifier: Apache-2.0
"""Calls of every primitive: the cases of conformance in float32 without attributes."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from conformance.case_runs import cases_of

from sycl_dnn.tools.cases.call import Call, describe
from sycl_dnn.tools.cases.case_files import read_file
from sycl_dnn.tools.cases.drivers import DRIVERS

FOLDER = Path(__file__).parents[1] / "conformance"
#: Options that such a case may have.
PLAIN = {"dir", "prop", "alg", "direction", "flags", "activation", "axis", "group", "scales"}
PLAIN |= {"alpha", "beta", "p", "eps", "tag", "stag", "dtag", "wtag", "bia-dt", "bia_mask"}
STATES = re.compile(r"(diff_)?(src|dst)_iter(_c)?")


def call_of(line: str) -> Call:
    """Return the call of a case in benchdnn's language."""
    (case,) = cases_of(line)
    return case.call()


def without_states(call: Call) -> Call:
    """Return the call of a recurrent network without initial and final states."""
    kept = {name: t for name, t in call.tensors.items() if not STATES.fullmatch(name)}
    return replace(call, tensors=kept, forward=call.forward and without_states(call.forward))


@cache
def calls_by_row() -> dict[str, list[Call]]:
    """Return the calls of every row, in the order of the files."""
    result: dict[str, list[Call]] = {}
    for driver in DRIVERS:
        for case in read_file(FOLDER / f"{driver}.in"):
            if case.texts.keys() <= PLAIN:
                call = case.call()
                result.setdefault(call.row, []).append(call)
    return result


def described(call: Call, engine, attr=None):
    """Return the descriptor of a call, made with that of its forward call if it has one."""
    hint = call.forward and describe(call.forward, engine, None, attr)
    return describe(call, engine, hint, attr)
