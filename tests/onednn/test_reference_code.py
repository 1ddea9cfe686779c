# SPDX-License-Identifier: Apache-2.0
"""Warnings about slow reference implementations: once each, with a faster alternative."""

import warnings

import pytest
from descriptors import require_isa
from fresh_process import output
from primitive_cases import call_of

import sycl_dnn
from sycl_dnn import onednn as dnnl
from sycl_dnn.onednn import reference_code
from sycl_dnn.tools.cases.call import parameters


@pytest.fixture
def engine(monkeypatch):
    monkeypatch.setattr(reference_code, "_warned", set())
    monkeypatch.setattr(reference_code, "_asked", set())
    return dnnl.Engine(sycl_dnn.default_queue("cpu"))


CONVOLUTION = "--conv --dir=FWD_I --dt=u8:s8:u8 --stag={0} --dtag={0} mb{1}ic64ih32oc64oh32kh3ph1"
POOL = "--pool --dir=FWD_I --dt=s32 --tag={} mb8ic64ih128oh64kh2sh2ph0"
REDUCTION = "--reduction 8x64x64x64:8x1x64x64"
#: Slow on every CPU, and what the message must propose.
SLOW = {
    CONVOLUTION.format("abcd", 8): "the layouts that oneDNN chooses",
    POOL.format("abcd"): "channels-last tensors",
    REDUCTION: "functional's sum, mean",
    "--gnorm --dir=BWD_D g8mb8ic64ih64": "functional's group_norm",
    "--deconv --dir=FWD_I --wtag=abcd mb8ic64ih32oc64oh32kh3ph1": "the layouts that oneDNN chooses",
}


def make(line, engine):
    """Return a descriptor as users make it: from outside of the package."""
    call, hint = call_of(line), None
    if call.forward:
        hint = getattr(dnnl, call.forward.row)(engine, **parameters(call.forward, None))
    return getattr(dnnl, call.row)(engine, **parameters(call, hint))


@pytest.mark.parametrize("line", SLOW)
def test_the_warning_names_a_faster_alternative(line, engine):
    with pytest.warns(sycl_dnn.ReferenceWarning) as every:
        pd = make(line, engine)
    # 8-bit products that saturate on this CPU are warned about, too.
    said = [w for w in every if issubclass(w.category, sycl_dnn.ReferenceWarning)]
    assert len(said) == 1
    text = str(said[0].message)
    assert text.startswith(f"{pd.name}: oneDNN runs its slow reference implementation (")
    assert pd.impl_info in text
    assert SLOW[line] in text
    assert dnnl.get_effective_cpu_isa().name in text
    assert said[0].filename == __file__


def test_each_kind_is_warned_about_once(engine):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for n in (8, 8, 16):
            make(CONVOLUTION.format("abcd", n), engine)
    assert sum(issubclass(w.category, sycl_dnn.ReferenceWarning) for w in said) == 1


def test_warnings_can_be_filtered(engine):
    with warnings.catch_warnings():
        warnings.simplefilter("error", sycl_dnn.ReferenceWarning)
        with pytest.raises(sycl_dnn.ReferenceWarning, match="faster is"):
            make(REDUCTION, engine)


def unknown_rows(engine):
    n = dnnl.RUNTIME_DIM_VAL
    src, dst = (dnnl.MemoryDesc((n, 512), "f32", (n, 1)) for _ in range(2))
    return dnnl.matmul(engine, src=src, weights=dnnl.MemoryDesc((512, 512), "f32"), dst=dst)


QUIET = (
    "--pool --dir=FWD_I --dt=s32 mb1ic8ih8oh4kh2sh2ph0", "--prelu --dir=FWD_I 0x64x64x64:1x64x1x1",
    "--shuffle --dir=FWD_I --axis=1 --group=4 8x64x64x64", "--matmul 8x512x512:8x512x512",
    "--reduction 8x64x64x64:8x64x64x1", POOL.format("acdb"), CONVOLUTION.format("acdb", 8),
)  # fmt: skip


@pytest.mark.parametrize("line", QUIET)
def test_small_or_fast_primitives_give_no_warning(line, engine, recwarn):
    make(line, engine)
    assert not [w for w in recwarn if w.category is sycl_dnn.ReferenceWarning]


def test_unknown_sizes_give_no_warning(engine, recwarn):
    unknown_rows(engine)
    assert not [w for w in recwarn if w.category is sycl_dnn.ReferenceWarning]


def test_no_warning_if_no_implementation_is_faster(engine, monkeypatch, recwarn):
    monkeypatch.setattr(reference_code, "_FUNCTIONS", {})
    pd = make(REDUCTION, engine)
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
