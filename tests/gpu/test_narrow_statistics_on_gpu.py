# SPDX-License-Identifier: Apache-2.0
"""Statistics of layer normalization that are not float32: oneDNN takes them and writes float32."""

import dpnp
import numpy as np
import pytest

from sycl_dnn import Unimplemented
from sycl_dnn import onednn as dnnl

N_ROWS, ROW = 8, 64


def forward(engine, kind, prop_kind="forward_training", flags="none"):
    d = dnnl.MemoryDesc((N_ROWS, ROW), dnnl.data_type.f16)
    return dnnl.layer_normalization_forward(
        engine, prop_kind=prop_kind, src=d, dst=d,
        stat=dnnl.MemoryDesc((N_ROWS,), dnnl.data_type[kind]), epsilon=1e-5, flags=flags,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_narrow_statistics_are_refused(kind, stream):
    with pytest.raises(Unimplemented, match="stat must be f32"):
        forward(stream.engine, kind)
    with pytest.raises(Unimplemented, match="stat must be f32"):
        forward(stream.engine, kind, "forward_inference", "use_global_stats")
    # Without statistics the descriptor is not used.
    assert forward(stream.engine, kind, "forward_inference").mean_desc.is_zero
    assert forward(stream.engine, "f32").impl_info


def test_narrow_statistics_are_still_written_past_the_end(stream, values, unchecked):
    pd = forward(stream.engine, "f16")
    room, more = (dpnp.zeros(512, dtype="f2", sycl_queue=stream.sycl_queue) for _ in range(2))
    args = {
        "src": dnnl.Memory(pd.src_desc, stream.engine),
        "dst": dnnl.Memory(pd.dst_desc, stream.engine),
        "mean": dnnl.Memory(pd.mean_desc, stream.engine, room),
        "variance": dnnl.Memory(pd.variance_desc, stream.engine, more),
    }
    args["src"].to_array()[...] = 1
    stream.sycl_queue.wait()
    dnnl.Primitive(pd).execute(stream, args).wait()
    found = room.asnumpy()
    assert found[N_ROWS:].any(), "oneDNN may have mended it: look, then drop it"
    assert (found[: 2 * N_ROWS].view("f4") == np.ones(N_ROWS)).all()
