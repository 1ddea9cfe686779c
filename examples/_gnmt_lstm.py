# SPDX-License-Identifier: Apache-2.0
"""An LSTM layer of GNMT as a training step of oneDNN primitives, over sentences of two lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import dpnp
from _chain import Chain
from _training_data import LstmData

from sycl_dnn import onednn as dnnl

F32 = dnnl.data_type.f32
LEFT_TO_RIGHT = dnnl.rnn_direction.unidirectional_left2right
STATES = ("iter", "iter_c")


@dataclass
class Weights:
    """The parameters, or their gradients: (1, 1, C, 4, C) twice and (1, 1, 4, C)."""

    weights_layer: dnnl.Memory
    weights_iter: dnnl.Memory
    bias: dnnl.Memory


class Side:
    """One of the two primitives: what its forward pass keeps for its backward pass.

    Parameters
    ----------
    name : str
        For the list of implementations.
    tensors : dict of str to Memory
        ``src_layer``, ``dst_layer`` (T, N, C), ``src_iter`` and ``src_iter_c`` (1, 1, N, C).
    diffs : dict of str to Memory
        ``diff_src_layer``, ``diff_dst_layer``: their gradients.
    """

    def __init__(self, name: str, tensors: dict, diffs: dict) -> None:
        self.name = name
        self.tensors = tensors
        self.diffs = diffs
        self.forward: dnnl.PrimitiveDesc
        self.backward: dnnl.PrimitiveDesc


class GnmtLstm:
    """An LSTM layer, forward and back to all gradients, over sentences of two lengths.

    A left primitive processes the first ``short`` words of all sentences. A right one
    processes the other words of the long ones: it starts from the first ``n_long`` rows of the
    left one's last state, and returns the gradient of those rows. Both add to the same
    gradients of the parameters.

    Parameters
    ----------
    queue : dpctl.SyclQueue
    data : LstmData

    Attributes
    ----------
    outputs : dict of str to dpnp.ndarray
        ``dst_left`` (short, N, C), ``dst_right`` (T - short, n_long, C), ``diff_src`` (T, N, C;
        padding is 0), ``diff_weights_layer``, ``diff_weights_iter``, ``diff_bias``; float32,
        valid after `step`.
    implementations : list of (str, str, str)
        Name, primitive and oneDNN's implementation of each step, in order of execution.
    """

    def __init__(self, queue: Any, data: LstmData) -> None:
        self._chain = chain = Chain(queue)
        self.implementations = chain.implementations
        steps, n, channels = data.src.shape
        n_long, short = data.n_long, data.short
        self._left_state, self._right_state = (1, 1, n, channels), (1, 1, n_long, channels)
        self._user = Weights(*map(chain.tensor, (data.weights_layer, data.weights_iter, data.bias)))
        whole = [chain.tensor(data.src), chain.tensor(data.diff_dst), chain.tensor(0 * data.src)]
        self._left = self._side("left", whole, (short, n, channels), (0, 0, 0))
        self._right = self._side("right", whole, (steps - short, n_long, channels), (short, 0, 0))
        self.outputs: dict[str, dpnp.ndarray] = {
            "dst_left": self._left.tensors["dst_layer"].to_array(),
            "dst_right": self._right.tensors["dst_layer"].to_array(),
            "diff_src": whole[2].to_array(),
        }
        self._join_forward()
        self._forward()
        self._join_backward()
        self._backward()

    def step(self) -> None:
        """Run forward and backward once; return when ``outputs`` are complete."""
        self._chain.run()

    def _side(self, name: str, whole: list, dims: tuple, offsets: tuple) -> Side:
        chain = self._chain
        # Views of arrays: on GPUs, cells of oneDNN 3.13 ignore the offset of a submemory.
        part = tuple(slice(at, at + n) for at, n in zip(offsets, dims, strict=True))
        src, diff_dst, diff_src = (
            dnnl.Memory.from_array(memory.to_array()[part], chain.engine) for memory in whole
        )
        # oneDNN 3.13 assumes dense rows of src_layer when it computes diff_weights_layer.
        dense = dnnl.MemoryDesc(dims, F32, "tnc")
        tensors = {
            "src_layer": chain.reordered(f"{name} src reorder", src, dense),
            "dst_layer": chain.space(dense),
        }
        return Side(name, tensors, {"diff_src_layer": diff_src, "diff_dst_layer": diff_dst})

    def _describe(self, side: Side, dst_iter: dnnl.MemoryDesc | None) -> dict[str, Any]:
        """Return the parameters that forward and backward have in common."""
        shapes = vars(self._user).items()
        anywhere = {n: dnnl.MemoryDesc(m.desc.dims, F32, "any") for n, m in shapes}
        known = {name: memory.desc for name, memory in side.tensors.items()}
        return known | anywhere | {"dst_iter": dst_iter, "dst_iter_c": dst_iter}

    # --- forward ---

    def _join_forward(self) -> None:
        """Let the right primitive start from the first rows of the left one's last state."""
        chain, left, right = self._chain, self._left, self._right
        # Without src_iter, oneDNN 3.13 computes diff_weights_iter from wrong states: pass zeros.
        start = dnnl.MemoryDesc(self._left_state, F32, "ldnc")
        left.tensors |= {f"src_{state}": chain.zeros(start) for state in STATES}
        left.forward = self._forward_desc(left, dnnl.MemoryDesc(self._left_state, F32, "any"))
        for state in STATES:
            last = chain.space(left.forward.desc_of(f"dst_{state}"))
            left.tensors[f"dst_{state}"] = last
            right.tensors[f"src_{state}"] = last.submemory(self._right_state, (0, 0, 0, 0))
        right.forward = self._forward_desc(right, None)
        for side in (left, right):
            side.tensors["workspace"] = chain.space_if_used(side.forward.workspace_desc)

    def _forward_desc(self, side: Side, dst_iter: dnnl.MemoryDesc | None) -> dnnl.PrimitiveDesc:
        return dnnl.lstm_forward(
            self._chain.engine,
            prop_kind=dnnl.prop_kind.forward_training,
            direction=LEFT_TO_RIGHT,
            **self._describe(side, dst_iter),
            allow_empty=False,
        )

    def _packed(self, when: str, given: Weights, pd: dnnl.PrimitiveDesc) -> Weights:
        """Return the parameters in the layouts that ``pd`` requires."""
        return Weights(
            *(
                self._chain.reordered(f"{when} {name} reorder", memory, pd.desc_of(name))
                for name, memory in vars(given).items()
            )
        )

    def _forward(self) -> None:
        left, right = self._left, self._right
        packed = self._packed("forward", self._user, left.forward)
        self._chain.add("left forward", left.forward, **left.tensors, **vars(packed))
        packed = self._packed("right forward", packed, right.forward)
        self._chain.add("right forward", right.forward, **right.tensors, **vars(packed))

    # --- backward ---

    def _backward_desc(self, side: Side, dst_iter: dnnl.MemoryDesc | None) -> dnnl.PrimitiveDesc:
        forward = {n: d for n, d in self._describe(side, dst_iter).items() if n != "workspace"}
        diffs: dict[str, Any] = {f"diff_{name}": desc for name, desc in forward.items()}
        diffs |= {name: memory.desc for name, memory in side.diffs.items()}
        return dnnl.lstm_backward(
            self._chain.engine,
            prop_kind=dnnl.prop_kind.backward,
            direction=LEFT_TO_RIGHT,
            hint_fwd_pd=side.forward,
            **forward,
            **diffs,
            allow_empty=False,
        )

    def _join_backward(self) -> None:
        """Let the right primitive write the gradient of the state that it started from.

        The left primitive reads it; the rows of the short sentences remain 0.
        """
        chain, left, right = self._chain, self._left, self._right
        left.backward = self._backward_desc(left, dnnl.MemoryDesc(self._left_state, F32, "any"))
        for state in STATES:
            last = chain.zeros(left.backward.desc_of(f"diff_dst_{state}"))
            first = chain.space(left.backward.desc_of(f"diff_src_{state}"))
            left.diffs |= {f"diff_dst_{state}": last, f"diff_src_{state}": first}
            part = last.submemory(self._right_state, (0, 0, 0, 0))
            right.diffs[f"diff_src_{state}"] = part
        right.backward = self._backward_desc(right, None)

    def _backward(self) -> None:
        chain, pd = self._chain, self._left.backward
        packed = self._packed("backward", self._user, pd)
        user = {f"diff_{name}": chain.zeros(m.desc) for name, m in vars(self._user).items()}
        sums = {name: self._sum_for(m, pd.desc_of(name)) for name, m in user.items()}
        for name, memory in sums.items():
            chain.zero(f"zero {name}", memory)
        for side in (self._right, self._left):
            arguments = side.tensors | side.diffs | vars(packed) | sums
            chain.add(f"{side.name} backward", side.backward, **arguments)
        for name, memory in sums.items():
            chain.copy_back(f"{name} reorder", memory, user[name])
            self.outputs[name] = user[name].to_array()

    def _sum_for(self, user: dnnl.Memory, desc: dnnl.MemoryDesc) -> dnnl.Memory:
        """Return the tensor that gradients are added to: ``user``, or one in another layout."""
        return user if user.desc == desc else self._chain.zeros(desc)
