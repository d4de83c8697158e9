"""Lines of a spectrum: noise, a baseline, peaks, their widths and a table."""

import numpy as np
from scipy import signal, stats


class Spectrum:
    def __init__(self, energy, counts):
        self.energy, self.counts = energy, counts

    @property
    def baseline(self):
        return signal.medfilt(self.counts, 101)

    def smooth(self, width):
        return Spectrum(self.energy, signal.savgol_filter(self.counts, width, 3))


rng = np.random.default_rng(11)
energy = np.linspace(0, 100, 2001)
lines = {"Fe": (6.4, 120.0), "Cu": (8.0, 60.0), "Ag": (22.1, 90.0), "W": (59.3, 45.0)}
counts = 40 * np.exp(-energy / 30)
for centre, height in lines.values():
    counts += height * np.exp(-0.5 * ((energy - centre) / 0.3) ** 2)
spectrum = Spectrum(energy, rng.poisson(counts).astype(float))

net = spectrum.smooth(11).counts - spectrum.baseline
peaks, about = signal.find_peaks(net, height=20, distance=15)
widths, level, left, right = signal.peak_widths(net, peaks, rel_height=0.5)
step = energy[1] - energy[0]
for name, (centre, _) in lines.items():
    nearest = np.abs(energy[peaks] - centre).argmin()
    print(f"{name:3s} {energy[peaks][nearest]:7.2f} keV  fwhm {widths[nearest] * step:5.2f}")
print("heights", np.sort(about["peak_heights"])[::-1].astype(int))
fit = stats.linregress([c for c, _ in lines.values()], np.sort(energy[peaks])[:4])
print(f"gain {fit.slope:.4f}, r {fit.rvalue:.5f}", type(peaks), peaks.dtype)
freq, power = signal.welch(spectrum.counts - spectrum.counts.mean(), fs=1 / step, nperseg=256)
print(freq[:4], power.argmax(), power.shape)
