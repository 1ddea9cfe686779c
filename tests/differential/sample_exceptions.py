# SPDX-License-Identifier: Apache-2.0
"""Intended differences in PyTorch's samples: values, refusals, and calls that are accepted."""

from __future__ import annotations

import re
from typing import NamedTuple

INTEGERS = ("int64", "int32", "uint8", "int8", "bool")
HALVES = ("bfloat16", "float16")


class Exceptional(NamedTuple):
    """Operators (none: all) and dtypes (none: all) with a reason."""

    reason: str
    #: Of the message or the difference, as a regular expression.
    text: str
    names: str = ""
    dtypes: tuple[str, ...] = ()

    def covers(self, name: str, dtype: str, text: str) -> bool:
        """Whether it explains a text of an operator, whose name may have a variant."""
        names = self.names.split()
        is_named = not names or name in names or any(name.startswith(f"{n}.") for n in names)
        is_of_dtype = not self.dtypes or dtype in self.dtypes
        return is_named and is_of_dtype and re.search(self.text, text) is not None


DIFFERENT = (
    Exceptional("the rank is not determined: A must have full rank", "result [123]:|form:",
                "linalg.lstsq"),
    Exceptional("torch negates unsigned numbers first", "", "nn.functional.softmin", ("uint8",)),
    Exceptional("torch's intermediate values overflow", "special value", "nn.functional."
                "soft_margin_loss nn.functional.grid_sample", HALVES),
    Exceptional("conversions of infinities to integers are not defined", "value", "int long short "
                "char byte"),
    Exceptional("torch rounds small probabilities to 0", "value", "special.ndtr"),
    Exceptional("roundings times the condition", "^value", "linalg.pinv", ("float64",)),
    Exceptional("torch's powers are not numbers", "special value", "matrix_exp linalg.matrix_exp",
                HALVES),
    Exceptional("float32 weights are added in float32 by torch", "value", "cov", ("float64",)),
)  # fmt: skip
REFUSED = (
    Exceptional("shapes or numbers that depend on values", "values of an array are not known|"
                "array with values|inside a compiled function|depends on values"),
    Exceptional("a function that takes no arrays is not compiled", "^call: at least one argument"),
    Exceptional("two numbers are Python's business", "at least one argument must be a dpnp"),
    Exceptional("complex numbers", "must not be complex|floating-point dtype|'nuc'|'nuc'", "",
                ("complex64",)),
    Exceptional("complex numbers beside real ones", "must not be complex", "addcmul addcdiv"),
    Exceptional("complex numbers of float16", "must be float32 or float64", "complex "
                "view_as_complex", ("float16",)),
    Exceptional("layers and losses of integers", "must (have|be an array with) a floating-point",
                "nn.functional.avg_pool1d nn.functional.avg_pool2d nn.functional.avg_pool3d "
                "nn.functional.max_pool1d nn.functional.max_pool2d nn.functional.max_pool3d "
                "nn.functional.conv1d nn.functional.conv2d nn.functional.conv3d "
                "nn.functional.conv_transpose1d nn.functional.conv_transpose2d "
                "nn.functional.conv_transpose3d nn.functional.bilinear nn.functional.interpolate "
                "nn.functional.local_response_norm nn.functional.margin_ranking_loss "
                "nn.functional.pairwise_distance nn.functional.poisson_nll_loss "
                "nn.functional.cosine_embedding_loss nn.functional.triplet_margin_loss "
                "nn.functional.triplet_margin_with_distance_loss", INTEGERS),
    Exceptional("sums of bools", "must not be bool|must be of floats", "addr index_add index_put "
                "scatter scatter_add scatter_reduce nn.functional.unfold", ("bool",)),
    Exceptional("numbers that the dtype cannot hold: torch cuts them off",
                "must (fit|be an integer)", "add sub index_add full full_like new_full baddbmm "
                "addbmm addmm addmv addr masked_fill", INTEGERS),
    Exceptional("matrix norms are computed by oneMKL", "must be float32, float64, complex64",
                "linalg.norm linalg.matrix_norm", HALVES),
    Exceptional("norms of empty matrices", "must not be empty", "linalg.norm"),
    Exceptional("norms of matrices are linalg's", "p must be a number or 'fro'", "norm"),
    Exceptional("numbers of float16 have no bits here", "float64 or bfloat16", "nextafter"),
    Exceptional("an index has 32 or 64 bits", "index must be int32 or int64, got uint8", "gather"),
    Exceptional("as many values as a mask has trues", "a mask must have the first axes",
                "index_put"),
    Exceptional("dpnp's arrays", "separated by basic slicing|Only integers, slices",
                "__getitem__"),
    Exceptional("the variance would become negative", "eps must not be negative",
                "nn.functional.group_norm nn.functional.layer_norm nn.functional.rms_norm"),
    Exceptional("a vector has no channels", r"must have shape \(N, C", "nn.functional.batch_norm"),
    Exceptional("weights are not written, gradients are dense", "must be omitted here",
                "nn.functional.embedding nn.functional.embedding_bag"),
)  # fmt: skip
#: Calls that torch refuses and this package computes.
ACCEPTED = (
    Exceptional("samples of other devices are converted", "same device", "gradient"),
    Exceptional("a number in place of an array",
                "", "__radd__ __rand__ __rdiv__ __rmod__ __rmul__ __ror__ __rpow__ __rsub__ "
                "__rxor__ atan2 gcd lcm clamp_max clamp_min copysign eq fmax fmin fmod ge gt le "
                "ldexp logical_and logical_or logical_xor lt max min maximum minimum ne rsub"),
    Exceptional("no call reads values: NaN, or nothing is written", "out of bounds|negative|"
                "inf|invalid multinomial|sum of probabilities", "gather scatter scatter_add cov "
                "multinomial"),
    Exceptional("there is no such limit", "cannot exceed", "multinomial"),
    Exceptional("the result is copied", "memory location|unsupported operation", "cat take"),
    Exceptional("windows of any floating-point dtype, whatever the layout", "strided tensors|"
                "expects float32 or float64", "signal.windows"),
    Exceptional("rolls by nothing", "Dimension specified as 0", "roll"),
)  # fmt: skip


def reason(table: tuple[Exceptional, ...], name: str, dtype: str, text: str) -> str | None:
    """Return why a text of an operator is expected, or None."""
    return next((row.reason for row in table if row.covers(name, dtype, text)), None)
