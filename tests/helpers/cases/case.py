# SPDX-License-Identifier: Apache-2.0
"""One call of one primitive, as data: enough to build and run it and to know its result."""

import re
import zlib
from dataclasses import dataclass, field, replace

import numpy as np
from conformance.references import reference

from sycl_dnn.tools.cases.call import Call, Tensor

#: Tensors that oneDNN is free to lay out as it likes.
FREE = re.compile(r"(diff_)?weights")
FREE_ROWS = re.compile(r"(de)?convolution|inner_product|matmul|.*(rnn|lstm|gru)")
NUMPY_TYPES = {"f32": np.float32, "s8": np.int8, "u8": np.uint8, "s32": np.int32}


@dataclass(frozen=True, eq=False)
class Case:
    """A primitive with its parameters and the logical dims of all its tensors.

    name : str            unique within the row
    row : str             C++ struct name
    params : dict         oneDNN parameters that are not descriptors; enumeration members as strings
    shapes : dict         dims of every tensor argument, inputs and outputs, except workspaces
    tags : dict           format tag of the arguments whose layout matters; others are free
    forward : dict        backward rows: parameters of the forward row that creates the hint
    ranges : dict         (low, high) of an input's elements; others are in (-1, 1)
    steps : dict          an input's elements are multiples of this
    dtypes : dict         oneDNN data type of the arguments that are not f32
    fault : str           a known fault of oneDNN that affects this case
    faulty : tuple        the outputs that the fault affects; the others can be compared
    """

    name: str
    row: str
    params: dict
    shapes: dict
    tags: dict = field(default_factory=dict)
    forward: dict | None = None
    ranges: dict = field(default_factory=dict)
    steps: dict = field(default_factory=dict)
    dtypes: dict = field(default_factory=dict)
    fault: str = ""
    faulty: tuple = ()

    @property
    def id(self):
        """``row:name``."""
        return f"{self.row}:{self.name}"

    @property
    def output_names(self):
        """The arguments that the primitive writes."""
        if self.forward is not None:
            found = (name for name in self.shapes if re.match(r"diff_(?!dst)", name))
            return tuple(found)
        computes = "use_global_stats" not in self.params.get("flags", ())
        pattern = r"dst|mean|variance" if computes else r"dst"
        return tuple(name for name in self.shapes if re.match(pattern, name))

    @property
    def input_names(self):
        """The arguments that the primitive reads, except the workspace."""
        return tuple(name for name in self.shapes if name not in self.output_names)

    @property
    def forward_case(self):
        """Backward rows: the forward run with its tensors, named without ``diff_``."""
        if self.forward is None:
            return None
        plain = {
            key: {name.removeprefix("diff_"): value for name, value in getattr(self, key).items()}
            for key in ("shapes", "tags", "ranges", "steps", "dtypes")
        }
        row = re.sub(r"_backward.*", "_forward", self.row)
        return replace(
            self, row=row, params=self.forward, forward=None, fault="", faulty=(), **plain
        )

    def call(self, any_weights=True):
        """This case as a call; the layout of weights is oneDNN's choice, or row-major."""
        free = any_weights and FREE_ROWS.match(self.row)
        tensors = {
            name: Tensor(
                dims,
                self.dtypes.get(name, "f32"),
                self.tags.get(name, "any" if free and FREE.match(name) else None),
            )
            for name, dims in self.shapes.items()
        }
        if "layer_norm" in self.row and not {"mean", "variance"} & tensors.keys():
            tensors["mean"] = Tensor(self.shapes["src"][:-1])  # describes what is not kept
        forward = self.forward_case and self.forward_case.call(any_weights)
        facts = {"accumulates": lambda name: "weights_iter" in self.shapes}
        return Call(self.row, self.row, self.params, tensors, forward=forward, facts=facts)

    def inputs(self, seed=0):
        """Random input arrays; see `draw_inputs`."""
        return draw_inputs(self, seed)

    def expected(self, arrays):
        """The expected outputs for these inputs: float64, by argument name."""
        results = reference(self.row, self.params, arrays, self.shapes)
        return {name: results[name] for name in self.output_names}


def _draw(case, name, seed):
    """One random array; it depends only on the case, the argument and the seed."""
    key = zlib.crc32(f"{case.name}:{name}".encode())
    rng = np.random.default_rng((seed, key))
    low, high = case.ranges.get(name, (-1.0, 1.0))
    shape, dtype = case.shapes[name], NUMPY_TYPES[case.dtypes.get(name, "f32")]
    if name not in case.steps:
        return rng.uniform(low, high, shape).astype(dtype)
    step = case.steps[name]
    counts = rng.integers(round(low / step), round(high / step), shape, endpoint=True)
    return (counts * step).astype(dtype)


def draw_inputs(case, seed=0):
    """Deterministic random inputs of a case: NumPy arrays by argument name.

    For a backward row there are more arrays than it reads: all inputs of the forward run are
    included, since a caller that needs its workspace must run it. What the forward run writes and
    the backward row reads (``dst`` of softmax, ``mean``, ``dst_layer``) is computed from them by
    the reference.
    """
    forward = case.forward_case
    if forward is None:
        return {name: _draw(case, name, seed) for name in case.input_names}
    arrays = draw_inputs(forward, seed)
    results = forward.expected(arrays)
    for name in case.input_names:
        if name in results:
            arrays[name] = results[name].astype(np.float32)
        elif name not in arrays:
            arrays[name] = _draw(case, name, seed)
    return arrays


def backward_of(case, row, shapes, params, **changes):
    """The backward case of a forward one, whose faults it does not inherit."""
    changes = {"fault": "", "faulty": ()} | changes
    return replace(case, row=row, params=params, shapes=shapes, forward=case.params, **changes)


def without(mapping, *names):
    """A copy of a dict without these keys."""
    return {key: value for key, value in mapping.items() if key not in names}
