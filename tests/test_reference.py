# SPDX-License-Identifier: Apache-2.0
"""The reference pages that the site's build writes: every primitive, enumeration and function."""

import re
import subprocess
from pathlib import Path

import example_gallery
import pytest
import written_pages

from sycl_dnn import functional as F
from sycl_dnn import onednn as dnnl
from sycl_dnn.onednn import faults

ROOT = Path(__file__).parents[1]


def test_all_47_primitives_have_types_notes_and_the_guide_s_page():
    text = written_pages.primitives_page()
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
        written_pages.enumerations()
    )


def test_every_known_fault_has_a_row():
    rows = [line for line in written_pages.known_faults_page().splitlines() if line[:3] == "| `"]
    assert [row.split("`")[1] for row in rows] == [fault.name for fault in faults.FAULTS]
    for row, fault in zip(rows, faults.FAULTS, strict=True):
        cells = [cell.strip().replace("\\*", "*") for cell in row.strip("|").split(" | ")]
        where, when, wrong, instead, met = cells[1:]
        assert where.endswith("GPU") == (fault.device == "gpu") or "GPU" in fault.where
        assert (when, instead, met) == (fault.when, fault.instead, fault.met)
        assert wrong.startswith(fault.wrong)


def test_every_function_is_on_the_page_of_its_family():
    pages = "".join(written_pages.family_page(family) for family in written_pages.FAMILIES)
    listed = re.findall(r"^\.\. auto\w+:: sycl_dnn\.functional\.(\w+)$", pages, re.M)
    assert sorted(listed) == sorted(F.__all__)
    summary = written_pages.functional_page()
    assert not [name for name in F.__all__ if f"{{py:obj}}`{name} <" not in summary]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a copy without git")
def test_generated_files_are_not_committed():
    files = [
        f"docs/{file}"
        for file in (
            *written_pages.PAGES,
            *written_pages.EXPLAINED,
            *example_gallery.PAGES,
        )
    ]
    command = ["git", "ls-files", "--others", "--cached", "--exclude-standard", "--", *files]
    seen = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert seen == ""
