# SPDX-License-Identifier: Apache-2.0
"""The report of ``check-gpu``: its verdict, and a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

#: Notes on results, by nature of the device.
NATURES = {
    "gpu": "A real GPU executed everything.",
    "simulated gpu": (
        "NOT A REAL GPU: a driver that simulates one. Kernels were compiled and submitted, nothing "
        "was executed, no value was compared."
    ),
    "executing gpu": (
        "NOT A REAL GPU: the CPU executed oneDNN's OpenCL kernels for GPUs. Values were compared; "
        "machine code of GPUs did not run, and times mean nothing."
    ),
    "cpu": "NOT A GPU: the CPU executed everything.",
}
_BAD = ("failed", "crashed", "hung")
#: Suffixes of device names; the executing GPU's name is already distinct.
_CALLED = {"simulated gpu": " [simulated]"}


def _names(devices: Iterable[dict[str, Any]]) -> str:
    return ", ".join(f"{d['name']}{_CALLED.get(d['nature'], '')} ({d['backend']})" for d in devices)


def verdict(data: dict[str, Any]) -> dict[str, Any]:
    """Return ``word``, ``text`` and exit ``status`` of a run.

    ``data``: the report's data, as collected by ``main`` in ``command.py``.
    """
    results, checked = data["results"], data["checked"]
    bad = [r for r in results if r["status"] in _BAD]
    natures = {d["nature"] for d in checked}
    incomplete = [r for r in results if r["status"] == "not run"]
    interrupted = data.get("interrupted", False)
    if bad:
        word, status = "FAILED", 1
    elif interrupted:
        word, status = "INCOMPLETE", 0
    elif not checked:
        word, status = "NO DEVICE", 3
    elif data["asked"] is None and natures == {"cpu"}:
        word, status = "NO GPU", 3
    elif natures == {"simulated gpu"}:
        word, status = "SUBMITTED, NOTHING EXECUTED", 0
    else:
        word, status = ("INCOMPLETE" if incomplete else "PASSED"), 0
    parts = [f"{len(results) - len(bad) - len(incomplete)} of {len(results)} checks without fault"]
    parts += [f"{r['check']} {r['status']} on {r['device'] or 'this machine'}" for r in bad]
    parts += [f"{r['check']} not run on {r['device']}" for r in incomplete]
    if interrupted:
        parts, status = [*parts, "ended by Ctrl-C before the others"], 130
    place = _names(checked) or "no device"
    notes = " ".join(NATURES[n] for n in NATURES if n in natures)
    text = f"{word} on {place}: {'; '.join(parts)}. {notes}".strip()
    return {"word": word, "text": text, "status": status}


_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: auto; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; margin: .5rem 0; }
td, th { border-bottom: 1px solid var(--line); padding: .25rem .7rem; text-align: left;
  vertical-align: top; } th { font-weight: 600; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
pre { white-space: pre-wrap; margin: 0; font-size: 12px; }
.verdict { padding: .8rem 1rem; border-left: .4rem solid #888; background: var(--soft); }
.PASSED { border-color: #2a9d4a; } .FAILED { border-color: #d33; }
.mark { border-left: .4rem solid #888; padding-left: .5rem; }
.mark.passed { border-color: #2a9d4a; } .mark.submitted { border-color: #d90; }
.mark.failed, .mark.crashed, .mark.hung { border-color: #d33; }
.bar { background: var(--soft); width: 8rem; height: .8rem; }
@media (max-width: 40rem) {
  .overview thead { display: none; } .overview td { border: 0; display: inline-block; }
  .overview tr { display: block; border-bottom: 1px solid var(--line); }
  .overview td:nth-child(1) { font-weight: 600; } .overview td:nth-child(4) { display: block; }
  .overview td:nth-child(2):empty, .overview td:nth-child(5) { display: none; }
}
.bar div { background: #47a; height: 100%; }
"""


def _cell(name: str, value: Any) -> str:
    if name == "share of the roof":
        width = min(max(value, 0), 1) * 100
        return f'<td>{value:.0%}<div class="bar"><div style="width:{width:.0f}%"></div></div></td>'
    if name == "status":
        return f'<td><span class="mark {escape(str(value))}">{escape(str(value))}</span></td>'
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'<td class="number">{value:g}</td>'
    text = escape(str(value))
    return f"<td><pre>{text}</pre></td>" if "\n" in text else f"<td>{text}</td>"


def table(rows: list[dict[str, Any]], name: str = "") -> str:
    """Return rows as an HTML table; the first one has the column names. ``name``: CSS class."""
    if not rows:
        return ""
    names = list(rows[0])
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    lines = ["".join(_cell(n, row.get(n, "")) for n in names) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    opened = f'<table class="{name}">' if name else "<table>"
    return f"{opened}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _curve(values: list[float]) -> str:
    """Return an SVG of the loss by step."""
    high = max(values) or 1.0
    points = " ".join(
        f"{600 * i / max(len(values) - 1, 1):.1f},{120 - 115 * v / high:.1f}"
        for i, v in enumerate(values)
    )
    return (
        f'<p>Loss of each step, from 0 to {high:.2f}:</p><svg viewBox="0 0 600 120" width="600" '
        f'style="max-width:100%"><polyline points="{points}" fill="none" stroke="#47a" '
        'stroke-width="1.5"/></svg>'
    )


def _section(result: dict[str, Any]) -> str:
    figures, rows = result["figures"], list(result["rows"])
    parts = [f"<p>{escape(result['summary'])} ({result['seconds']:g} s)</p>"]
    if figures.get("losses"):
        parts.append(_curve(figures["losses"]))
    if "last lines" in figures:
        parts.append(f"<pre>{escape(figures['last lines'])}</pre>")
    inner = table(rows)
    if len(rows) > 20:
        inner = f"<details><summary>{len(rows)} rows</summary>{inner}</details>"
    title = f"{result['check']} on {result['device']}: {result['status']}"
    return (
        f'<h2 class="mark {escape(result["status"])}">{escape(title)}</h2>{"".join(parts)}{inner}'
    )


def _said(value: Any) -> Any:
    """Format a fact for readers: yes, no, or a dash for nothing."""
    return {True: "yes", False: "no", None: "-"}.get(value, value)


def _machine(results: list[dict[str, Any]]) -> str:
    """Return a section with versions, devices and settings of the machine."""
    listed = [r for r in results if r["check"] == "devices" and r["figures"].get("environment")]
    if not listed:
        return "<p>No list of devices could be made.</p>"
    data = listed[-1]["figures"]["environment"]
    names = {
        "filter_string": "device",
        "name": "name",
        "nature": "nature",
        "driver_version": "driver",
        "engine": "used by oneDNN",
        "refusal": "why not",
    }
    devices = [
        {title: _said(d.get(n)) for n, title in names.items()}
        | {"memory": f"{d['memory_bytes'] / 2**30:.1f} GiB"}
        for d in data["devices"]
    ]
    versions = [{"part": n, "version": v or "-"} for n, v in data["versions"].items()]
    settings = [{"variable": n, "value": v} for n, v in data["settings"].items()]
    missing = [{"missing": m["what"], "type": m["next"] or "-"} for m in data["missing"]]
    nodes = ", ".join(listed[-1]["figures"].get("nodes", [])) or "none"
    return "".join(
        [table(devices), f"<p>Device nodes: {escape(nodes)}</p>", table(missing), table(versions)]
        + [table(settings)]
    )


def page(data: dict[str, Any]) -> str:
    """Return the report as a self-contained HTML page."""
    top = data["verdict"]
    overview = [
        {n: r[n] for n in ("check", "device", "status", "summary", "seconds")}
        for r in data["results"]
    ]
    sections = "".join(_section(r) for r in data["results"] if r["check"] != "devices")
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>sycl_dnn check-gpu: {escape(top["word"])}</title><style>{_STYLE}</style></head><body>
<h1>sycl_dnn on {escape(_names(data["checked"]) or "no device")}</h1>
<p class="verdict {escape(top["word"].split(",")[0])}"><strong>{escape(top["text"])}</strong></p>
<p>{escape(data["when"])}, {data["minutes"]:g} minutes.</p>
{table(overview, "overview")}
<h2>Backends</h2>{table(data["backends"])}
<h2>Machine</h2>{_machine(data["results"])}
{sections}
</body></html>
"""
