# SPDX-License-Identifier: Apache-2.0
"""Values of small ONNX models, loaded and compiled, beside those of ONNX's reference."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx.reference import ReferenceEvaluator

import sycl_dnn


def check_values(model: Any, shapes: Mapping[str, tuple[int, ...]], **tolerances: float) -> Any:
    """Compare a model of drawn inputs, loaded and compiled; return what ``explain`` reports."""
    rng = np.random.default_rng(0)
    given = {name: rng.standard_normal(shape).astype("f4") for name, shape in shapes.items()}
    net = sycl_dnn.onnx.load(model)
    expected = ReferenceEvaluator(model).run(None, given)[0]
    np.testing.assert_allclose(net(**given).asnumpy(), expected, **tolerances)
    arrays = {name: sycl_dnn.asarray(value) for name, value in given.items()}
    compiled = sycl_dnn.compile(net)
    np.testing.assert_allclose(compiled(**arrays).asnumpy(), expected, **tolerances)
    return compiled.explain(**arrays)
