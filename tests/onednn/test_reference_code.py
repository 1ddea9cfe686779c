# SPDX-License-Identifier: Apache-2.0
"""Warnings about slow reference implementations: once each, with a faster alternative."""

import warnings

import pytest
from descriptors import require_isa
from fresh_process import output

import sycl_dnn
from sycl_dnn import onednn as dnnl
from sycl_dnn.onednn import reference_code

POOL = {"strides": (2, 2), "kernel": (2, 2), "dilation": (0, 0)}
POOL |= {"padding_l": (0, 0), "padding_r": (0, 0)}
CONVOLUTION = {"strides": (1, 1), "padding_l": (1, 1), "padding_r": (1, 1)}
INFERENCE = dnnl.prop_kind.forward_inference


@pytest.fixture
def engine(monkeypatch):
    monkeypatch.setattr(reference_code, "_warned", set())
    monkeypatch.setattr(reference_code, "_asked", set())
    return dnnl.Engine(sycl_dnn.default_queue("cpu"))


def integer_convolution(engine, n=8, layout="abcd"):
    """Return a convolution of bytes, which has no compiled kernel for row-major images."""
    src, dst = (dnnl.MemoryDesc((n, 64, 32, 32), t, layout) for t in ("u8", "u8"))
    weights = dnnl.MemoryDesc((64, 64, 3, 3), "s8", "any")
    return dnnl.convolution_forward(
        engine, prop_kind=INFERENCE, algorithm=dnnl.algorithm.convolution_direct,
        src=src, weights=weights, dst=dst, **CONVOLUTION,
    )  # fmt: skip


def reduction(engine, axis=1):
    shape = [8, 64, 64, 64]
    src = dnnl.MemoryDesc(shape, "f32")
    shape[axis] = 1
    dst = dnnl.MemoryDesc(shape, "f32")
    return dnnl.reduction(engine, algorithm=dnnl.algorithm.reduction_sum, src=src, dst=dst)


def group_norm_gradient(engine):
    d = dnnl.MemoryDesc((8, 64, 64, 64), "f32")
    same = {"groups": 8, "epsilon": 1e-5, "flags": dnnl.normalization_flags.none}
    training = dnnl.prop_kind.forward_training
    hint = dnnl.group_normalization_forward(engine, prop_kind=training, src=d, dst=d, **same)
    return dnnl.group_normalization_backward(
        engine, prop_kind=dnnl.prop_kind.backward_data, diff_src=d, diff_dst=d, src=d,
        hint_fwd_pd=hint, **same,
    )  # fmt: skip


def integer_pool(engine, layout="abcd"):
    src, dst = (dnnl.MemoryDesc((8, 64, n, n), "s32", layout) for n in (128, 64))
    return dnnl.pooling_forward(
        engine, prop_kind=INFERENCE, algorithm=dnnl.algorithm.pooling_max, src=src, dst=dst, **POOL
    )


def deconvolution_in_place(engine):
    src = dnnl.MemoryDesc((8, 64, 32, 32), "f32")
    weights = dnnl.MemoryDesc((64, 64, 3, 3), "f32")
    return dnnl.deconvolution_forward(
        engine, prop_kind=INFERENCE, algorithm=dnnl.algorithm.deconvolution_direct,
        src=src, weights=weights, dst=src, **CONVOLUTION,
    )  # fmt: skip


#: On every CPU, and what the message must propose.
SLOW = {
    integer_convolution: "the layouts that oneDNN chooses",
    integer_pool: "channels-last tensors",
    reduction: "functional's sum, mean",
    group_norm_gradient: "functional's group_norm",
    deconvolution_in_place: "the layouts that oneDNN chooses",
}


@pytest.mark.parametrize("make", SLOW, ids=lambda make: make.__name__)
def test_the_warning_names_a_faster_alternative(make, engine):
    with pytest.warns(sycl_dnn.ReferenceWarning) as every:
        pd = make(engine)
    # 8-bit products that saturate on this CPU are warned about, too.
    said = [w for w in every if issubclass(w.category, sycl_dnn.ReferenceWarning)]
    assert len(said) == 1
    text = str(said[0].message)
    assert text.startswith(f"{pd.name}: oneDNN runs its slow reference implementation (")
    assert pd.impl_info in text
    assert SLOW[make] in text
    assert dnnl.get_effective_cpu_isa().name in text
    assert said[0].filename == __file__


def test_each_kind_is_warned_about_once(engine):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for n in (8, 8, 16):
            integer_convolution(engine, n)
    assert sum(issubclass(w.category, sycl_dnn.ReferenceWarning) for w in said) == 1


def test_warnings_can_be_filtered(engine):
    with warnings.catch_warnings():
        warnings.simplefilter("error", sycl_dnn.ReferenceWarning)
        with pytest.raises(sycl_dnn.ReferenceWarning, match="faster is"):
            reduction(engine)


def small_pool(engine):
    src, dst = (dnnl.MemoryDesc((1, 8, n, n), "s32") for n in (8, 4))
    return dnnl.pooling_forward(
        engine, prop_kind=INFERENCE, algorithm=dnnl.algorithm.pooling_max, src=src, dst=dst, **POOL
    )


def empty(engine):
    d = dnnl.MemoryDesc((0, 64, 64, 64), "f32")
    return dnnl.eltwise_forward(
        engine, prop_kind=INFERENCE, algorithm=dnnl.algorithm.eltwise_relu, src=d, dst=d
    )


def shuffle(engine):
    d = dnnl.MemoryDesc((8, 64, 64, 64), "f32")
    return dnnl.shuffle_forward(engine, prop_kind=INFERENCE, src=d, dst=d, axis=1, group_size=4)


def unknown_rows(engine):
    n = dnnl.RUNTIME_DIM_VAL
    src, dst = (dnnl.MemoryDesc((n, 512), "f32", (n, 1)) for _ in range(2))
    return dnnl.matmul(engine, src=src, weights=dnnl.MemoryDesc((512, 512), "f32"), dst=dst)


def double_product(engine):
    d = dnnl.MemoryDesc((8, 512, 512), "f32")
    return dnnl.matmul(engine, src=d, weights=d, dst=d)


QUIET = [
    small_pool, empty, shuffle, unknown_rows, double_product,
    lambda engine: reduction(engine, 3),
    lambda engine: integer_pool(engine, "acdb"),
    lambda engine: integer_convolution(engine, layout="acdb"),
]  # fmt: skip


@pytest.mark.parametrize("make", QUIET)
def test_small_or_fast_primitives_give_no_warning(make, engine, recwarn):
    make(engine)
    assert not [w for w in recwarn if w.category is sycl_dnn.ReferenceWarning]


def test_no_warning_if_no_implementation_is_faster(engine, monkeypatch, recwarn):
    monkeypatch.setattr(reference_code, "_FUNCTIONS", {})
    pd = reduction(engine)
    assert reference_code.is_slow_reference(pd.name, pd.impl_info)
    assert not recwarn


#: The step of an AlexNet on a CPU without AVX-512: primitives, then the function.
GRADIENTS = """
import warnings, dpnp, sycl_dnn
from sycl_dnn import functional as F, onednn as dnnl
queue = sycl_dnn.default_queue("cpu")
engine, d = dnnl.Engine(queue), dnnl.MemoryDesc((8, 96, 27, 27), "f32")
lrn = {"algorithm": "lrn_across_channels", "local_size": 5, "alpha": 1e-4, "beta": 0.75, "k": 1.0}
softmax = {"algorithm": "softmax_accurate", "axis": 1}
warnings.simplefilter("ignore", sycl_dnn.OneDnnFaultWarning)
for _ in range(2):
    hint = dnnl.lrn_forward(engine, prop_kind="forward_training", src=d, dst=d, **lrn)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", sycl_dnn.ReferenceWarning)
        dnnl.lrn_backward(engine, diff_src=d, diff_dst=d, src=d, hint_fwd_pd=hint, **lrn)
    print(*(w.message for w in said))
    hint = dnnl.softmax_forward(engine, prop_kind="forward_training", src=d, dst=d, **softmax)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", sycl_dnn.ReferenceWarning)
        dnnl.softmax_backward(engine, diff_src=d, diff_dst=d, dst=d, hint_fwd_pd=hint, **softmax)
    print(*(w.message for w in said))
warnings.simplefilter("error", sycl_dnn.ReferenceWarning)
x = dpnp.ones((8, 96, 27, 27), dtype="f4", sycl_queue=queue)
for function in (lambda x: F.local_response_norm(x, 5), lambda x: F.softmax(x, 1)):
    sycl_dnn.compile(lambda x: sycl_dnn.vjp(function, x)[1](x))(x)
print("functions are silent")
"""


@pytest.mark.slow
@pytest.mark.parametrize("isa", ["sse41", "avx2"])
def test_gradients_that_need_avx512(isa):
    require_isa(isa)
    lines = output(GRADIENTS, ONEDNN_MAX_CPU_ISA=isa.upper()).split("\n")
    assert "local_response_norm and its gradient" in lines[0]
    assert "softmax or log_softmax and its gradient" in lines[1]
    assert isa in lines[0]
    assert lines[2:] == ["", "", "functions are silent"]
