# SPDX-License-Identifier: Apache-2.0
"""One fault of oneDNN as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

#: Any primitive, or none: a partition of a graph.
ANY: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """A wrong result, or a crash, that is known.

    name : what tests and reports call it
    title, when, wrong, instead : cells of the table in docs/onednn_in_python.md, in Markdown
    met : ``warned`` when a descriptor is made; ``rerouted`` to what is right; ``refused`` by name;
        ``left`` to the user of the low level, ``functional`` goes around it
    rows : the primitives
    device : where it was seen, ``cpu`` or ``gpu`` (a simulated one)
    since, until : version of oneDNN in which it was first seen, and that mended it
    advice : text of the warning, or of the error
    refused_by : function of csrc/refused_shapes.cpp or csrc/refusals.cpp
    warns, refuses, explains, post_ops, partition : rules of ``fault_rules``, by what they look at
    outputs : patterns of the outputs that may be wrong, of ``explains``
    """

    name: str
    title: str
    when: str
    wrong: str
    instead: str
    met: Literal["warned", "rerouted", "refused", "left"]
    rows: tuple[str, ...]
    device: Literal["cpu", "gpu"] = "cpu"
    since: str = "3.13.2"
    until: str | None = None
    advice: str = ""
    refused_by: str = ""
    warns: Callable[[Any], bool] | None = None
    refuses: Callable[[Any], bool] | None = None
    explains: Callable[[Any, str], bool] | None = None
    post_ops: Callable[[Any, Any], bool] | None = None
    partition: Callable[[Any], bool] | None = None
    outputs: tuple[str, ...] = ()
