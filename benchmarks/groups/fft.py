"""Fourier transforms: powers of two, primes, mixed sizes, batches, planes. SciPy's pocketfft is a peer of its own."""

from rows import Row, normal

BAR = (1.5, 1.5)
POWERS = (64, 256, 1024, 4096, 16_384, 65_536, 1 << 20)
PRIMES = (101, 1009, 10_007, 100_003)
MIXED = (100, 1000, 10_000, 100_000)


def row(label, call, inputs, scipy=True, quick=False, **more):
    peers = {"numexpr": ""}
    if scipy:
        peers["scipy"] = call.replace("np.fft.", "sp.fft.")
    return Row("fft", label, call, inputs, bar=BAR, peers=peers, quick=quick, **more)


def line(n, kind):
    dtype = "float64" if kind == "rfft" else "complex128"
    return row(f"{kind}, {n}", f"np.fft.{kind}(a)", {"a": normal(n, dtype)}, quick=n in (1024, 65_536) and kind != "ifft",
               family=kind, n=n)  # fmt: skip


def rows():
    plane = {
        "g": normal((1024, 1024), "complex128"),
        "r": normal((1024, 1024)),
        "h": normal((256, 256), "complex128"),
    }
    batch = {"b": normal((1000, 1024), "complex128"), "s": normal((1000, 1024))}
    return [
        *(line(n, kind) for kind in ("fft", "ifft", "rfft") for n in POWERS),
        *(line(n, "fft") for n in PRIMES), *(line(n, kind) for kind in ("fft", "rfft") for n in MIXED),
        row("fft of complex64, 65536", "np.fft.fft(a)", {"a": normal(65_536, "complex64")}),
        row("irfft, 65536", "np.fft.irfft(a)", {"a": normal(32_769, "complex128")}),
        row("fft2, 256^2", "np.fft.fft2(h)", plane, quick=True), row("fft2, 1024^2", "np.fft.fft2(g)", plane),
        row("rfft2, 1024^2", "np.fft.rfft2(r)", plane), row("ifft2, 1024^2", "np.fft.ifft2(g)", plane),
        row("fft of rows, (1000, 1024)", "np.fft.fft(b)", batch, quick=True),
        row("rfft of rows, (1000, 1024)", "np.fft.rfft(s)", batch),
        row("fft of columns, (1000, 1024)", "np.fft.fft(b, axis=0)", batch),
        row("fftshift, 1024^2", "np.fft.fftshift(g)", plane),
    ]  # fmt: skip
