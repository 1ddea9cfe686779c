# SPDX-License-Identifier: Apache-2.0
"""Ask oneDNN for one case: which implementations it takes, which decline, and why.

Runs in a process whose log is caught (`sycl_dnn.tools.matrix.prober`).
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sycl_dnn.errors import DnnlError, InvalidArguments, OneDnnFaultWarning
from sycl_dnn.onednn import reasons
from sycl_dnn.tools.verify import call as attributes
from sycl_dnn.tools.verify.call import Call, describe
from sycl_dnn.tools.verify.case_files import Case

#: Family -> parts of names that belong to it; the first family that fits counts.
FAMILIES: dict[str, tuple[str, ...]] = {
    "ref": ("ref",),
    "simple": ("simple", "ncsp_", "nspc_", "rnn_data_reorder"),
    "brgemm": ("brg", "brdgmm"),
    "gemm": ("gemm",),
    "wino": ("wino",),
    "jit": ("jit",),
    "ocl": ("ocl", "xe:"),
    "reorder": ("reorder", "direct_copy"),
}
#: How much a family is worth; comparing tables means comparing these.
RANKS = {"died": 0, "invalid": 1, "refused": 1, "ref": 2, "simple": 3}
OPTIMISED = 4


def family(impl: str) -> str:
    """Return the family of an implementation.

    Parameters
    ----------
    impl : str
        oneDNN's name, such as ``"brg_conv_fwd:avx512_core"``.

    Returns
    -------
    str
        A key of `FAMILIES`; ``"other"`` for a name that none of them has.
    """
    return next((f for f, parts in FAMILIES.items() if any(p in impl for p in parts)), "other")


def state(impl: str) -> str:
    """Return ``"ref"``, ``"simple"`` or ``"optimised"``."""
    found = family(impl)
    return found if found in ("ref", "simple") else "optimised"


def rank(state_: str) -> int:
    """Return how much a state is worth: 0 (the process died) to 4 (optimised)."""
    return RANKS.get(state_, OPTIMISED)


# --- Ask oneDNN for one case: which implementations it takes, which decline, and why


@dataclass(frozen=True)
class Attempt:
    """An implementation that oneDNN considered.

    impl : its name; empty where the log gives none
    reason : why it declined; empty where it takes the case
    layouts : layout by argument, of one that takes the case
    scratchpad : bytes, of one that takes the case
    """

    impl: str
    reason: str = ""
    layouts: dict[str, str] = field(default_factory=dict)
    scratchpad: int = 0


#: The reason of an implementation that would take the case.
LEFT_OUT = "left out by --impl or --skip-impl"


@dataclass(frozen=True)
class Answer:
    """What oneDNN says to one case.

    state : ``optimised``, ``simple``, ``ref``, ``refused``, ``invalid`` or ``died``
    impl : name of the implementation that would run
    error : first line of the refusal
    attempts : all that were considered, in oneDNN's order
    warned : known faults of oneDNN that the case meets
    of_hint : the refusal is about the forward descriptor that a gradient needs
    """

    state: str
    impl: str = ""
    error: str = ""
    attempts: tuple[Attempt, ...] = ()
    warned: tuple[str, ...] = ()
    of_hint: bool = False

    @property
    def reason(self) -> str:
        """What the most general implementation said, or the refusal itself."""
        said = [a.reason for a in self.attempts if a.reason and a.impl]
        said = said or [a.reason for a in self.attempts if a.reason]
        if said or self.state != "refused":
            return said[-1] if said else self.error
        return "no reason in oneDNN's log"

    @property
    def first(self) -> Attempt:
        """The implementation that would run."""
        return next(a for a in self.attempts if not a.reason)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, as JSON has them."""
        return asdict(self)


def answer_of(data: dict[str, Any]) -> Answer:
    """Return the answer that `Answer.as_dict` gave."""
    attempts = tuple(Attempt(**attempt) for attempt in data["attempts"])
    return Answer(**data | {"attempts": attempts, "warned": tuple(data["warned"])})


def declined(log: str, row: str) -> list[Attempt]:
    """Return who declined, from oneDNN's log about the primitive ``row``.

    Helpers of implementations write lines without a name; they are kept, in their place.
    """
    kind, found = reasons._log_kind(row), []
    for line in log.splitlines():
        named = reasons._parse(line, kind)
        fields = line.split(",")
        if named and fields[3] == "create:dispatch":
            impl, _, reason = named.partition(": ")
            found.append(Attempt(impl.removesuffix("undef").rstrip(":"), reason))
        elif named:
            found.append(Attempt("", named))
        elif fields[3:5] == ["create:dispatch", kind] and fields[5:6] not in (["cpu"], ["gpu"]):
            found.append(Attempt("", ",".join(fields[5:-1])))
    return [attempt for attempt, _ in itertools.groupby(found)]


def _taken(pd: Any, call: Call) -> Attempt:
    """Return the implementation a descriptor stands at, with the layouts it wants."""
    if not call.attr.allows(pd.impl_info):
        return Attempt(pd.impl_info, LEFT_OUT)
    named = {name: pd.desc_of(name) for name in call.tensors}
    layouts = {name: str(desc) for name, desc in named.items() if not desc.is_zero}
    return Attempt(pd.impl_info, "", layouts, pd.scratchpad_desc.size)


def _all(pd: Any, call: Call, log: Any, every: bool) -> list[Attempt]:
    attempts = [*declined(log.take(), call.row), _taken(pd, call)]
    while (every or attempts[-1].reason) and pd.next_impl():
        attempts += [*declined(log.take(), call.row), _taken(pd, call)]
    return attempts + (declined(log.take(), call.row) if every else [])


def _refusal(error: DnnlError, attempts: list[Attempt]) -> Answer:
    state = "invalid" if isinstance(error, InvalidArguments) else "refused"
    text = str(error.args[0] if error.args else error).split("\n")[0]
    return Answer(state, error=text, attempts=tuple(attempts))


def probe(case: Case, engine: Any, log: Any, every: bool = False) -> Answer:
    """Return what oneDNN says to a case, without executing anything.

    Parameters
    ----------
    case : Case
    engine : sycl_dnn.onednn.Engine
    log : object with ``take() -> str``
        What oneDNN wrote to its log since the last call.
    every : bool
        Go through all implementations instead of stopping at the first that takes the case.

    Returns
    -------
    Answer
    """
    call, hint = case.call(), None
    log.take()
    if call.forward is not None:
        try:
            hint = describe(call.forward, engine, None, attributes.build(call.forward))
        except DnnlError as error:
            refusal = _refusal(error, declined(log.take(), call.forward.row))
            return replace(refusal, of_hint=True)
        log.take()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OneDnnFaultWarning)
        try:
            pd = describe(call, engine, hint, attributes.build(call))
        except DnnlError as error:
            return _refusal(error, declined(log.take(), call.row))
    warned = tuple(str(w.message) for w in caught if issubclass(w.category, OneDnnFaultWarning))
    attempts = _all(pd, call, log, every)
    impl = next((a.impl for a in attempts if not a.reason), "")
    if not impl:
        return Answer("refused", error=LEFT_OUT, attempts=tuple(attempts))
    return Answer(state(impl), impl, "", tuple(attempts), warned)
