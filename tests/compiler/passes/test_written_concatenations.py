# SPDX-License-Identifier: Apache-2.0
"""Concatenated values are written in place where oneDNN can, and copied otherwise."""

import pytest
from comparing import compiled_as_eager, slow_parts

from sycl_dnn import functional as F

TOLERANCE = {None: 2e-5, "bfloat16": 5e-2}


def _features(x, w):
    return F.cat([F.relu(F.linear(x, w)), F.tanh(F.linear(x, w * 2.0))], -1) * 2.0


def _with_an_argument(x, w):
    return F.cat([x, F.relu(F.linear(x, w))], -1)


def _read_by_others(x, w):
    y = F.relu(F.linear(x, w))
    return F.linear(F.cat([y, F.tanh(F.linear(y, w))], -1), F.cat([w, w], 1))


def _along_rows(x, w):
    return F.cat([F.linear(x, w), F.gelu(F.linear(x, w)), x], 0)


def _twice(x, w):
    y = F.relu(F.linear(x, w))
    return F.cat([y, F.gelu(F.linear(y, w)), y], -1)


def _nested(x, w):
    y, z = F.relu(F.linear(x, w)), F.gelu(F.linear(x, w.T))
    both = F.cat([y, z], -1)
    return F.cat([both * 2.0, F.tanh(F.linear(z, w))], -1), F.softmax(both, -1)


def _returned_as_well(x, w):
    y = F.relu(F.linear(x, w))
    return y, F.cat([y, F.gelu(F.linear(x, w.T))], -1)


def _of_views(x, w):
    y, z = F.relu(F.linear(x, w)), F.gelu(F.linear(x, w.T))
    return F.cat([y[:, :5], z.T[:, :3].T[:, :7] if len(x) < 3 else z[:, 3:]], 1)


def _in_two(x, w):
    y, z = F.relu(F.linear(x, w)), F.gelu(F.linear(x, w.T))
    return F.cat([x, y], -1), F.cat([y, z], -1) * 2.0


def _accumulated_later(x, w):
    y = F.linear(x, w)
    both = F.cat([x, y], 0)
    # oneDNN adds to ``y`` in place, which ``both`` must not have as a part then.
    return both * 2.0, F.linear(F.linear(x, w.T) + y, w)


def _written(report):
    return sum("writes its part" in text for part in report.parts for text in part.fused)


@pytest.mark.parametrize(
    ("function", "n_written"),
    [(_features, 2), (_with_an_argument, 1), (_read_by_others, 2), (_along_rows, 2), (_twice, 1),
     (_nested, None), (_returned_as_well, 1), (_of_views, 0), (_in_two, 2),
     (_accumulated_later, None)],
)  # fmt: skip
@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("dtype", [None, "bfloat16"])
@pytest.mark.sweep(6)
def test_parts_are_written_in_place(function, n_written, rows, dtype, make, queue):
    w, x = make(16, 16) / 4, make(rows, 16)
    options = {"dtype": dtype, "tolerance": TOLERANCE[dtype]}
    report = compiled_as_eager(lambda a: function(a, w), x, **options)
    if n_written is not None and not (rows < 3 and function is _of_views):
        # In bfloat16 the conversion of the argument also writes in place.
        has_conversion = dtype is not None and function not in (_features, _read_by_others)
        # For results with gaps, AMX needs another layout of the weights.
        n_refused = sum("another layout" in text for part in report.parts for text in part.refused)
        n_least = n_written - n_refused
        assert n_least <= _written(report) <= n_written + has_conversion, str(report)
    off = {"write_into_parts": False}
    apart = compiled_as_eager(lambda a: function(a, w), x, **options, passes=off)
    assert not _written(apart)
    assert not slow_parts(report, queue) or report.slow == apart.slow, str(report)


def test_convolutions_keep_fast_implementations(make, queue):
    w, x = make(8, 8, 3, 3) / 8, make(2, 8, 6, 6)

    def skip(a):
        y = F.relu(F.conv2d(a, w, padding=1))
        return F.cat([y, F.relu(F.conv2d(y, w, padding=1))], 1)

    report = compiled_as_eager(skip, x)
    assert not slow_parts(report, queue), str(report)
    assert _written(report) == 2, str(report)  # as channels-last rows of both


def test_vertically_stacked_images_are_written_in_one_step(make, queue):
    w, x = make(8, 8, 3, 3) / 8, make(1, 8, 6, 6)

    def stacked(a):
        y = F.relu(F.conv2d(a, w, padding=1))
        return F.relu(F.cat([y, F.relu(F.conv2d(y, w, padding=1))], 2))

    report = compiled_as_eager(stacked, x)
    assert _written(report) == 2, str(report)
    assert not slow_parts(report, queue)
