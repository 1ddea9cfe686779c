# SPDX-License-Identifier: Apache-2.0
"""Steps for which oneDNN has only its reference on GPUs: docs/gpu_dispatch.md.

These fail when it offers more, so that ``functional`` can take it.
"""

import pytest

from sycl_dnn import onednn as dnnl
from sycl_dnn.device import usable_devices

T, FLAG, PROP = dnnl.data_type, dnnl.normalization_flags, dnnl.prop_kind
REFERENCES = {"ocl:ref:any", "ocl:reusable:ref"}
WEIGHTS = FLAG.use_scale | FLAG.use_shift


def offered(pd):
    """Names of all implementations."""
    names = [pd.impl_info]
    while pd.next_impl():
        names.append(pd.impl_info)
    return set(names)


@pytest.fixture
def older(gpu):
    """GPUs before Xe-HPC."""
    name = usable_devices("gpu")[0].name
    if any(kind in name for kind in ("Xe-HPC", "Xe2")):
        pytest.skip(f"{name}: oneDNN has an optimized implementation from Xe-HPC on")


@pytest.mark.usefixtures("older")
@pytest.mark.parametrize("flags", [FLAG.none, WEIGHTS, WEIGHTS | FLAG.use_global_stats], ids=str)
@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize(
    ("dims", "tags"), [((4096, 1024), ("ab", "ba")), ((32, 128, 768), ("abc", "acb", "bac"))]
)
def test_gradient_of_layer_norm_has_reference_kernels_alone(dims, tags, dtype, flags, stream):
    engine, stat = stream.engine, dnnl.MemoryDesc(dims[:-1], T.f32)
    common = {"stat": stat, "flags": flags, "epsilon": 1e-5}
    for tag in tags:
        x = dnnl.MemoryDesc(dims, T[dtype], dnnl.format_tag[tag])
        forward = dnnl.layer_normalization_forward(
            engine, prop_kind=PROP.forward_training, src=x, dst=x, **common
        )
        for result in (x, dnnl.MemoryDesc(dims, T[dtype], dnnl.format_tag.any)):
            pd = dnnl.layer_normalization_backward(
                engine, prop_kind=PROP.backward, src=x, diff_dst=x, diff_src=result,
                hint_fwd_pd=forward, **common,
            )  # fmt: skip
            assert offered(pd) <= REFERENCES


def max_pool(engine, dtype, prop_kind):
    """Descriptor of a 3 x 3 pool, channels last."""
    desc = dnnl.MemoryDesc
    return dnnl.pooling_forward(
        engine, prop_kind=prop_kind, algorithm=dnnl.algorithm.pooling_max,
        src=desc((32, 64, 112, 112), T[dtype], dnnl.format_tag.acdb),
        dst=desc((32, 64, 56, 56), T[dtype], dnnl.format_tag.any),
        strides=(2, 2), kernel=(3, 3), dilation=(0, 0), padding_l=(1, 1), padding_r=(1, 1),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_max_pools_of_float16_have_the_reference_alone_in_training(dtype, stream):
    assert "ocl:xe" in offered(max_pool(stream.engine, dtype, PROP.forward_inference))
    in_training = offered(max_pool(stream.engine, dtype, PROP.forward_training))
    assert in_training == ({"ocl:ref:any"} if dtype == "f16" else {"ocl:xe", "ocl:ref:any"})
