# SPDX-License-Identifier: Apache-2.0
"""The reference of primitives and enumerations says what the extension has."""

import pytest
import reference_writing

from sycl_dnn import onednn as dnnl


@pytest.mark.parametrize("file", reference_writing.PAGES)
def test_reference_is_in_step(file):
    written = (reference_writing.DOCS / file).read_text()
    assert written == reference_writing.PAGES[file](), (
        "the page is out of step; type: python tests/helpers/reference_writing.py"
    )


def test_all_47_primitives_have_types_notes_and_the_guide_s_page():
    text = reference_writing.primitives_page()
    assert len(dnnl.PRIMITIVES) == 47
    for name in dnnl.PRIMITIVES:
        section = text.split(f"\n## {name}\n")[1].split("\n## ")[0]
        for part in (
            "| `engine` |",
            "Executed with",
            "**Data types.**",
            "**Notes.**",
            "dev_guide_",
        ):
            assert part in section, (name, part)


def test_every_enumeration_is_listed():
    assert {"data_type", "algorithm", "prop_kind", "stream_flags", "fpmath_mode"} <= set(
        reference_writing.enumerations()
    )
