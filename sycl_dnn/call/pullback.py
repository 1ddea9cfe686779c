# SPDX-License-Identifier: Apache-2.0
"""The plan of a function and its reverse pass, and the pullback that runs the second half."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp
from dpnp.exceptions import ExecutionPlacementError

from sycl_dnn import tree
from sycl_dnn._core import ReverseCall
from sycl_dnn.call.arguments import ARRAY_TYPES, kind_of
from sycl_dnn.call.both_passes import Differentiated, check_seed
from sycl_dnn.call.call_plan import call_plan_of, numbered
from sycl_dnn.call.placed_call import PlacedCall
from sycl_dnn.call.recorded_calls import HeldPlan
from sycl_dnn.onednn import dtypes
from sycl_dnn.trace import allocation, functions, layout, nested_arguments
from sycl_dnn.trace.array import Array, array_over, wrapped
from sycl_dnn.trace.module_arrays import depths, in_manner, plain
from sycl_dnn.trace.values import Tensor


class Pullback:
    """Maps the gradient of a function's result to the gradients of its arguments.

    It holds values saved by the forward pass and may be called more than once. Arguments that
    the reverse pass reads are not copied: do not write to their memory before the last call. Torch
    detects such writes; this package cannot.
    """

    __slots__ = ("_kept", "_plan")

    def __init__(self, plan: Differential, saved: tuple[Any, ...]) -> None:
        self._plan = plan
        #: As ``_core.ReverseCall.call`` accepts it.
        self._kept = saved

    def __call__(self, dy: Any = 1.0) -> tuple[Any, ...]:
        """Return one gradient for each positional argument.

        Parameters
        ----------
        dy : dpnp.ndarray or Array, or number
            Shape and dtype of the result. For a function that returns several arrays, the same
            structure; None means zeros. Results of one element accept a number, 1 if nothing
            is given.

        Returns
        -------
        tuple
            By positional argument: an array of its shape, dtype and order of axes, a tree for a
            tree of arrays; None for what has no gradient (integers, parameters).
        """
        plan, saved = self._plan, self._kept
        reverse_call = plan.again
        if reverse_call is not None:
            if dy.__class__ is float and dy == 1.0 and plan.takes_number:
                dy = plan.one(self._queue, self._number)
            gradients = reverse_call.call(saved, dy)
            if gradients is not NotImplemented:
                return in_manner(gradients) if depths else gradients  # type: ignore[no-any-return]
        both = plan.both
        leaves = self._leaves(dy)
        seeds = [self._seed(d, t) for d, t in zip(leaves, both.seed_tensors, strict=True)]
        stream, _, kind, arrays, frozen = saved
        registers = both.reverse.run(self._queue, stream, [*seeds, *arrays], kind, None, frozen)
        if reverse_call is not None:
            reverse_call.remember(dy, seeds)
        gradients = both.nested(both.reverse.leaves(registers, []))
        return in_manner(gradients) if depths else gradients

    @property
    def _queue(self) -> Any:
        return self._kept[0].sycl_queue

    def _leaves(self, dy: Any) -> list[Any]:
        both = self._plan.both
        if both.seed_form.is_single:
            return [dy]
        flat = both.seed_form.matched(dy, "dy")
        return [flat[i] for i in both.seeded]

    def _seed(self, dy: Any, tensor: Tensor) -> Any:
        """Return the usm_ndarray of a gradient in the layout of the result that it belongs to."""
        if dy is None:
            dtype = allocation.blank_of(tensor).dtype
            zeros = dpnp.zeros(tensor.shape, dtype=dtype, sycl_queue=self._queue)
            dy = array_over(zeros, tensor.dtype)
        if isinstance(dy, (int, float)):
            return self._number(dy, tensor)
        if isinstance(dy, Tensor):
            raise TypeError("pullback: dy has no values: call vjp in the same traced function, too")
        if not (isinstance(dy, Array) or nested_arguments.is_array(dy)):
            raise TypeError(f"pullback: dy must be a dpnp.ndarray or Array, got {kind_of(dy)}")
        check_seed(dy, tensor)
        array = dy.get_array()
        if array.sycl_queue != self._queue:
            raise ExecutionPlacementError(
                "pullback: dy must be on the queue of the function's arrays"
            )
        return array if array.strides == tensor.strides else _in_layout_of(tensor, array)

    def _number(self, value: float, tensor: Tensor) -> Any:
        check_seed(value, tensor)
        blank = allocation.blank_of(tensor)
        if tensor.dtype not in dtypes.CARRIED:
            number = allocation.scalar(value, blank.dtype, self._queue)
            return allocation.reshaped(number, tensor.shape)
        from sycl_dnn.trace.functions import asarray

        array = asarray([value], dtype=tensor.dtype, sycl_queue=self._queue)
        return allocation.reshaped(array.get_array(), tensor.shape)


def _in_layout_of(tensor: Tensor, array: Any) -> Any:
    """Return a copy of a usm_ndarray in the layout of a tensor."""
    if not layout.is_dense(tensor.desc):  # a result that is a view of the caller's
        copy = allocation.blank_of(tensor).new(array.sycl_queue)
        allocation.wrap(copy)[...] = allocation.wrap(array)
        return copy
    order = layout.axes_in_order(tensor.shape, tuple(tensor.strides))
    permuted = wrapped(array, tensor.dtype).transpose(*order)
    copy = plain(functions.copied(permuted, is_row_major=True))
    return copy.transpose(*sorted(range(tensor.ndim), key=order.__getitem__)).get_array()


class Differential(HeldPlan):
    """The plan of a function and its reverse pass, and the arguments that follow those of a call.

    ``again``: repeats the reverse pass without Python, if possible.
    """

    reverse = Pullback

    def __init__(self, both: Differentiated, is_recorded: bool) -> None:
        super().__init__(both.forward, both.form, is_recorded)
        self.both = both
        nested = tree.Structure(tuple, None, both.input_form.structure.children)
        gradients = numbered(both.input_form, both.gradient_of)
        plan = call_plan_of(both.reverse, nested, gradients, returns_given=False)
        self.again = None if plan is None else ReverseCall(ARRAY_TYPES, plan)
        single = both.seed_form.is_single and len(both.seed_tensors) == 1
        is_read_alone = min(both.reverse.results, default=0) > 0
        #: Whether the gradient of the result may be a number that later calls share.
        self.takes_number = single and both.seed_tensors[0].size == 1 and is_read_alone
        self._one: tuple[Any, Any] | None = None

    def results(self, placed: PlacedCall, registers: list[Any]) -> Any:
        """Return the function's result and its pullback."""
        arrays = tuple([registers[r] for r in self.executable.saved])
        pool = allocation.pool_of(placed.queue)
        saved = (placed.stream, pool, placed.kind, arrays, placed.call.frozen)
        return super().results(placed, registers), Pullback(self, saved)

    def one(self, queue: Any, make: Callable[[float, Tensor], Any]) -> Any:
        """Return the gradient 1 of a result of one element, cached by queue."""
        cached = self._one
        if cached is None or cached[0] != queue:
            tensor = self.both.seed_tensors[0]
            cached = self._one = (queue, wrapped(make(1.0, tensor), tensor.dtype))
        return cached[1]
