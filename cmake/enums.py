# SPDX-License-Identifier: Apache-2.0
"""Write enums.inc and format_tags.inc from the installed oneDNN headers.

The members are read at build time, so that a new oneDNN release brings its new values along.
Usage: ``enums.py DNNL_HPP OUTPUT_FOLDER``.
"""

import re
import sys
from pathlib import Path

#: Python name -> (C++ type, Python enum type). The header's name is the part after the last ::.
ENUMS = {
    "status": ("dnnl::status", "enum.Enum"),
    "engine_kind": ("dnnl::engine::kind", "enum.Enum"),
    "stream_flags": ("dnnl::stream::flags", "enum.IntFlag"),
    "primitive_kind": ("dnnl::primitive::kind", "enum.Enum"),
    "prop_kind": ("dnnl::prop_kind", "enum.Enum"),
    "algorithm": ("dnnl::algorithm", "enum.Enum"),
    "normalization_flags": ("dnnl::normalization_flags", "enum.IntFlag"),
    "rnn_flags": ("dnnl::rnn_flags", "enum.IntFlag"),
    "rnn_direction": ("dnnl::rnn_direction", "enum.Enum"),
    "query": ("dnnl::query", "enum.Enum"),
    "data_type": ("dnnl::memory::data_type", "enum.Enum"),
    "format_kind": ("dnnl::memory::format_kind", "enum.Enum"),
    "sparse_encoding": ("dnnl::memory::sparse_encoding", "enum.Enum"),
    "scratchpad_mode": ("dnnl::scratchpad_mode", "enum.Enum"),
    "rounding_mode": ("dnnl::rounding_mode", "enum.Enum"),
    "quantization_mode": ("dnnl::quantization_mode", "enum.Enum"),
    "fpmath_mode": ("dnnl::fpmath_mode", "enum.Enum"),
    "accumulation_mode": ("dnnl::accumulation_mode", "enum.Enum"),
    "cpu_isa": ("dnnl::cpu_isa", "enum.Enum"),
    "cpu_isa_hints": ("dnnl::cpu_isa_hints", "enum.Enum"),
    "graph_status": ("dnnl::graph::status", "enum.Enum"),
    "op_kind": ("dnnl::graph::op::kind", "enum.Enum"),
    "op_attr": ("dnnl::graph::op::attr", "enum.Enum"),
    "logical_data_type": ("dnnl::graph::logical_tensor::data_type", "enum.Enum"),
    "layout_type": ("dnnl::graph::logical_tensor::layout_type", "enum.Enum"),
    "property_type": ("dnnl::graph::logical_tensor::property_type", "enum.Enum"),
    "partition_policy": ("dnnl::graph::partition::policy", "enum.Enum"),
    "graph_dump_mode": ("dnnl::graph::graph_dump_mode", "enum.IntFlag"),
}
#: Members that only mark the end of an enumeration.
SENTINELS = ("LastSymbol", "end")
HEADERS = ("dnnl_common.hpp", "dnnl.hpp", "dnnl_graph.hpp")


def without_comments(text: str) -> str:
    """Return the header's text without comments and without preprocessor-guarded extras."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    return re.sub(r"^#if [^\n]*EXPERIMENTAL.*?^#endif", "", text, flags=re.S | re.M)


def members(text: str, cpp_type: str) -> list[str]:
    """Return the member names of the enum class that C++ calls ``cpp_type``, in order."""
    owner, name = cpp_type.split("::")[-2:]
    is_free = owner in ("dnnl", "graph")
    # The Graph API has its own status, below.
    mark = rf"^namespace {owner} {{" if is_free else rf"^(?:struct|class) {owner} [:{{]"
    start = re.search(mark, text, re.M).start()
    body = re.compile(rf"enum class {name}\b[^{{]*{{(.*?)}};", re.S).search(text, start).group(1)
    return [m for m in re.findall(r"(?:^|,)\s*(\w+)\s*=", body) if m not in SENTINELS]


def main() -> None:
    """Read the headers beside ``DNNL_HPP`` and write the two include files."""
    folder, output = Path(sys.argv[1]).parent, Path(sys.argv[2])
    text = without_comments("".join((folder / name).read_text() for name in HEADERS))
    rows = []
    for name, (cpp_type, python_type) in ENUMS.items():
        values = "".join(f'\n    {{"{m}", {cpp_type}::{m}}},' for m in members(text, cpp_type))
        rows.append(f'define<{cpp_type}>(m, "{name}", "{python_type}", {{{values}\n}});\n')
    (output / "enums.inc").write_text("".join(rows))
    tags = members(text, "dnnl::memory::format_tag")
    lines = (f'{{"{t}", (int)dnnl::memory::format_tag::{t}}},\n' for t in tags)
    (output / "format_tags.inc").write_text("".join(lines))


if __name__ == "__main__":
    main()
