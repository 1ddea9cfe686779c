# SPDX-License-Identifier: Apache-2.0
"""Faulty implementations are skipped: correct ones run instead, or the call is refused.

A case of each fault, then operands of post-ops and slopes over axes in each order; with CI_LONG=1
all of those, otherwise a sample.
"""

import contextlib
import os
import subprocess
from random import Random

import dpnp
import layout_cases
import numpy as np
import pytest
from conformance.case_runs import FAILURES, run_case
from fault_cases import in_process, outcomes
from primitive_cases import call_of, described

import sycl_dnn
from sycl_dnn import onednn as dnnl
from sycl_dnn.onednn import faults
from sycl_dnn.onednn.fault import cpu_has_avx512

#: By fault: cases of it, of which without the register at least one is wrong.
CASES = {
    "post-op-operands": (
        "--binary --attr-post-ops=mul:f32:2 2x16x1x1:2x16x1x1",
        "--matmul --dtag=acbd --attr-post-ops=mul:f32:8 2x12x3x5:2x12x5x16",
    ),
    "post-op-operands, refused": (
        "--softmax --dir=FWD_I --stag=acbd --dtag=acbd --axis=3 --inplace=false "
        "--attr-post-ops=mul:f32:2 2x12x3x16",
    ),
    "layer-norm-post-op-operands": (
        "--lnorm --dir=FWD_I --tag=bac --inplace=false --attr-post-ops=mul:f32:1 3x8x16",
    ),
    "prelu-slopes-between": (
        "--prelu --dir=FWD_D,BWD_DW --stag=adbc:abcd 2x12x3x16:1x12x1x1",
    ),
    "prelu-slopes-of-rows, refused": ("--prelu --dir=BWD_DW 4x2x3x8:1x2x3x1",),
    "matmul-lone-batch": ("--matmul --strides=48x12x6x1:24x6x1x24:24x6x3x1 1x4x2x6:1x4x6x3",),
    "matmul-mask-of-batches": tuple(
        f"--matmul --dt=bf16:bf16:f32,s8:s8:f32 --attr-post-ops=add:f32:{mask} {batch}x32x16"
        f":{batch}x16x48"
        for batch, mask in (("2x4", 12), ("2x4", 13), ("2x4", 14), ("1x4", 12), ("8", 6))
    ),
    "deconv-gaps": tuple(
        "--deconv --dir=FWD_B --dt=bf16:bf16:f32,s8:s8:f32 --bia-dt=f32 "
        f"--stag=abx,axb --dtag={tag} mb2ic16ih5iw4oc8{window}"
        for tag in ("abx", "axb")
        for window in ("oh10ow10kh2kw1sh2sw3ph0pw0", "oh9ow9kh1kw3sh2sw2ph0pw0",
                       "oh10ow8kh2kw2sh2sw2ph0pw0", "oh19ow8kh3kw2sh4sw2ph0pw0")
    ),
    "binary-lone-axis": (
        "--binary --alg=MUL --strides=768x64x768x1:64x64x64x1:768x64x64x1 8x12x1x64:1x1x1x64",
    ),
    "conv-depthwise-columns": (
        "--conv --dir=FWD_I --dt=bf16 --stag=axb --dtag=axb "
        "g16mb1ic16ih5iw64oc16oh5ow64kh3kw19ph1pw9",
    ),
    "conv-narrow-strided-weights": tuple(
        f"--conv --dir=BWD_W --stag=axb --dtag=axb mb32ic{n}ih32oc16oh16kh1sh2ph0"
        for n in (1, 3, 5, 8, 12, 15, 16)
    ),
    "conv-narrow-strided-weights of transposed": (
        "--deconv --dir=BWD_W --stag=axb --dtag=axb mb32ic16ih16oc16oh32kh1sh2ph0",
    ),
}  # fmt: skip
SAMPLE = None if os.environ.get("CI_LONG") else 250


@pytest.mark.parametrize("name", CASES)
def test_cases_of_faults_are_right_or_refused(name, cpu_stream):
    done = outcomes(CASES[name], cpu_stream)
    allowed = {"UNIMPLEMENTED"} if "refused" in name else {"PASSED"}
    if not cpu_has_avx512():
        allowed |= {"PASSED", "UNIMPLEMENTED"}  # other implementations, and no bfloat16
    wrong = [f"{d.impl} {d.status}: {d.reason}" for d in done if d.status not in allowed]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_onednn_still_has_the_fault(name):
    """Without the register a fault may end the process, or never let it end."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = in_process(CASES[name], checked=False, seconds=30)
        if done.returncode == 0 and not any(word in done.stdout for word in FAILURES):
            pytest.skip(f"{name}: right on a CPU of {dnnl.get_effective_cpu_isa().name}")
        assert done.returncode <= 0, done.stderr[-2000:]


def sampled(lines, seed):
    lines = list(lines)
    return lines if SAMPLE is None else Random(seed).sample(lines, SAMPLE)


@pytest.mark.slow
def test_operands_of_post_ops_are_read_where_they_are(cpu_stream):
    refused = 0
    for case in layout_cases.cases(sampled(layout_cases.with_post_ops(), 1)):
        done = run_case(case, cpu_stream)
        assert done.status not in FAILURES, f"{case.line}: {done.reason}"
        is_refused = done.status == "UNIMPLEMENTED"
        assert not is_refused or case.driver == "softmax", case.line
        refused += is_refused
    assert refused < (SAMPLE or 7000) / 4


@pytest.mark.slow
def test_slopes_of_prelu_are_those_of_their_axes(cpu_stream):
    lines = [line for line in layout_cases.lines() if line.startswith("--prelu")]
    for line in sampled(lines, 2):
        case = Random(line).choice(list(layout_cases.cases([line])))
        done = run_case(case, cpu_stream)
        assert done.status not in FAILURES, f"{case.line}: {done.reason}"


@pytest.mark.parametrize("how", [lambda f: f, sycl_dnn.compile], ids=["eager", "compiled"])
@pytest.mark.parametrize("groups", [1, 2])
def test_functional_gradients_of_few_transposed_channels(how, groups):
    F, queue = sycl_dnn.functional, sycl_dnn.default_queue("cpu")
    rng = np.random.default_rng(4)
    x, w, g = (
        rng.standard_normal(s).astype("f4")
        for s in ((32, 16, 16, 16), (16, 3, 1, 1), (32, 3 * groups, 32, 32))
    )

    def loss(w, x, g):
        y = F.conv_transpose2d(x, w, stride=2, output_padding=1, groups=groups)
        return F.sum(y * g)

    step = how(sycl_dnn.grad(loss))
    actual = step(*(dpnp.asarray(a, sycl_queue=queue) for a in (w, x, g))).asnumpy()
    xs, gs = x.reshape(32, groups, -1, 16, 16), g[:, :, ::2, ::2].reshape(32, groups, -1, 16, 16)
    right = np.einsum("ngihw,ngohw->gio", xs.astype("f8"), gs.astype("f8")).reshape(16, 3)
    np.testing.assert_allclose(actual[:, :, 0, 0], right, atol=2e-3)


def test_next_impl_skips_avoided_implementations(cpu_stream):
    pd = described(call_of("--prelu --dir=FWD_I --stag=adbc:abcd 2x12x3x16:1x12x1x1"),
                   cpu_stream.engine)  # fmt: skip
    assert pd.impl_info.startswith("ref")
    while pd.next_impl():
        assert not faults.is_avoided(pd)


def test_refused_by_name_if_only_the_avoided_implementation_exists(cpu_stream):
    (done,) = outcomes(CASES["post-op-operands, refused"], cpu_stream)
    assert done.reason.startswith("softmax_forward: oneDNN has only the implementation")
