# SPDX-License-Identifier: Apache-2.0
"""Every element-wise operation and every reduction compiles for GPUs, in every supported dtype."""

import dpnp
import pytest
from dpctl.program import create_program_from_spirv

from sycl_dnn import functional as F
from sycl_dnn import ops  # noqa: F401 - registers the operations
from sycl_dnn.ir.node import OPERATIONS, leaf
from sycl_dnn.kernels.elementwise_schedule import ON_GPU, Grid
from sycl_dnn.kernels.expression import REDUCTIONS, WRITERS
from sycl_dnn.kernels.forms import Form, ReductionForm, name_of
from sycl_dnn.kernels.fused_elementwise import module_of
from sycl_dnn.kernels.fused_reduction import reduction_module
from sycl_dnn.kernels.node_expressions import expression_of
from sycl_dnn.kernels.reduction_schedule import ReductionGrid, in_parts, whole_schedule
from sycl_dnn.kernels.scatter import scatter_module, scatter_plan
from sycl_dnn.kernels.two_stages import Stages
from sycl_dnn.lower.expansion import expanded
from sycl_dnn.ops import arithmetic, reduction, selection

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
                if any(node.dtype == "float64" for node in results):
                    continue  # which not all devices have
                classes = (*[kind] * len(inputs), *["1"] * len(results))
                form = Form(expression_of(results, inputs), classes, ON_GPU)
                module_of(form)
            except TypeError:
                continue  # of floating-point numbers, or of integers alone
            yield form


@pytest.mark.parametrize("name", WRITERS)
def test_operation_compiles(name, queue):
    forms = list(_forms(name))
    assert len(forms) >= (2 if name in ("bits", "from_bits") else 6)
    for form in forms:
        program = create_program_from_spirv(queue, module_of(form))
        assert program.get_sycl_kernel(name_of(form)) is not None


#: Nodes of an array (6, 8) that read elements at other positions.
INDEXED = {
    "flip": lambda x: selection.FLIP(x, axes=(0, 1)),
    "border": lambda x: selection.BORDER(x, widths=((2, 1), (1, 2)), mode="reflect"),
    "place": lambda x: selection.pad(x, [(1, 1), (0, 2)]),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", INDEXED)
def test_elements_elsewhere_compile(name, dtype, queue):
    (node,) = expanded([INDEXED[name](leaf("x", (6, 8), dtype))], ())
    expression = expression_of([node], [])
    n_arrays = len(expression.sources) + 1 + expression.n_places
    form = Form(expression, ("n1",) * n_arrays, ON_GPU)
    program = create_program_from_spirv(queue, module_of(form))
    assert program.get_sycl_kernel(name_of(form)) is not None


#: Kept (k) and reduced (r) axes: sizes, and strides of the operand.
GRIDS = {
    "rows": ("kr", (64, 1000), (1000, 1)),
    "short rows": ("kr", (640, 9), (9, 1)),
    "columns": ("rk", (64, 1000), (1000, 1)),
    "all": ("r", (1 << 20,), (1,)),
    "strided": ("krk", (3, 64, 70), (9000, 140, 2)),
}


def _reduction_forms(expression, name):
    """Yield the form of a whole reduction, and those of one in parts."""
    kinds, sizes, strides = GRIDS[name]
    kept = [0 if kind == "r" else 1 for kind in kinds]
    grid = ReductionGrid(sizes, kinds, (strides, tuple(kept)))
    schedule = whole_schedule(grid, len(expression.terms), is_cpu=False)
    yield ReductionForm(expression, kinds, grid.classes(schedule.lanes), schedule)
    if name == "all":
        first = Stages(expression).first
        grid = grid._replace(strides=(strides, *[tuple(kept)] * len(first.results)))
        grid, schedule = in_parts(grid, schedule, 16, len(first.results))
        yield ReductionForm(first, grid.kinds, grid.classes(schedule.lanes), schedule)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reduction_compiles(name, grid, queue):
    for dtype in DTYPES if grid == "rows" else ("float32", "bfloat16", "int64", "bool"):
        if dtype == "bool" and name in ("sum", "prod"):
            continue  # they are added as int64
        x = leaf("x", (8, 8), dtype)
        expression = expression_of([OPERATIONS[name](x, axes=(1,))], [x])
        for form in _reduction_forms(expression, grid):
            program = create_program_from_spirv(queue, reduction_module(form))
            assert program.get_sycl_kernel(name_of(form)) is not None


@pytest.mark.parametrize("grid", ["rows", "short rows", "columns"])
def test_nested_reductions_compile(grid, queue):
    x = leaf("x", (8, 8), "float32")
    powers = arithmetic.EXP(x - reduction.MAX(x, axes=(1,)))
    results = [powers / reduction.SUM(powers, axes=(1,))]
    kinds, sizes, strides = GRIDS[grid]
    form_grid = ReductionGrid(sizes, kinds, (strides, strides))
    schedule = whole_schedule(form_grid, 6, is_cpu=False)
    classes = form_grid.classes(schedule.lanes)
    form = ReductionForm(expression_of(results, [x]), kinds, classes, schedule)
    program = create_program_from_spirv(queue, reduction_module(form))
    assert program.get_sycl_kernel(name_of(form)) is not None


@pytest.mark.parametrize("name", ["sum", "amax", "argmin", "any", "var", "norm", "logsumexp"])
def test_reductions_are_submitted(name, queue):
    x = dpnp.zeros((64, 1000), dtype="i4" if name == "sum" else "f4", sycl_queue=queue)
    for dim in (0, 1):
        assert getattr(F, name)(x, dim=dim).shape == ((1000,), (64,))[dim]
    queue.wait()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("combined", ["", "add", "mul", "maximum"])
def test_scatter_compiles(combined, dtype, queue):
    if combined and dtype == "bool":
        return  # sums of bools are not bool
    for sizes, inner in (((6, 500), ("0", "1")), ((6, 3), ("1", "1")), ((6, 500), ("n", "n"))):
        strides = {"0": 0, "1": 1, "n": 2}
        along = [500] * (3 if combined == "add" else 4)
        of_index, of_values = (strides[kind] for kind in inner)
        rows = [of_index, *[of_values] * (len(along) - 1)]
        grid = Grid((sizes[1],), tuple((s,) for s in rows))
        plan = scatter_plan(
            grid, along, (sizes[0], 9), (dtype, "int64"), combined=combined, is_cpu=False,
            n_processors=64,
        )  # fmt: skip
        program = create_program_from_spirv(queue, scatter_module(plan.form))
        assert program.get_sycl_kernel(plan.form.name) is not None
