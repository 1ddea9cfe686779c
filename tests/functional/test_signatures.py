# SPDX-License-Identifier: Apache-2.0
"""Names, order, kinds and defaults of parameters, compared with torch's."""

import inspect
import json
import operator
import re

import pytest
import torch_signatures

from sycl_dnn import functional as F

TORCH, EMPTY = torch_signatures.stored(), inspect.Parameter.empty
#: Names that torch lacks or uses for something else.
OWN = {
    "QuantizedTensor", "asarray", "astype", "bce_with_logits", "dequantize", "expand",
    "linear_recurrence",
    "PackedSequence", "nms", "pack_padded_sequence", "pad_packed_sequence", "roi_align",
    "quantize",
    "quantize_dynamic", "quantized_conv1d", "quantized_conv2d", "quantized_conv3d",
    "quantized_linear", "quantized_matmul",
}  # fmt: skip
#: torch's have several overloads, or memory parameters that are meaningless here.
SEVERAL = {"arange", "bernoulli", "empty", "eye", "full", "linspace", "ones", "rand", "randint",
           "randn", "randperm", "std_mean", "tensor_split",
           "tensordot", "unique", "var_mean", "zeros"}  # fmt: skip
#: torch's are internal and take no defaults: all weights in one list, flags by position.
SEQUENCES = {"gru", "lstm", "rnn_relu", "rnn_tanh"}
#: (function, parameter): torch's default, ours, and why they differ.
DEFAULTS = {
    **{(n, "dim"): (inspect.Parameter.empty, None, "torch has a form without dim, too")
       for n in ("all", "any", "count_nonzero", "max", "mean", "median", "min",
                 "nanmedian", "prod", "squeeze", "sum")},
    **{(n, "correction"): (None, 1, "None stands for 1") for n in ("std", "var")},
    ("round", "decimals"): (inspect.Parameter.empty, 0, "torch has a form without, too"),
    ("div", "rounding_mode"): (inspect.Parameter.empty, None, "torch has a form without, too"),
    ("linalg.matrix_norm", "ord"): (inspect.Parameter.empty, "fro", "another form's default"),
}  # fmt: skip
#: By name only here, since torch has an internal parameter before it.
BY_NAME = {(n, "dtype") for n in ("softmax", "log_softmax", "softmin")}
#: Our parameters that torch has in another form, and torch's that are meaningless here.
ADDED = {**{n: {"seed"} for n in ("dropout", "dropout1d", "dropout2d", "dropout3d",
                                  "alpha_dropout", "feature_alpha_dropout", "gumbel_softmax")},
         "sort": {"stable"}, "argsort": {"stable"},
         "nonzero": {"as_tuple"}, "scatter": {"reduce"}}  # fmt: skip
_OF_MEMORY = {"device", "layout", "memory_format", "pin_memory"}
MISSING = {
    "norm": {"dtype"},
    "multinomial": {"generator"},
    "linalg.svd": {"driver"},
    "linalg.svdvals": {"driver"},
} | dict.fromkeys(
    ("empty_like", "full_like", "ones_like", "rand_like", "randn_like", "zeros_like"), _OF_MEMORY
)
#: Every function takes ``out``, by name.
ANYWHERE = {"out", "_stacklevel"}


def _rows(signature):
    """Return rows (name, whether by name only, default); a parameter without default has EMPTY."""
    return [(*row[:2], row[2] if len(row) > 2 else EMPTY) for row in signature
            if row[0] not in ANYWHERE]  # fmt: skip


#: ``torch.linalg``'s own pages name the operand so, the schemas ``input``.
OPERANDS = {f"linalg.{n}": "x" if n == "vector_norm" else "A" for n in F.linalg.__all__}
OPERANDS |= {f"fft.{n}": "input" for n in F.fft.__all__ if not n.endswith("freq")}
FUNCTIONS = (set(F.__all__) - OWN - SEQUENCES - SEVERAL) | set(OPERANDS)


def test_parameters_match_torch():
    for name in sorted(FUNCTIONS):
        mine, theirs = _parameters(name)
        assert mine == theirs, name


def _parameters(name):
    """Return the parameters of a function here, and those of torch's as listed differences say."""
    theirs = _rows(TORCH["functions"][name])
    mine = _rows(torch_signatures.signature(operator.attrgetter(name)(F)))
    if name in OPERANDS:
        theirs = [(OPERANDS[name] if row[0] == "input" else row[0], *row[1:]) for row in theirs]
    theirs = [row for row in theirs if row[0] not in MISSING.get(name, ())]
    mine = [row for row in mine if row[0] not in ADDED.get(name, ())]
    for index, (parameter, keyword, default) in enumerate(theirs):
        if (name, parameter) in DEFAULTS:
            expected, instead, _ = DEFAULTS[name, parameter]
            assert default == expected, f"{name}: {parameter} is an exception no longer"
            theirs[index] = (parameter, keyword, instead)
        if (name, parameter) in BY_NAME:
            theirs[index] = (parameter, True, default)
    return mine, theirs


def test_exceptions_are_needed():
    assert OWN & set(TORCH["names"]) == {"asarray", "dequantize"}
    listed = OWN | SEQUENCES | SEVERAL | set(torch_signatures.FORMS) | set(ADDED) | set(MISSING)
    assert set(F.__all__) | set(OPERANDS) >= listed


def test_stored_signatures_match_the_installed_torch():
    torch = pytest.importorskip("torch")
    result = torch_signatures.made(torch)
    # As stored in the file: a list instead of a tuple.
    assert json.loads(json.dumps(result)) == TORCH


@pytest.mark.parametrize("rank", [1, 3])
@pytest.mark.parametrize("stem", sorted(n[:-2] for n in F.__all__ if f"{n[:-2]}2d" in F.__all__
                                        and n.endswith("1d") and "quantized" not in n))  # fmt: skip
def test_functions_of_1d_and_3d_document_their_own_shapes(stem, rank):
    function = getattr(F, f"{stem}{rank}d")
    text = inspect.getdoc(function)
    shape = {1: "(N, C, W)", 3: "(N, C, D, H, W)"}[rank]
    assert shape in text
    assert "(N, C, H, W)" not in text
    assert f"{stem}2d" not in text
    assert (re.search(r"\bK?H\b", text) is None) == (rank == 1)
    for section in ("Parameters", "Returns", "Raises", "Notes"):
        assert f"\n{section}\n---" in text
    described = re.findall(r"^([\w, ]+) : ", text.split("Returns\n---")[0], re.MULTILINE)
    described = {n for line in described for n in line.split(", ")}
    assert described | {"stride", "groups", "dilation"} >= set(
        inspect.signature(function).parameters
    )
    assert described <= set(inspect.signature(function).parameters)
