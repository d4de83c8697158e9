"""memory_summary: the statistics as a table that people can read."""

from .. import _core


def size(nbytes):
    """``nbytes`` in the unit that leaves one to four digits before the point: ``"3.20 MiB"``."""
    if abs(nbytes) < 1024:
        return f"{nbytes} B"
    value, units = nbytes / 1024, ["GiB", "MiB"]
    unit = "KiB"
    while abs(value) >= 1024 and units:
        value, unit = value / 1024, units.pop()
    return f"{value:.2f} {unit}"


def share(part, whole):
    """``part`` of ``whole`` in per cent, as text; a dash where there is nothing."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def rows():
    """The lines of the table: (name, value), or (heading, None)."""
    s = _core.memory_stats()
    limit, split, threshold = _core._memory_settings()
    requests = s["pool_hits"] + s["device_allocations"]
    yield "held", None
    yield "in use by arrays", f"{size(s['bytes_in_use'])} (peak {size(s['peak_bytes'])})"
    yield "cached", size(s["bytes_cached"])
    yield (
        "together",
        (
            f"{size(s['bytes_in_use'] + s['bytes_cached'])} in {s['segments']} segments"
            f" (peak {size(s['peak_reserved'])})"
        ),
    )
    yield "requests", None
    for level, where in (
        ("magazine", "a thread's magazine"),
        ("bin", "bins"),
        ("segment", "segments"),
    ):
        hits = s[f"{level}_hits"]
        yield f"served from {where}", f"{hits} ({share(hits, requests)})"
    yield (
        "from the device",
        f"{s['device_allocations']} ({share(s['device_allocations'], requests)})",
    )
    yield "given back to the device", str(s["device_frees"])
    yield "got ahead for a recurring step", str(s["prepared"])
    yield (
        "bytes",
        f"{size(s['bytes_allocated'])}, of which {share(s['bytes_reused'], s['bytes_allocated'])} reused",
    )
    yield "settings", None
    yield "limit", size(limit) if limit else "none"
    yield "pieces are not cut above", size(split) if split else "any size is cut"
    yield (
        "collection starts at",
        f"{100 * threshold:g} %" if threshold else "the largest use so far",
    )


def memory_summary():
    """What the memory of the current device holds and has done, as a table.

    Returns
    -------
    str

    Examples
    --------
    >>> import asnumpy as np
    >>> "in use by arrays" in np.memory_summary()
    True
    """
    lines = list(rows())
    width = max(len(name) for name, value in lines if value is not None)
    device = f"{_core.empty(0).device}"
    text = [f"memory of {device}"]
    for name, value in lines:
        text.append(f"  {name}" if value is None else f"    {name:<{width}}  {value}")
    return "\n".join(text)
