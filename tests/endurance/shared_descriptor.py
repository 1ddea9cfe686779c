# SPDX-License-Identifier: Apache-2.0
"""A thread advances descriptors to their next implementations while another creates primitives."""

import sys
import threading

import sycl_dnn
from sycl_dnn import onednn as dnnl

D, F32 = dnnl.MemoryDesc, dnnl.data_type.f32


def convolution(engine):
    """A descriptor whose implementations want different layouts."""
    return dnnl.convolution_forward(
        engine,
        prop_kind=dnnl.prop_kind.forward_inference,
        algorithm=dnnl.algorithm.convolution_direct,
        src=D((1, 16, 10, 10), F32, "any"),
        weights=D((16, 16, 3, 3), F32, "any"),
        dst=D((1, 16, 8, 8), F32, "any"),
        strides=(1, 1),
        padding_l=(0, 0),
        padding_r=(0, 0),
    )


def made(profile):
    """Implementation and layouts of each primitive that was created."""
    created = [r for r in profile.records if r.kind == "create"]
    return {(r.implementation, *map(str, r.tensors)) for r in created}


def possible(engine):
    """The primitives that a single thread creates."""
    pd, more = convolution(engine), True
    with sycl_dnn.profile() as p:
        while more:
            dnnl.Primitive(pd)
            more = pd.next_impl()
    return made(p)


def move_on(descriptors, barrier):
    """Advance each through all implementations."""
    barrier.wait()
    for pd in descriptors:
        while pd.next_impl():
            pass


def raced(engine):
    """The primitives created while another thread advances the descriptors that serve as hints."""
    descriptors, barrier = [convolution(engine) for _ in range(20)], threading.Barrier(2)
    thread = threading.Thread(target=move_on, args=(descriptors, barrier))
    thread.start()
    with sycl_dnn.profile() as p:
        barrier.wait()
        for pd in descriptors:
            dnnl.Primitive(pd)
            gradient(engine, pd)
    thread.join()
    return made(p)


def gradient(engine, pd):
    """The gradient with regard to the source that belongs to a forward descriptor."""
    inputs = {k: pd.parameters[k] for k in ("algorithm", "strides", "padding_l", "padding_r")}
    tensors = {"diff_src": "src", "weights": "weights", "diff_dst": "dst"}
    inputs |= {name: pd.parameters[forward] for name, forward in tensors.items()}
    return dnnl.convolution_backward_data(engine, **inputs, hint_fwd_pd=pd)


if __name__ == "__main__":
    sys.setswitchinterval(1e-6)
    dnnl.set_primitive_cache_capacity(0)
    engine = dnnl.Engine(sycl_dnn.default_queue("cpu"))
    alone, together = possible(engine), set()
    for _ in range(int(sys.argv[1])):
        together |= raced(engine)
    print(len(alone) > 1, together - alone)
