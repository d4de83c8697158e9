"""The results as one HTML page that needs nothing else: tables per group, and a plot per operation over sizes.

The plots are SVG written here: nanoseconds per element against the number of elements, both logarithmic, one
line per library, and dashed the machine's limit, measured in the same run. Colours follow the reader's
light or dark setting; a point's title gives its figures.
"""

import html
import math

import groups
import peers
import report

WIDTH, HEIGHT = 340, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 10, 30

STYLE = """
:root { --paper:#fcfcfb; --ink:#1d2329; --soft:#6b7480; --rule:#e3e5e8; --card:#fff; --good:#14804a; --near:#9a6700;
  --bad:#c0362c; --asnumpy:#d6336c; --numpy:#4b5563; --scipy:#0e7490; --numexpr:#a16207; --torch:#e8590c;
  --torch-compile:#b45309; --jax:#7048e8; --numba:#2f9e44; --limit:#98a1ab }
@media (prefers-color-scheme: dark) { :root { --paper:#14171a; --ink:#e6e8eb; --soft:#98a1ab; --rule:#2b3036;
  --card:#1a1e22; --good:#4ac585; --near:#e0b040; --bad:#ff7b6f; --asnumpy:#ff6b9d; --numpy:#b4bcc6; --scipy:#3bc9db;
  --numexpr:#ffd43b; --torch:#ff922b; --torch-compile:#e8a25c; --jax:#b197fc; --numba:#69db7c; --limit:#6b7480 } }
* { box-sizing:border-box }
body { margin:0 auto; max-width:1180px; padding:40px 24px 80px; background:var(--paper); color:var(--ink);
  font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif }
h1 { font-size:28px; font-weight:650; letter-spacing:-.02em; margin:0 0 4px }
h2 { font-size:19px; font-weight:620; margin:48px 0 2px; letter-spacing:-.01em }
h3 { font-size:13.5px; font-weight:600; margin:0 0 4px }
p { margin:4px 0 14px; color:var(--soft); max-width:76ch }
nav { display:flex; flex-wrap:wrap; gap:4px 14px; margin:18px 0; padding:10px 0; border-block:1px solid var(--rule) }
a { color:inherit; text-decoration-color:var(--soft); text-underline-offset:3px }
.scroll { overflow-x:auto }
table { border-collapse:collapse; font-size:13.5px; font-variant-numeric:tabular-nums; width:100% }
th { font-weight:500; color:var(--soft); text-align:right; padding:4px 10px; white-space:nowrap;
  border-bottom:1px solid var(--rule) }
td { text-align:right; padding:3px 10px; white-space:nowrap; border-bottom:1px solid var(--rule) }
th:first-child, td:first-child { text-align:left; padding-left:0 }
.met { color:var(--good); font-weight:600 } .near { color:var(--near); font-weight:600 }
.missed { color:var(--bad); font-weight:600 } .soft { color:var(--soft) }
.plots { display:grid; grid-template-columns:repeat(auto-fill,minmax(320px,1fr)); gap:14px; margin-top:14px }
figure { margin:0; padding:12px 12px 6px; background:var(--card); border:1px solid var(--rule); border-radius:8px }
svg { width:100%; height:auto; display:block; overflow:visible }
svg text { font:10px system-ui,sans-serif; fill:var(--soft) }
.grid { stroke:var(--rule); stroke-width:1 } .line { fill:none; stroke-width:1.6; stroke-linejoin:round }
.ours { stroke-width:2.6 } .limit { stroke:var(--limit); stroke-dasharray:4 3; stroke-width:1.3; fill:none }
.key { display:flex; flex-wrap:wrap; gap:4px 16px; margin:10px 0; font-size:13px }
.key i { display:inline-block; width:18px; height:3px; border-radius:2px; vertical-align:middle; margin-right:6px }
"""


def escape(text):
    return html.escape(str(text))


def colour(name):
    return f"var(--{name.replace('.', '-')})"


def decades(values):
    """The powers of ten that hold all values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


class Plot:
    """One operation over sizes: maps (elements, nanoseconds per element) to the picture."""

    def __init__(self, rows):
        self.rows = sorted(rows, key=lambda r: r["n"])
        self.names = [n for n in peers.NAMES if any(n in r["seconds"] for r in rows)]
        values = [s * 1e9 / r["n"] for r in rows for s in r["seconds"].values()]
        values += [r["limit"] * 1e9 / r["n"] for r in rows if r["limit"]]
        self.y = decades(values)
        self.x = decades([r["n"] for r in rows])

    def at(self, n, ns):
        x = (math.log10(n) - self.x[0]) / (self.x[1] - self.x[0])
        y = (math.log10(ns) - self.y[0]) / (self.y[1] - self.y[0])
        return (LEFT + x * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y * (HEIGHT - TOP - BOTTOM))

    def grid(self):
        out = []
        for e in range(self.y[0], self.y[1] + 1):
            _, y = self.at(10 ** self.x[0], 10.0**e)
            label = f"{10.0**e:g}" if -3 <= e <= 5 else f"1e{e}"
            out.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
                       f'<text x="{LEFT - 6}" y="{y + 3:.1f}" text-anchor="end">{label}</text>')  # fmt: skip
        for e in range(self.x[0], self.x[1] + 1):
            x, _ = self.at(10.0**e, 10.0 ** self.y[0])
            label = {0: "1", 1: "10", 2: "100"}.get(e, f"1e{e}")
            out.append(f'<text x="{x:.1f}" y="{HEIGHT - 12}" text-anchor="middle">{label}</text>')
        return "".join(out)

    def path(self, points):
        return " ".join(
            f"{'M' if i == 0 else 'L'}{x:.1f} {y:.1f}" for i, (x, y) in enumerate(points)
        )

    def series(self, name):
        rows = [r for r in self.rows if name in r["seconds"]]
        points = [self.at(r["n"], r["seconds"][name] * 1e9 / r["n"]) for r in rows]
        kind = "line ours" if name == peers.OURS else "line"
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{3 if name == peers.OURS else 2}" fill="{colour(name)}">'
            f"<title>{escape(name)}, {report.human(r['seconds'][name])} for {r['n']:,} elements</title></circle>"
            for (x, y), r in zip(points, rows, strict=True)
        )
        return f'<path class="{kind}" stroke="{colour(name)}" d="{self.path(points)}"/>{dots}'

    def limit(self):
        points = [self.at(r["n"], r["limit"] * 1e9 / r["n"]) for r in self.rows if r["limit"]]
        return f'<path class="limit" d="{self.path(points)}"/>' if points else ""

    def svg(self, title):
        lines = "".join(self.series(n) for n in reversed(self.names))
        return (f'<figure><h3>{escape(title)}</h3><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
                f'aria-label="{escape(title)}: nanoseconds per element over sizes">{self.grid()}{self.limit()}{lines}'
                f"</svg></figure>")  # fmt: skip


def plots(rows):
    """A plot for each family measured at three sizes or more, one section per number of threads."""
    out = []
    for threads in sorted({r["threads"] for r in rows}):
        families = {}
        for row in rows:
            if row["family"] and row["n"] and row["threads"] == threads and row["seconds"]:
                families.setdefault((row["group"], row["family"]), []).append(row)
        figures = [Plot(these).svg(family) for (group, family), these in families.items()
                   if group != "elementary" and len({r["n"] for r in these}) >= 3]  # fmt: skip
        if figures:
            out.append(f'<h2 id="plots-{threads}">Over sizes, {threads} thread{"s" * (threads > 1)}</h2>'
                       "<p>Nanoseconds per element against the number of elements; lower is faster. For products and "
                       "transforms the size is one side.</p>" + legend() + f'<div class="plots">{"".join(figures)}</div>')  # fmt: skip
    return "".join(out)


def legend():
    keys = [f'<span><i style="background:{colour(n)}"></i>{escape(n)}</span>' for n in peers.NAMES]
    keys.append('<span><i style="background:var(--limit)"></i>limit of the machine</span>')
    return f'<div class="key">{"".join(keys)}</div>'


def cells(row, others):
    state = report.verdict(row)
    value, bar, limit = report.ratio(row), report.share(row), report.of_limit(row)
    ours, base = report.figure(row, peers.OURS), report.figure(row, peers.BASE)
    yield f"<td>{escape(row['label'])}</td><td>{ours}</td><td>{base}</td>"
    yield f'<td class="{state}">{"" if value is None else f"{value:.2f}"}</td>'
    yield f'<td class="soft">{"" if bar is None else f"{bar:.2f}"}</td>'
    for name in others:
        other = report.ratio(row, name)
        yield f'<td class="{"missed" if other and other > 1 else ""}">{"" if other is None else f"{other:.2f}"}</td>'
    yield f'<td>{"" if limit is None else f"{limit:.0%}"}</td><td class="soft">{report.kept(row)}</td>'


def table(group, rows):
    out = []
    for threads in sorted({r["threads"] for r in rows}):
        these = [r for r in rows if r["threads"] == threads]
        others = [n for n in peers.NAMES if n not in (peers.OURS, peers.BASE)
                  and any(n in r["seconds"] for r in these)]  # fmt: skip
        head = ["", "AsNumpy", "NumPy", "ratio", "bar", *others, "of limit", "kept"]
        body = "".join(f"<tr>{''.join(cells(r, others))}</tr>" for r in these)
        out.append(f'<div class="scroll"><table><caption class="soft" style="text-align:left">{threads} '
                   f"thread{'s' * (threads > 1)}</caption><tr>{''.join(f'<th>{escape(h)}</th>' for h in head)}</tr>"
                   f"{body}</table></div>")  # fmt: skip
    return f'<h2 id="{group}">{group}</h2><p>{escape(groups.GROUPS[group])}.</p>{"".join(out)}'


def summary(rows):
    out = []
    for group in groups.GROUPS:
        for threads in sorted({r["threads"] for r in rows if r["group"] == group}):
            these = [r for r in rows if r["group"] == group and r["threads"] == threads]
            states = [report.verdict(r) for r in these]
            barred = sum(s in ("met", "near", "missed") for s in states)
            mean = report.geometric_mean(these)
            state = "met" if states.count("met") == barred else "missed"
            out.append(f'<tr><td><a href="#{group}">{group}</a></td><td>{threads}</td><td>{len(these)}</td>'
                       f'<td class="{state}">{states.count("met")} of {barred}</td>'
                       f"<td>{'' if mean is None else f'{mean:.2f}'}</td><td>{states.count('absent') or ''}</td></tr>")  # fmt: skip
    head = "".join(
        f"<th>{h}</th>"
        for h in ("group", "threads", "rows", "bars met", "geometric mean", "absent")
    )
    return f'<h2>Summary</h2><div class="scroll"><table><tr>{head}</tr>{"".join(out)}</table></div>'


def peaks(results):
    """The machine's limits, in words."""
    parts = []
    for threads, limits in results["limits"].items():
        speeds = dict(map(tuple, limits["triad"]))
        near = {name: speeds[min(speeds, key=lambda s: abs(s - size))]  # noqa: B023
                for name, size in (("16 KiB", 1 << 14), ("256 KiB", 1 << 18), ("8 MiB", 1 << 23), ("256 MiB", 1 << 28))}  # fmt: skip
        triad = ", ".join(f"{name} {speed / 1e9:.0f}" for name, speed in near.items())
        parts.append(f"{threads} thread{'s' if threads != '1' else ''}: multiply-add peak {limits['f64'] / 1e9:.0f} GFLOP/s "
                     f"in float64, {limits['f32'] / 1e9:.0f} in float32; triad in GB/s over {triad}.")  # fmt: skip
    return "".join(f"<p>{escape(p)}</p>" for p in parts)


def render(results):
    """The whole page."""
    rows, machine = results["rows"], results["machine"]
    present = [g for g in groups.GROUPS if any(r["group"] == g for r in rows)]
    versions = ", ".join(f"{n} {v}" for n, v in results["versions"].items())
    links = "".join(f'<a href="#{g}">{g}</a>' for g in present)
    links += "".join(
        f'<a href="#plots-{t}">over sizes, {t}</a>' for t in sorted({r["threads"] for r in rows})
    )
    tables = "".join(
        table(g, [r for r in rows if r["group"] == g]) for g in present if g != "sizes"
    )
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>AsNumpy: speeds</title><style>{STYLE}</style><h1>AsNumpy: speeds</h1>"
        f"<p>{escape(results['started'])}, {escape(machine['cpu'])}, Python {escape(machine['python'])}; {escape(versions)}. "
        "A ratio is AsNumpy's time over the other library's, so below 1 is faster; each figure is the median of the samples "
        f"that a native loop before and after found undisturbed (up to {results['repeats']}, “!” where a cap ended the "
        f"sampling first; with fewer than five the faster half of all samples stands in), the libraries interleaved in one process.</p>{peaks(results)}<nav>{links}</nav>"
        f"{summary(rows)}{plots(rows)}{tables}</html>\n"
    )
