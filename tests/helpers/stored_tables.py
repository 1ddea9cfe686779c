# SPDX-License-Identifier: Apache-2.0
"""Tables that one program writes and tests read: JSON, a line for all names of equal rows."""

import json


def read(path):
    """Return the table in a file; an empty one without the file."""
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return {name: row for names, row in rows for name in names}


def write(path, table):
    """Write a table of rows by name."""
    names = {}
    for name, row in table.items():
        names.setdefault(json.dumps(row), []).append(name)
    rows = ",\n".join(f"[{json.dumps(equal)}, {row}]" for row, equal in names.items())
    path.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
