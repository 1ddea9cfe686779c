# SPDX-License-Identifier: Apache-2.0
"""Helpers to run a function over traced values."""

import sycl_dnn

TRANSFORMS = {
    "vjp": lambda f, *a: sycl_dnn.vjp(f, *a)[0],
    "compile": lambda f, *a: sycl_dnn.compile(f)(*a),
    "plan": lambda f, *a: sycl_dnn.plan(f, *a)(),
}
