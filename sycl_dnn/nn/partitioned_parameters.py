# SPDX-License-Identifier: Apache-2.0
"""Parameters split across the ranks of a group, as in tensor parallel layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sycl_dnn import functional as F
from sycl_dnn import tree
from sycl_dnn.nn.module_form import Form


class Owners(NamedTuple):
    """The ranks that have a part each."""

    group: Any
    #: Concatenates the arrays of all ranks of a group.
    gather: Callable[..., Any]

    def gathered(self, x: Any) -> Any:
        """Return an array's values on all ranks, along the first axis."""
        return self.gather(x, self.group)


def owners(structure: tree.Structure) -> list[Owners | None]:
    """Return for each leaf which ranks have parts of it; None if this rank has all of it."""
    if isinstance(structure.aux, Form):
        # None in a module of gradients is not a leaf.
        pairs = zip(structure.children, _owners_in(structure.aux), strict=True)
        return [owner for child, owner in pairs for _ in range(child.n_leaves)]
    if structure.is_leaf:
        return [None]
    return [owner for child in structure.children for owner in owners(child)]


def _owners_in(form: Form) -> list[Owners | None]:
    result: list[Owners | None] = [None] * len(form.names)
    for node in form.nodes:
        for name in getattr(node.kind, "partitioned", ()):
            number = node.parameters[name]
            kind: Any = node.kind
            group = kind.group_named(node.fixed["_group_name"])
            if number is not None and group.size > 1:
                result[number] = Owners(group, kind.gathered)
    return result


def check_whole(name: str, params: Any) -> None:
    """Refuse partitioned parameters, for a rule that reads whole arrays.

    Raises TypeError if there is one.
    """
    if any(owners(tree.flatten(params)[1])):
        raise TypeError(
            f"{name}: params must not have tensor parallel layers, since its rule reads whole "
            "arrays, of which each rank has a part"
        )


def by_owners(arrays: Sequence[Any], structure: tree.Structure) -> dict[Owners | None, list[Any]]:
    """Return the nonempty arrays among the leaves of a structure, by the ranks that own them."""
    result: dict[Owners | None, list[Any]] = {}
    for array, owner in zip(arrays, owners(structure), strict=True):
        if array is not None and array.size:
            result.setdefault(owner, []).append(array)
    return result


def norm_over_ranks(norms: Mapping[Owners | None, Any], norm_type: float) -> Any:
    """Combine this rank's norms of the parts of each group into the norm of everything.

    Raises ValueError if ranks have parts, and the norm of order 0 counts whole arrays.
    """
    if set(norms) == {None}:
        return norms[None]
    if not norm_type:
        raise ValueError(f"norm_type must not be 0 for tensor parallel layers, got {norm_type}")
    parts = [F.reshape(v, (1,)) if o is None else o.gathered(v) for o, v in norms.items()]
    return F.norm(F.cat(parts), norm_type)
