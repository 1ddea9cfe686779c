# SPDX-License-Identifier: Apache-2.0
"""Tables that one program writes and tests read: JSON, with a line per row."""

import json


def read(path):
    """Return the table in a file; an empty one without the file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(path, table):
    """Write a table of rows by name."""
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in table.items())
    path.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
