# SPDX-License-Identifier: Apache-2.0
"""Names of methods and free functions that oneDNN's C++ headers declare."""

import re
from importlib import metadata
from pathlib import Path

HEADERS = ("dnnl_common.hpp", "dnnl.hpp", "dnnl_sycl.hpp", "dnnl_graph.hpp", "dnnl_graph_sycl.hpp")
_CLASS = re.compile(r"^\s*(?:struct|class) (\w+)[^;{}()]*\{", re.M)
_NO_NAMES = {"operator", "noexcept", "if", "decltype", "static_assert", "defined", "sizeof"}


def with_macros(name):
    """The text of an installed header, without comments and experimental parts."""
    matches = [f.locate() for f in metadata.files("onednn-devel") if f.name == name]
    text = max((Path(f).read_text() for f in matches), key=len)
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    return re.sub(r"^#if [^\n]*EXPERIMENTAL.*?^#endif", "", text, flags=re.S | re.M)


def header_text(name):
    """The text of a header without the preprocessor's lines."""
    return re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*", "", with_macros(name), flags=re.M)


def _end(text, start, pair="{}"):
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] == pair[0]) - (text[at] == pair[1])
        if depth == 0:
            return at
    raise AssertionError(text[start : start + 80])


def _flat(text):
    """The text without the contents of braces and without the arguments in parentheses."""
    kept, braces, brackets = [], 0, 0
    for character in text:
        braces += (character == "{") - (character == "}")
        brackets -= character == ")"
        if braces == 0 and brackets == 0:
            kept.append("; " if character == "}" else character)
        brackets += character == "("
    return "".join(kept)


def _declared(text, owner=""):
    """Public names that follow a type and precede a parenthesis."""
    flat = re.sub(r"\)\s*(?:const|noexcept)?\s*:[^;]*;", ");", _flat(text))
    parts = re.split(r"\b(public|private|protected):", flat)
    public = parts[0] + "".join(
        t for word, t in zip(parts[1::2], parts[2::2], strict=True) if word == "public"
    )
    found = re.findall(r"[\w>&*]\s+[&*]*(\w+)\(", public)
    return {n for n in found if n != owner and n not in _NO_NAMES and not n.endswith("_traits")}


def classes():
    """Class -> names of its public methods; nested classes by a path with ::."""
    result = {}
    for header in HEADERS:
        text = header_text(header)
        _visit(text, "", "graph::" if "graph" in header else "", result)
    return result


def _visit(text, prefix, space, found):
    at = 0
    while match := _CLASS.search(text, at):
        end = _end(text, match.end() - 1)
        name, body = match.group(1), text[match.end() : end]
        path = prefix + name
        if "handle_traits" not in name:
            key = path if prefix else space + path
            found.setdefault(key, set()).update(_declared(body, name))
            _visit(body, f"{key}::", space, found)
        at = end


def functions():
    """Names of the functions that do not belong to a class."""
    result = set()
    for header in HEADERS:
        text, at = header_text(header), 0
        while match := _CLASS.search(text, at):
            end = _end(text, match.end() - 1)
            text = text[: match.start()] + text[end + 1 :]
            at = match.start()
        text = re.sub(r"^\s*enum class[^{;]*\{.*?\};", "", text, flags=re.S | re.M)
        text = re.sub(r"\bnamespace \w+ \{|extern \"C\" \{", "", text)
        result |= {n for n in _declared(text) if "::" not in n}
    return result
