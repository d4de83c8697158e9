"""The summary of a profile as text."""

import os

from ._profile_bubbles import lines as bubble_lines


def short(line):
    """The last two parts of a path, and the line."""
    return os.sep.join(line.split(os.sep)[-2:])


def _table(header, rows):
    widths = [max(len(r[i]) for r in [header, *rows]) for i in range(len(header))]
    lines = []
    for row in [header, ["-" * w for w in widths], *rows]:
        cells = [
            row[0].ljust(widths[0]),
            *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _cut(text, width=48):
    return text if len(text) <= width else text[: width - 3] + "..."


def _size(nbytes):
    return f"{nbytes / 1e6:.1f}" if nbytes < 1e10 else f"{nbytes / 1e6:.0f}"


def _rate(value):
    return f"{value:.2f}" if value else "-"


def summary(p, by, top):
    from ._profile import limits

    rows = p.rows(by)
    bandwidth, flops = limits()
    computing = [r for r in rows if r.kind not in ("synchronize", "plan")]
    header = [by, "calls", "total ms", "mean us", "time", "MB", "GB/s", "GFLOP/s", "of limit"]
    cells = [
        [_cut(short(r.name) if by == "line" else r.name) or "(no line)", str(r.calls), f"{r.seconds * 1e3:.3f}",
         f"{r.mean * 1e6:.2f}", f"{r.share:.1%}", _size(r.bytes), _rate(r.gbytes_per_second), _rate(r.gflops),
         f"{r.of_limit:.0%}"]
        for r in computing[:top]
    ]  # fmt: skip
    lines = _table(header, cells)
    if len(computing) > top:
        lines.append(f"... and {len(computing) - top} more")
    lines.append("")
    busy = sum(r.seconds for r in computing)
    lines.append(
        f"{p.seconds * 1e3:.3f} ms in all, {busy * 1e3:.3f} ms ({busy / p.seconds:.1%}) of them in operations and copies"
    )
    lines.append(
        f"this machine: {bandwidth / 1e9:.1f} GB/s, {flops / 1e9:.1f} GFLOP/s (float32), as measured"
    )
    curve = p.memory()
    lines.append(
        f"memory: {max(b for _, b in curve) / 1e6:.1f} MB at most, {curve[-1][1] / 1e6:.1f} MB at the end"
    )
    waits = [(k, v) for k, v in p.totals().items() if k[0] == "synchronize"]
    if waits:
        calls = sum(v[0] for _, v in waits)
        lines.append(f"synchronisations: {calls}")
        for (_, why, line), v in sorted(waits, key=lambda w: -w[1][0])[:top]:
            lines.append(f"  {v[0]:6d} x  {why}  {short(line)}")
    lines += bubble_lines(p.bubbles(), top)
    plans = [r for r in rows if r.kind == "plan"]
    if plans:
        lines.append(f"plans made: {plans[0].calls}, {plans[0].seconds * 1e3:.3f} ms")
    if p.dropped:
        lines.append(f"events: the first {p.dropped} are no longer held; the totals have them")
    return "\n".join(lines)
