# SPDX-License-Identifier: Apache-2.0
"""Writes of a function to its arguments, which change the caller's arrays, as in torch.

Until the function returns, an argument stands for its new value; then its memory is updated.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sycl_dnn import tree
from sycl_dnn.trace.write_marks import OfCaller

_WORDS = "an array that a function is given and writes to"


class ArgumentMarks(OfCaller):
    """The marks of an argument, and of views of it.

    number : of the argument among those of its function
    original : the tensor over the caller's array, if the function sees a conversion of it
    has_gradient : whether the function is differentiated with respect to it
    """

    __slots__ = ("has_gradient", "number", "original")

    def __init__(self, number: int, original: Any = None, has_gradient: bool = False) -> None:
        super().__init__()
        self.number, self.original, self.has_gradient = number, original, has_gradient

    def written(self, value: Any, writer: str, result: Any) -> Any:
        """Let an argument, or a view of it, represent ``result``, which a function writes to it.

        Raises TypeError if the gradient with respect to it is wanted.
        """
        run, number = value.trace, self.number
        argument = run.given[number]
        is_leaf = self.has_gradient and argument.is_float and not run.is_constant(number)
        if is_leaf and not run.is_gradient_free:
            raise TypeError(
                f"{writer}: an argument of a differentiated function cannot be written to; write "
                "to a copy (x * 1, x.clone())"
            )
        original = argument.as_it_is() if self.original is None else self.original
        run.rewritten.setdefault(number, (original, argument))
        run.replace(value, result, writer)
        return value


class InnerArgumentMarks(OfCaller):
    """The marks of an argument of a function that is differentiated while another is traced."""

    __slots__ = ()
    has_gradient = True

    def written(self, value: Any, writer: str, result: Any) -> Any:
        """Raise TypeError."""
        raise TypeError(
            f"{writer}: an argument of a differentiated function cannot be written to inside of a "
            "traced function; write to a copy (x * 1, x.clone()), or to a buffer (register_buffer)"
        )


def marked(run: Any, argument: Any, original: Any = None) -> Any:
    """Mark the value that a function sees in place of an array; ``original`` as in the marks."""
    argument.marks = ArgumentMarks(len(run.given), original)
    run.given.append(argument)
    return argument


def refuse_inner(args: Iterable[Any]) -> None:
    """Refuse writes to arguments of an inner function."""
    for leaf in tree.leaves(list(args)):
        if type(getattr(leaf, "marks", None)) is list:
            leaf.marks = InnerArgumentMarks()


def write_back(run: Any) -> None:
    """Update the memory of the arguments that a function has written to; it has returned."""
    rewritten, run.rewritten = run.rewritten, {}
    for argument, value in rewritten.values():
        converted = run.convert(value, str(argument.dtype))
        run.update(argument, converted, _WORDS, is_alone=True, are_views_old=True)
