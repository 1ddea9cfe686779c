# SPDX-License-Identifier: Apache-2.0
"""Errors for functions that cannot be compiled."""

import dpnp
import numpy as np
import pytest
from arithmetic import lacks
from comparing import assert_same

import sycl_dnn
from sycl_dnn import FallbackWarning, Unimplemented
from sycl_dnn import functional as F


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda x: x if x.sum() > 0 else -x, r"x if x.sum\(\) > 0 else -x.*must not depend on"),
        (lambda x: x * x.max().item(), r"item\(\).*not known"),
        (lambda x: x * float(x[0, 0]), r"float\(\).*not known"),
        (lambda x: x[x > 0], r"shape depends on values.*where"),
        (lambda x: np.tanh(x), "numpy.tanh accepts no traced arrays; use sycl_dnn.functional.tanh"),
        (
            lambda x: dpnp.reshape(x, -1),
            r"dpnp.reshape accepts no traced arrays; use sycl_dnn.functional.reshape",
        ),
        (lambda x: dpnp.exp(x), r"dpnp.exp accepts no traced arrays; use sycl_dnn.functional.exp"),
        (lambda x: object(), "must return arrays"),
    ],
)
def test_untraceable_functions_are_reported(function, said, make):
    compiled = sycl_dnn.compile(function)
    for _ in range(2):
        with pytest.raises(TypeError, match=said):
            compiled(make(3, 4))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_unsupported_dtype_falls_back_to_float32_with_a_warning(dtype, make, queue):
    x, w = make(4, 32), make(8, 32)

    def lowered(a):
        return F.relu(F.linear(a, w))

    lowered.__name__ = f"lowered_to_{dtype}"
    compiled = sycl_dnn.compile(lowered, dtype=dtype)
    if lacks(queue, {"bfloat16": "bf16", "float16": "f16"}[dtype]):
        with pytest.raises(Unimplemented, match=f"no arithmetic of {dtype}"):
            sycl_dnn.compile(lowered, dtype=dtype, fallback="error")(x)
        with pytest.warns(FallbackWarning, match=f"{lowered.__name__}: .*no arithmetic of {dtype}"):
            compiled(x)
        assert_same(compiled(x), lowered(x))
        assert compiled.explain(x).n_steps == 1
    else:
        assert_same(compiled(x), lowered(x), 2e-2)
        assert np.abs(dpnp.asnumpy(compiled(x)) - dpnp.asnumpy(lowered(x))).max() > 1e-4
    assert compiled(x).dtype == "float32"


def test_compile_checks_its_arguments():
    for options in ({"dtype": "int8"}, {"cache_size": 0}, {"fallback": "never"}):
        with pytest.raises(ValueError, match="compile: "):
            sycl_dnn.compile(lambda x: x, **options)
    with pytest.raises(TypeError, match="at least one argument must be"):
        sycl_dnn.compile(lambda x: x)(3)


def test_gradients_of_functions_with_their_own_dtype_are_refused(make, queue):
    one = dpnp.ones((), dtype="f4", sycl_queue=queue)

    def loss(x, w):
        return F.mean(F.square(F.linear(x, w)))

    def step(*args):
        return sycl_dnn.vjp(loss, *args)[1](one)

    args = make(8, 16), make(12, 16)
    with pytest.raises(TypeError, match="vjp: a function compiled with its own dtype"):
        sycl_dnn.compile(step, dtype="bfloat16")(*args)
    with pytest.raises(ValueError, match=r"pullback: dy must have shape \(\) and dtype float32"):
        sycl_dnn.compile(lambda *a: sycl_dnn.vjp(loss, *a)[1](a[0]))(*args)
