# SPDX-License-Identifier: Apache-2.0
"""The index of the examples: every example of oneDNN 3.13, and every one here."""

import re
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
INDEX = (EXAMPLES / "README.md").read_text(encoding="utf-8")
LINK = re.compile(r"\]\(([\w/]+\.py)\)")
PROGRAMS = sorted(
    p.relative_to(EXAMPLES).as_posix()
    for p in EXAMPLES.rglob("[!_]*.py")
    if 'if __name__ == "__main__":' in p.read_text(encoding="utf-8")
)

#: oneDNN 3.13's examples; ".cpp" unless there is a suffix.
THEIRS = """
bnorm_u8_via_binary_postops cnn_inference_f32.c cnn_inference_f32 cnn_inference_int8
cnn_training_bf16 cnn_training_f32 cpu_cnn_training_f32.c cpu_matmul_coo cpu_matmul_csr
cpu_matmul_weights_compression cpu_rnn_inference_f32 cpu_rnn_inference_int8 cross_engine_reorder.c
cross_engine_reorder getting_started gpu_opencl_interop graph/cpu_getting_started
graph/cpu_inference_int8 graph/cpu_single_op_partition graph/gated_mlp graph/gated_mlp_int4
graph/gated_mlp_wei_combined graph/gpu_opencl_getting_started graph/gqa graph/gqa_training
graph/mqa graph/sdpa graph/sdpa_bottom_right_causal_mask graph/sdpa_quantized
graph/sdpa_stacked_qkv graph/sycl_getting_started graph/sycl_single_op_partition
matmul_f8_quantization matmul_grouped matmul_perf matmul_with_host_scalar_scale
memory_format_propagation performance_profiling primitives/augru primitives/batch_normalization
primitives/binary primitives/concat primitives/convolution primitives/deconvolution
primitives/eltwise primitives/group_normalization primitives/inner_product
primitives/layer_normalization primitives/lbr_gru primitives/lrn primitives/lstm primitives/matmul
primitives/pooling primitives/prelu primitives/reduction primitives/reorder primitives/resampling
primitives/shuffle primitives/softmax primitives/sum primitives/vanilla_rnn rnn_training_f32
sycl_interop_buffer sycl_interop_usm tutorials/matmul/cpu_matmul_quantization
tutorials/matmul/cpu_sgemm_and_matmul tutorials/matmul/inference_int8_matmul
tutorials/matmul/matmul_with_weight_only_quantization tutorials/matmul/mxfp_matmul
ukernels/cpu_brgemm
"""
#: Under other names, from before this table.
EARLIER = {"cross_device_reorder.py", "usm_interop.py"}


def counterparts():
    """Return the rows of the table: oneDNN's file, what stands for it, a remark."""
    rows = INDEX.partition("| oneDNN | here | |\n|---|---|---|\n")[2].splitlines()
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def test_every_example_of_onednn_has_a_row():
    names = [name if "." in name else f"{name}.cpp" for name in THEIRS.split()]
    assert [row[0] for row in counterparts()] == names


def test_rows_name_a_program_or_a_reason():
    for theirs, ours, why in counterparts():
        linked = LINK.findall(ours)
        assert (linked and linked[0] in PROGRAMS) or (ours == "none" and len(why) > 20), theirs


def test_every_example_is_in_the_index():
    assert set(PROGRAMS) <= set(LINK.findall(INDEX.partition("## oneDNN's examples")[0]))


def test_every_file_of_the_index_exists():
    for name in LINK.findall(INDEX):
        assert (EXAMPLES / name).is_file(), name


def test_counterparts_name_the_onednn_example():
    """The name of the file of oneDNN stands in the first lines, or is that of the example."""
    for theirs, ours, _ in counterparts():
        if ours == "none" or theirs.endswith(".c"):
            continue
        name = LINK.findall(ours)[0]
        doc = (EXAMPLES / name).read_text(encoding="utf-8").split('"""')[1]
        stem = Path(theirs).stem
        assert stem in doc or stem in name or name in EARLIER, theirs
