# SPDX-License-Identifier: Apache-2.0
"""Every element-wise operation compiles for GPUs, in every dtype that it takes."""

import pytest
from dpctl.program import create_program_from_spirv

from sycl_dnn import ops  # noqa: F401 - registers the operations
from sycl_dnn.ir.node import OPERATIONS, leaf
from sycl_dnn.kernels.expression import WRITERS, expression_of
from sycl_dnn.kernels.fused_elementwise import ON_GPU, Form, module_of, name_of

DTYPES = ("float32", "float16", "bfloat16", "int8", "uint8", "int32", "int64", "bool")


def _node(name, dtype):
    x, y = leaf("x", (8,), dtype), leaf("y", (8,), dtype)
    operation = OPERATIONS[name]
    if name == "cast":
        return [operation(x, dtype=to) for to in DTYPES if to != dtype], [x]
    if name == "where":
        condition = leaf("c", (8,), "bool")
        return [operation(condition, x, y)], [condition, x, y]
    try:
        return [operation(x, y)], [x, y]
    except ValueError:
        return [operation(x)], [x]


def _forms(name):
    """Yield the operation in every dtype that it takes, over dense arrays and over others."""
    for dtype in DTYPES:
        for kind in ("1", "n"):
            try:
                results, inputs = _node(name, dtype)
                classes = (*[kind] * len(inputs), *["1"] * len(results))
                form = Form(expression_of(results, inputs), classes, ON_GPU)
                module_of(form)
            except TypeError:
                continue  # of floating-point numbers, or of integers alone
            yield form


@pytest.mark.parametrize("name", WRITERS)
def test_operation_compiles(name, queue):
    forms = list(_forms(name))
    assert len(forms) >= 6
    for form in forms:
        program = create_program_from_spirv(queue, module_of(form))
        assert program.get_sycl_kernel(name_of(form)) is not None
