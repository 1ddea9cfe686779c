# SPDX-License-Identifier: Apache-2.0
"""The properties that the device reports, and oneDNN's conclusions."""

import dpctl
import dpnp
import numpy as np
import pytest
from dpctl.program import SyclProgramCompilationError, create_program_from_source

from sycl_dnn import onednn as dnnl
from sycl_dnn.device import usable_devices

NAME = "import sycl_dnn.device as d; g, = d.usable_devices('gpu'); print(g.name, g.has_aspect_fp64)"


def test_one_gpu_beside_the_cpu(gpu):
    assert [d.device_type.name for d in dpctl.get_devices()].count("gpu") == 1
    cpu = usable_devices("cpu")[0]
    assert cpu.is_cpu
    assert cpu.sycl_platform != gpu.sycl_platform
    assert cpu != gpu


def test_the_device_presents_itself_as_a_gpu(gpu):
    assert gpu.backend == dpctl.backend_type.opencl
    assert gpu.vendor.startswith("Intel")
    assert gpu.max_work_group_size == 1024
    assert gpu.max_work_item_sizes3d == (1024, 1024, 1024)
    assert gpu.max_compute_units == 512
    assert gpu.sub_group_sizes == [8, 16, 32]
    assert gpu.local_mem_size == 65536
    assert gpu.parent_device is None
    assert gpu.partition_max_sub_devices == 0
    with pytest.raises(dpctl.SyclSubDeviceCreationError):
        gpu.create_sub_devices(partition=1)


def test_doubles_are_a_switch(python):
    assert python(NAME, EXECUTING_GPU_FP64="")[0].split()[-1] == "False"
    assert python(NAME, EXECUTING_GPU_FP64="1")[0].split()[-1] == "True"


@pytest.mark.parametrize(("kind", "name"), [("xehp", "Xe-HP"), ("none", "no known kind")])
def test_the_variable_selects_the_gpu(kind, name, python):
    assert name in python(NAME, EXECUTING_GPU=kind)[0]


def made_for(engine):
    """One primitive each of those that real GPUs have machine code for."""
    f32, inference = dnnl.data_type.f32, dnnl.prop_kind.forward_inference
    d = dnnl.MemoryDesc((64, 64), f32)
    image, kernel = dnnl.MemoryDesc((2, 16, 8, 8), f32), dnnl.MemoryDesc((16, 16, 3, 3), f32)
    yield dnnl.matmul(engine, src=d, weights=d, dst=d)
    yield dnnl.reorder(engine, src=d, dst=dnnl.MemoryDesc((64, 64), f32, "ba"))
    yield dnnl.convolution_forward(
        engine, prop_kind=inference, algorithm=dnnl.algorithm.convolution_direct, src=image,
        weights=kernel, dst=image, strides=(1, 1), padding_l=(1, 1), padding_r=(1, 1),
    )  # fmt: skip


def test_onednn_chooses_opencl_c_alone(queue):
    chosen = {pd.name: pd.impl_info for pd in made_for(dnnl.Engine(queue))}
    assert len(chosen) == 3
    assert all(name.startswith("ocl:") for name in chosen.values()), chosen


REAL = """
import dpnp, numpy, sycl_dnn
from sycl_dnn import onednn as dnnl
queue = sycl_dnn.default_queue("gpu")
engine = dnnl.Engine(queue)
stream = dnnl.Stream(engine, queue)
values = numpy.random.default_rng(0).standard_normal((64, 64)).astype("f4")
x = dnnl.Memory.from_array(dpnp.asarray(values, sycl_queue=queue), engine)
made = dnnl.Memory(x.desc, engine)
queue.wait()
pd = dnnl.matmul(engine, src=x.desc, weights=x.desc, dst=x.desc)
print(pd.impl_info)
def run():
    dnnl.Primitive(pd).execute(stream, {"src": x, "weights": x, "dst": made}).wait()
try:
    run()
except sycl_dnn.DnnlError as error:
    print("failed")
while "jit" in pd.impl_info:
    pd.next_impl()
run()
print(abs(made.to_array().asnumpy() - values @ values).max() < 1e-4)
"""


@pytest.mark.parametrize("kind", ["arc", "tgl"])
def test_later_work_computes_after_failing_gpu_machine_code(kind, python):
    chosen, failed, is_right = python(REAL, EXECUTING_GPU=kind)[0].split()
    assert (chosen, failed, is_right) == ("jit:gemm:any", "failed", "True")


def test_products_of_dpnp_are_those_of_opencl_c(queue):
    """oneMKL first tries a kernel of machine code, and must hear that it fails."""
    a, b = np.arange(24, dtype="f4").reshape(2, 3, 4), np.arange(20, dtype="f4").reshape(4, 5)
    x, y = (dpnp.asarray(v, sycl_queue=queue) for v in (a, b))
    for left, right, expected in ((x, y, a @ b), (x[0], y, a[0] @ b), (x, y[:, 0], a @ b[:, 0])):
        room = dpnp.full(expected.shape, np.nan, dtype="f4", sycl_queue=queue)
        queue.wait()
        del room  # the product takes this memory
        assert (dpnp.matmul(left, right).asnumpy() == expected).all()


def test_a_source_that_does_not_compile_is_an_error(queue):
    with pytest.raises(SyclProgramCompilationError):
        create_program_from_source(queue, "kernel void wrong(global int *p) { p = nothing; }")


def test_cpu_and_gpu_compute_in_one_process(gpu):
    values = np.arange(1000, dtype="f4")
    for device in (gpu, usable_devices("cpu")[0]):
        array = dpnp.asarray(values, sycl_queue=dpctl.SyclQueue(device))
        assert float((array * 2 + 1).sum()) == 1000 * 1000
        assert (dpnp.sort(-array).asnumpy() == -values[::-1]).all()
