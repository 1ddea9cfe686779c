# SPDX-License-Identifier: Apache-2.0
"""The pages that programs write while the site is built: reference pages, and explained networks.

``write`` is called by conf.py. git ignores what it writes.
"""

import enum
import functools
import inspect
import re
import subprocess
import sys
from pathlib import Path

from sycl_dnn import functional
from sycl_dnn import onednn as dnnl
from sycl_dnn.call.double_precision_refusals import REFUSING
from sycl_dnn.onednn import faults

DOCS = Path(__file__).parent
GUIDE = "https://uxlfoundation.github.io/oneDNN/v3.13/dev_guide_{}.html"

#: Prefix of the names -> page of the guide, data types, notes on implementations.
NOTES = {
    "convolution": (
        "convolution",
        "f32; bf16 (dst f32 too); f16; u8 or s8 by s8 to u8, s8, s32, f32, f16 or bf16; 8-bit "
        "and 4-bit floats where the device has them; f64 on GPUs. Gradients: f32, bf16, f16, "
        "f64.",
        "Winograd exists on GPUs only; `convolution_auto` becomes direct on CPUs. A plain "
        "layout of weights may select a reference kernel that is a hundred times slower: give "
        "`any` and reorder. Weights are (OC, IC, ...), with groups (G, OC/G, IC/G, ...); "
        "dilation 0 is dense.",
    ),
    "deconvolution": (
        "convolution",
        "As convolution, without 4-bit floats.",
        "Weights are (OC, IC, ...) with OC the channels of dst. No depthwise post-op.",
    ),
    "inner_product": (
        "inner_product",
        "f32; bf16; f16; u8 or s8 by s8 to u8, s8, s32, f32 or bf16. Gradients: f32, bf16, f16.",
        "src (N, C, ...), weights (OC, C, ...), dst (N, OC). `any` for all layouts is fastest.",
    ),
    "matmul": (
        "matmul",
        "f32, bf16, f16, also by u8, s8, u4 or s4 weights with `fpmath_mode` and "
        "`apply_to_int`; u8 or s8 by s8 or u8 to u8, s8, s32, f32, f16 or bf16; 8-bit and 4-bit "
        "floats where the device has them; f64 on GPUs.",
        "Batch dimensions broadcast. Dimensions and strides may be known at execution only "
        "(RUNTIME_DIM_VAL), with no layout `any`. Dropout, 4-bit weights and blocked layouts of "
        "your own run as reference on CPUs. CSR on CPUs, COO on both.",
    ),
    "eltwise": (
        "eltwise",
        "f32, bf16, f16, f64 on GPUs; forward also s32, s8, u8.",
        "src needs a layout, dst may be `any`. `eltwise_round` has no gradient. The algorithms "
        "`..._use_dst_for_bwd` read dst in the backward pass; only they allow src and dst to "
        "share memory in training.",
    ),
    "prelu": (
        "prelu",
        "f32, bf16, f16, s32, s8, u8.",
        "weights broadcast over dimensions of 1. No attributes.",
    ),
    "softmax": (
        "softmax",
        "f32, bf16, f16, f64 on GPUs; forward to u8 or s8 too.",
        "axis counts from 0; a negative one is refused. `softmax_log` is log_softmax.",
    ),
    "binary": (
        "binary",
        "f32, bf16, f16, s32, u8, s8, in any mixture.",
        "Dimensions of 1 broadcast in either source. `binary_select` accepts src2, a condition of "
        "s8. Comparisons give 0 and 1 in the type of dst.",
    ),
    "reduction": (
        "reduction",
        "f32, bf16, f16, s32, s8, u8; the norms of floats only.",
        "Dimensions of dst that are 1 are reduced, at least one. p and eps are for the norms.",
    ),
    "reorder": (
        "reorder",
        "Every pair for which the device has a reorder; no f64 on CPUs.",
        "Two engines copy between devices; it then runs on the GPU's stream. Scales and zero "
        "points quantize the copy. There is one implementation, so no next_impl.",
    ),
    "concat": (
        "concat",
        "One type for all sources, dst may have another.",
        "dst may be left out, and oneDNN chooses its layout. At most 1023 sources.",
    ),
    "sum": (
        "sum",
        "f32, bf16, f16, s32, s8, u8.",
        "dst = sum of scales[i] * srcs[i]. dst may be left out.",
    ),
    "pooling": (
        "pooling",
        "f32, bf16, f16, f64 on GPUs; forward also u8, s8, s32.",
        "`pooling_max` in training leaves a workspace for the backward pass. dilation 0 is "
        "dense and must be given.",
    ),
    "resampling": (
        "resampling",
        "f32, bf16, f16, s32, s8, u8, in any mixture.",
        "Centers of pixels correspond (half-pixel). factors are dst / src, computed unless given.",
    ),
    "shuffle": (
        "shuffle",
        "f32, bf16, f16; forward also s32, s8, u8.",
        "Channel u + v * C/g of dst is channel u * g + v of src, for groups of g = group_size. "
        "A reference kernel on CPUs for plain layouts.",
    ),
    "lrn": (
        "lrn",
        "f32, bf16, f16.",
        "dst = src * (k + alpha * sum(x**2) / n) ** -beta. Whether there is a workspace depends "
        "on the implementation; one that is not needed may still be passed.",
    ),
    "batch_normalization": (
        "batch_normalization",
        "f32, bf16, f16; s8 forward with given statistics. Statistics, scale and shift are f32.",
        "Statistics are inputs with `use_global_stats`, results of forward_training without it. "
        "`fuse_norm_relu` leaves a workspace in training; `fuse_norm_add_relu` is for GPUs.",
    ),
    "layer_normalization": (
        "layer_normalization",
        "f32, bf16, f16, forward also u8, s8; f64 on GPUs. Statistics are f32.",
        "Over the last dimension. stat describes mean and variance; `rms_norm` has no mean.",
    ),
    "group_normalization": (
        "group_normalization",
        "f32, bf16, f16; forward also s8, u8. Statistics, scale and shift are f32.",
        "Statistics are (N, groups); groups divide the channels.",
    ),
    "vanilla_rnn": (
        "rnn",
        "f32, bf16.",
        "activation is relu, tanh or logistic; alpha is relu's.",
    ),
    "lstm": (
        "rnn",
        "f32, bf16, f16 forward on GPUs; u8 or s8 by s8 in inference, with qparams.",
        "Gates in the order input, forget, candidate, output. Peepholes and projection are for "
        "CPUs. Training and plain layouts of weights run as reference on CPUs.",
    ),
    "gru": (
        "rnn",
        "f32, bf16; u8 by s8 in inference.",
        "Gates: update, reset, output.",
    ),
    "lbr_gru": (
        "rnn",
        "f32, bf16.",
        "Linear before reset: the bias has a fourth gate.",
    ),
    "augru": (
        "rnn",
        "f32, bf16.",
        "attention (T, N, 1) scales the update gate. CPUs only.",
    ),
    "lbr_augru": (
        "rnn",
        "f32, bf16.",
        "As augru, with a fourth gate of the bias. CPUs only.",
    ),
}
#: Shapes that all recurrent cells have in common.
RNN = (
    "src_layer (T, N, C), src_iter (L, D, N, H), weights_layer (L, D, C, G, H), weights_iter "
    "(L, D, H, G, H), bias (L, D, G, H). Gradients of weights are added to existing values, unless "
    "flags is diff_weights_overwrite."
)
_KINDS = {
    "prop_kind": "`prop_kind`",
    "algorithm": "`algorithm`",
    "activation": "`algorithm`",
    "direction": "`rnn_direction`",
    "flags": "`normalization_flags`, of RNN cells `rnn_flags`",
    "hint_fwd_pd": "PrimitiveDesc of the forward primitive",
}


def notes_of(name):
    """Return the row of `NOTES` with the longest key that is a prefix of the name."""
    return NOTES[max((k for k in NOTES if name.startswith(k)), key=len)]


def signature(name):
    """Names and annotations of the parameters, from the docstring."""
    line = getattr(dnnl, name).__doc__.splitlines()[0]
    text = re.search(r"\((.*)\) -> ", line).group(1)
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text + ","):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [re.match(r"(\w+): (.*?)(?: = (.*))?$", p).groups() for p in parts if ":" in p]


def _kind(name, annotation):
    if name in _KINDS:
        return _KINDS[name]
    plain = annotation.replace("sycl_dnn._core.", "").replace("typing.SupportsInt", "int")
    plain = plain.replace("typing.SupportsFloat", "float").replace(" | typing.SupportsIndex", "")
    plain = plain.replace("collections.abc.Sequence", "sequence")
    return " or ".join(f"`{part}`" for part in plain.split(" | "))


def primitive_section(name):
    """Parameters, execution arguments, data types, notes and the guide's page of one primitive."""
    parameters, executed = dnnl.ROWS[name]
    page, types, notes = notes_of(name)
    lines = [f"## {name}", "", "| parameter | type | default |", "|---|---|---|"]
    for parameter, annotation, default in signature(name):
        shown = "" if default is None else f"`{default.split('.')[-1]}`"
        lines.append(f"| `{parameter}` | {_kind(parameter, annotation)} | {shown} |")
    inputs, _, outputs = executed.partition("->")
    lines += ["", "Executed with {} -> {}.".format(
        *(", ".join(f"`{word}`" for word in side.split()) for side in (inputs, outputs))
    )]  # fmt: skip
    lines += ["", f"**Data types.** {types}", "", f"**Notes.** {notes}"]
    if page == "rnn":
        lines[-1] += " " + RNN
    return "\n".join([*lines, "", f"Source: [oneDNN's guide]({GUIDE.format(page)}).", ""])


def primitives_page():
    """Return the page of all primitives."""
    intro = (
        "# Primitives\n\nEach function creates a `PrimitiveDesc`; `Primitive(pd).execute(stream, "
        "args)` runs it. Parameters are passed by\nname, after the engine. Enumerations are members "  # noqa: E501
        "or their names. What a descriptor does not use is not among the\narguments of "
        "execution; `Primitive.arguments` has the remaining ones, and those that attributes add. "
        "Types are those that\noneDNN documents; a device may support fewer "
        "([explain](../inspect.md#explain) says which).\n"
    )
    return "\n".join([intro, *(primitive_section(n) for n in sorted(dnnl.PRIMITIVES))])


def enumerations():
    """Return the enumerations of the low level by name, without the tags of layouts."""
    found = {n: getattr(dnnl, n) for n in dnnl.__all__ if n not in ("arg", "format_tag")}
    return {n: c for n, c in sorted(found.items()) if isinstance(c, enum.EnumMeta)}


def _settings():
    names = [n for n in dnnl.__all__ if re.match(r"(get|set)_|version$|clear_|scratchpad_info", n)]
    rows = ["| function | |", "|---|---|"]
    for name in sorted(names):
        doc = (getattr(dnnl, name).__doc__ or "").strip().splitlines()
        text = " ".join(line.strip() for line in doc[1:] if line.strip())
        call = re.sub(r"sycl_dnn\.(_core|onednn)\.", "", doc[0].split(" -> ")[0]) if doc else name
        rows.append(f"| `{call}` | {text.replace('|', '/')} |".replace("|  |", "| |"))
    return "\n".join(rows)


def enumerations_page():
    """Return the page of enumerations and settings."""
    parts = [
        "# Enumerations and settings\n\nMembers are those of the installed oneDNN's headers. "
        'Wherever one is expected, its name is accepted: `"f32"`; for '
        "flags\nseveral, joined by `|`. "
        "`format_tag` has the names of all layouts, and `arg` the numbers of execution arguments.\n"
    ]
    for name, cls in enumerations().items():
        members = ", ".join(f"`{m}`" for m in cls.__members__)
        parts.append(f"## {name}\n\n{members}\n")
    parts.append(f"## Settings of the process\n\n{_settings()}\n")
    return "\n".join(parts)


#: Folder or file of `sycl_dnn.functional` -> title of its page, in the order of the summary.
FAMILIES = {
    "conv": "Convolution",
    "product": "Matrix products",
    "attention": "Attention",
    "recurrent": "Recurrent networks",
    "pool": "Pooling",
    "normalization": "Normalization",
    "activation": "Activations, softmax and dropout",
    "loss": "Losses",
    "embeddings": "Embeddings",
    "arithmetic": "Element-wise mathematics and comparison",
    "complex_numbers": "Complex numbers",
    "reduction": "Reductions and distances",
    "shape": "Shape, padding and interpolation",
    "index": "Indexing and sorting",
    "creation": "Creation and random numbers",
    "quantized": "Quantized functions",
    "vision": "Vision",
}
#: Files on the page of another.
_FAMILY_OF = {"multi_head_attention": "attention"}


def families():
    """Public names of `sycl_dnn.functional` by family."""
    found = {family: [] for family in FAMILIES}
    for name in functional.__all__:
        part = getattr(functional, name).__module__.split(".")[2]
        found[_FAMILY_OF.get(part, part)].append(name)
    return found


def _summary(name):
    """Return the first line of a docstring, as one cell of a table."""
    line = (getattr(functional, name).__doc__ or "").strip().splitlines()[0]
    return line.replace("``", "`").replace("|", "\\|")


def _linked(name):
    return f"{{py:obj}}`{name} <sycl_dnn.functional.{name}>`"


def _arguments(name):
    """Return the parameters of a function with their defaults, without annotations."""
    found = inspect.signature(getattr(functional, name))
    plain = [p.replace(annotation=p.empty) for p in found.parameters.values()]
    text = str(found.replace(parameters=plain, return_annotation=found.empty))
    return text.replace("|", "\\|")


def float64_page():
    """Return which functions compute float64 on CPUs."""
    named = {n for n in functional.__all__ if not isinstance(getattr(functional, n), type)}
    parts = [
        "# float64\n\nA GPU with float64, and every CPU, computes float64 in most functions, with "
        "derivatives. oneDNN's\nCPU engine has no float64, so functions that need "
        f"it refuse float64 there: {len(named & REFUSING)} of {len(named)}, marked below as "
        'refusing.\nThe error names the remedy: `F.astype(x, "float32")` for arrays, '
        "`net.float()` for modules. Nothing narrows float64 silently.\n\n"
        "`F.asarray` keeps float64; `F.tensor` and the factories make float32 "
        "([sharp bits](../sharp_bits.md#data-types)).\n"
    ]
    for family, names in families().items():
        if family in ("quantized", "creation"):  # a dtype is an argument there, or 8 bits
            continue
        names = [n for n in names if n in named]
        parts.append(f"## {FAMILIES[family]}\n")
        for title, is_in in (("Computes", False), ("Refuses on CPUs", True)):
            chosen = [f"{{py:obj}}`{n} <sycl_dnn.functional.{n}>`" for n in names
                      if (n in REFUSING) == is_in]  # fmt: skip
            if chosen:
                parts.append(f"{title}: {', '.join(chosen)}.\n")
    return "\n".join(parts)


def functional_page():
    """Return the summary of all functions."""
    parts = [
        "# sycl_dnn.functional\n\nThe functions of `torch.nn.functional` and the tensor functions "
        "around them, for dpnp arrays. Names, arguments,\ndefaults and meaning are PyTorch's; "
        "[For PyTorch users](../pytorch.md) lists the differences.\n"
    ]
    parts.append(
        "```{toctree}\n:maxdepth: 1\n" + "\n".join(f"functional_{f}" for f in FAMILIES) + "\n```\n"
    )
    for family, names in families().items():
        parts.append(f"## [{FAMILIES[family]}](functional_{family}.md)\n")
        rows = [f"| {_linked(n)}`{_arguments(n)}` | {_summary(n)} |" for n in names]
        parts.append("\n".join(["| function | what it does |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


def family_page(family):
    """Return the page of one family."""
    parts = [f"# {FAMILIES[family]}\n\n[All functions](functional.md)\n\n```{{eval-rst}}"]
    for name in families()[family]:
        kind = "class" if isinstance(getattr(functional, name), type) else "function"
        parts.append(f".. auto{kind}:: sycl_dnn.functional.{name}")
    return "\n".join(parts) + "\n```\n"


def known_faults_page():
    """Return the page of oneDNN's known faults."""
    return (
        "# Known faults of oneDNN 3.13\n\nWhat the handling means: [oneDNN in Python]"
        f"(../onednn_in_python.md#known-faults-of-onednn-313).\n\n{faults.table()}\n"
    )


#: File below docs/ -> the function that returns its text.
PAGES = {
    "api/known_faults.md": known_faults_page,
    "api/primitives.md": primitives_page,
    "api/enumerations.md": enumerations_page,
    "api/functional.md": functional_page,
    "api/float64.md": float64_page,
    **{
        f"api/functional_{family}.md": functools.partial(family_page, family) for family in FAMILIES
    },
}
#: What benchmarks/explain_models.py writes: networks are compiled for it.
EXPLAINED = ("explained/resnet50.md", "explained/bert.md", "explained/partitions.svg")


def write():
    """Write every page; those that take minutes only if they are not there."""
    for file, make in PAGES.items():
        text = make()
        # A page that is not changed is not read again.
        if not (DOCS / file).exists() or (DOCS / file).read_text() != text:
            (DOCS / file).write_text(text)
    if not all((DOCS / file).exists() for file in EXPLAINED):
        script = DOCS.parent / "benchmarks" / "explain_models.py"
        subprocess.run([sys.executable, script, "--folder", DOCS / "explained"], check=True)
