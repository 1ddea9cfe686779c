# SPDX-License-Identifier: Apache-2.0
"""A module without its arrays, and how to build another one of the same form."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dpnp

from sycl_dnn.trace.module_arrays import ModuleArray, represented

_SERIALS = itertools.count()


class Copies:
    """Sources of the hyper-parameters of a new module."""

    def __init__(self, leaves: Sequence[Any], modules: Sequence[Any], attributes: Any) -> None:
        self.leaves, self.modules = leaves, modules
        #: Indices of leaves that are attributes of modules and also held elsewhere.
        self.attributes = attributes
        #: Callables and objects by index; each is created once.
        self.objects: dict[int, Any] = {}
        #: Leaves as attributes of modules are, by index.
        self.lent: dict[int, ModuleArray] = {}

    def attribute(self, index: int) -> Any:
        """Return a leaf as lists and objects hold it: a module's attribute, if it is one."""
        leaf = self.leaves[index]
        if index not in self.attributes or type(leaf) is not dpnp.ndarray:
            return leaf
        return self.lent.get(index) or self.lent.setdefault(index, represented(leaf))


Maker = Callable[[Copies], Any]


class Node(NamedTuple):
    """How to rebuild one module."""

    kind: type
    #: Hyper-parameters that are shared, and those that are rebuilt from leaves.
    fixed: dict[str, Any]
    makers: dict[str, Maker]
    #: Indices of leaves and nodes; None for an absent parameter.
    parameters: dict[str, int | None]
    buffers: dict[str, int | None]
    modules: dict[str, int | None]
    frozen: frozenset[str]
    transient: frozenset[str]


class Form:
    """Everything in a module except its arrays; equal forms compute the same."""

    __slots__ = (
        "_hash", "_sycl_dnn_serial", "attributes", "constants", "has_assigned", "held",
        "holds_nothing", "is_opaque", "is_simple", "is_written", "key", "names", "nodes", "places",
        "root", "trainable", "unsaved",
    )  # fmt: skip

    def __init__(self, walk: Any) -> None:
        #: A copy of a module with opaque objects is not what the module is.
        self.key = (*walk.tokens, walk.is_copy)
        #: The path of each leaf, and whether it is anything but a trainable parameter.
        self.names = tuple(walk.names)
        self.constants = tuple(walk.constants)
        #: By number: the paths of the trainable parameters.
        self.trainable = {i: name for i, name in enumerate(self.names) if not self.constants[i]}
        self.nodes = tuple(walk.nodes)
        #: Leaves that are attributes of modules and also held in lists or objects.
        self.attributes = frozenset(walk.held_leaves).intersection(
            n for node in self.nodes for n in (*node.parameters.values(), *node.buffers.values())
        )
        #: User functions and objects that the modules call.
        self.held = tuple(walk.held)
        self.is_written = walk.is_written
        #: Whether functions have assigned attributes of the modules.
        self.has_assigned = any(
            node.fixed.get("_written") or node.fixed["_returned"] for node in self.nodes
        )
        #: Whether copies share objects that may lead to the module itself.
        self.is_opaque = walk.is_opaque
        #: Whether the form of a copy is known without another walk.
        self.is_simple = (
            walk.is_lasting and not walk.is_opaque and not any(node.makers for node in self.nodes)
        )
        #: Whether it is known that copies of a simple form hold nothing that changes in place.
        self.holds_nothing = False
        #: Of a simple form: number of the module, group and name of each leaf.
        self.places = _places(self.nodes) if self.is_simple else []
        #: Leaves that files lack: buffers that state dicts lack, and states of compiled functions.
        self.unsaved = walk.states.union(
            node.buffers[name] for node in self.nodes for name in node.transient & {*node.buffers}
        )
        self._hash = hash((self.key, self.constants))
        #: A unique number that identifies the form in ``_core.CallTable``.
        self._sycl_dnn_serial = next(_SERIALS)
        #: The module that last had this form.
        self.root: Callable[[], Any] = weakref.ref(walk.root)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Form) or self._hash != other._hash:
            return False
        return (self.key, self.constants) == (other.key, other.constants)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return self.nodes[0].kind.__name__

    def parameters(self) -> list[bool]:
        """Return for each leaf whether it is a parameter, trainable or frozen."""
        indices = {number for node in self.nodes for number in node.parameters.values()}
        return [number in indices for number in range(len(self.names))]


def _places(nodes: Sequence[Node]) -> list[tuple[int, str, str]]:
    places: dict[int, tuple[int, str, str]] = {}
    for index, node in enumerate(nodes):
        for numbers, group in ((node.parameters, "_parameters"), (node.buffers, "_buffers")):
            for name, number in numbers.items():
                if number is not None:
                    places.setdefault(number, (index, group, name))
    return [places[number] for number in range(len(places))]
