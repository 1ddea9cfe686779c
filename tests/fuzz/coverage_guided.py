# SPDX-License-Identifier: Apache-2.0
"""Coverage-guided fuzzing by atheris of untrusted bytes and text.

    pip install atheris
    mkdir corpus
    python tests/fuzz/coverage_guided.py cases corpus tests/conformance -runs=100000 -max_len=1000
    python tests/fuzz/coverage_guided.py blob -runs=300000 -len_control=0 -max_len=120

``cases`` are texts of case files, whose reader is Python and thus measured. ``blob`` is the C++
border: payloads of memory descriptors after a header that is right. The extension is built without
libFuzzer's counters, which only clang has, so these are varied blindly, from true ones.
"""

import sys
from pathlib import Path

import atheris

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "helpers")]

with atheris.instrument_imports(include=["conformance.verify", "sycl_dnn.tools.cases"]):
    from conformance.verify.case_reader import Reader

    from sycl_dnn.tools.cases.case_files import words_of_text
    from sycl_dnn.tools.cases.driver import CaseError

from descriptors import FORMS  # noqa: E402

from fuzz.layouts import checksum  # noqa: E402
from sycl_dnn import InvalidArguments  # noqa: E402
from sycl_dnn import onednn as dnnl  # noqa: E402

HEADS = [form.blob.partition(b"\n")[0].split(b":")[:2] for form in FORMS.values()]
PAYLOADS = [form.blob.partition(b"\n")[2] for form in FORMS.values()]
#: Number of cases of one text that are checked; products of options may be many.
MOST_CASES = 50
counts = {"taken": 0, "refused": 0}


def blob(data):
    """Overwrite parts of a valid payload, or replace it."""
    provider = atheris.FuzzedDataProvider(data)
    payload = bytearray(PAYLOADS[provider.ConsumeIntInRange(0, len(PAYLOADS) - 1)])
    while provider.remaining_bytes() > 3:
        at = provider.ConsumeIntInRange(0, len(payload) - 1)
        piece = provider.ConsumeBytes(provider.ConsumeIntInRange(1, 8))
        payload[at : at + len(piece)] = piece
    head = HEADS[0]
    numbers = [str(len(payload)).encode(), str(checksum(payload)).encode()]
    made = dnnl.MemoryDesc.from_blob(b":".join(head + numbers) + b"\n" + bytes(payload))
    assert dnnl.MemoryDesc.from_blob(made.blob) == made
    assert made.get_size() >= 0
    repr(made)


def cases(data):
    """Parse a text as a case file that may not include others."""
    text = data.decode(errors="replace")
    found = Reader().cases(words_of_text(text, "f"), TESTS / "no such folder")
    for _, case in zip(range(MOST_CASES), found, strict=False):
        repr(case)


TARGETS = {"blob": (blob, InvalidArguments), "cases": (cases, CaseError)}


def main():
    """Run until ``-runs`` is reached; any undocumented error stops with the input."""
    target, documented = TARGETS[sys.argv.pop(1)]

    def one(data):
        try:
            target(data)
        except documented:
            counts["refused"] += 1
        else:
            counts["taken"] += 1
        if sum(counts.values()) % 10_000 == 0:
            print(counts, flush=True)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
