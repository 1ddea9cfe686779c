# SPDX-License-Identifier: Apache-2.0
"""``debug_nans`` names the function that produces the first NaN or infinity, and its line."""

import math

import dpnp
import pytest

import sycl_dnn
from sycl_dnn import functional as F


def array(queue, *values):
    return dpnp.asarray(values, dtype="f4", sycl_queue=queue)


def network(x):
    hidden = F.relu(x)
    ratio = F.log(hidden)  # this line makes minus infinity of 0
    return F.sum(ratio * 2.0)


BLAMED = network.__code__.co_firstlineno + 2


def test_eager_functions_are_named(queue):
    x = array(queue, -1.0, 2.0)
    with sycl_dnn.debug_nans():
        assert float(F.sum(F.relu(x))) == 2
        with pytest.raises(FloatingPointError, match="^log: the result has a NaN") as error:
            F.log(x)
    assert error.value.function == "log"
    assert __file__ in str(error.value)


def test_infinities_are_found(queue):
    with sycl_dnn.debug_nans(), pytest.raises(sycl_dnn.NonFiniteError, match="exp: .*infinity"):
        F.exp(array(queue, 200.0))


def test_nan_arguments_are_not_reported(queue):
    with sycl_dnn.debug_nans():
        assert math.isnan(float(F.sum(array(queue, math.nan, 1.0))))


@pytest.mark.parametrize("how", ["eager", "compiled", "vjp", "grad"])
def test_step_and_line_are_named(how, queue):
    run = {
        "eager": network,
        "compiled": sycl_dnn.compile(network),
        "vjp": lambda x: sycl_dnn.vjp(network, x),
        "grad": sycl_dnn.grad(network),
    }[how]
    x = array(queue, -1.0, 2.0)
    run(x)  # cached calls are checked, too
    with sycl_dnn.debug_nans():
        for _ in range(2):
            with pytest.raises(sycl_dnn.NonFiniteError) as error:
                run(x)
            assert error.value.function == "log"
            assert str(error.value).endswith(f"({__file__}:{BLAMED})")
    run(x)


def test_pullbacks_are_checked(queue):
    def root(x):
        return F.sqrt(x)

    with sycl_dnn.debug_nans():
        y, pullback = sycl_dnn.vjp(root, array(queue, 0.0, 4.0))
        assert float(y[1]) == 2
        with pytest.raises(sycl_dnn.NonFiniteError, match="pullback of root: .*an infinity"):
            pullback(array(queue, 1.0, 1.0))
        assert float(sycl_dnn.grad(lambda x: F.sum(root(x)))(array(queue, 4.0))[0]) == 0.25


def test_bfloat16_and_float16_arrays_are_checked(queue):
    x = sycl_dnn.asarray(array(queue, 0.0), "bfloat16")
    with sycl_dnn.debug_nans(), pytest.raises(sycl_dnn.NonFiniteError, match="^reciprocal"):
        F.reciprocal(x)


@pytest.mark.parametrize("transform", [lambda f: f, sycl_dnn.compile])
def test_functions_in_vmap_are_named(transform, queue):
    mapped = transform(sycl_dnn.vmap(lambda x, y: F.log(x) + y, in_axes=(0, None)))
    with sycl_dnn.debug_nans(), pytest.raises(sycl_dnn.NonFiniteError, match="^log: .*NaN"):
        mapped(array(queue, 1.0, -1.0), array(queue, 0.0))
