"""A low pass by the FFT: two tones and noise."""

import numpy as np
from numpy.fft import irfft, rfft, rfftfreq

fs = 1000
t = np.arange(0, 1, 1 / fs)
rng = np.random.default_rng(3)
signal = np.sin(2 * np.pi * 50 * t) + 0.5 * np.sin(2 * np.pi * 120 * t)
noisy = signal + 0.3 * rng.standard_normal(t.size)
spectrum = rfft(noisy)
freq = rfftfreq(t.size, 1 / fs)
power = np.abs(spectrum) ** 2 / t.size
peaks = np.argsort(power)[::-1][:2]
print("peaks at", np.sort(freq[peaks]))
spectrum[freq > 150] = 0
clean = irfft(spectrum, n=t.size)
print(f"noise before {np.std(noisy - signal):.6f}, after {np.std(clean - signal):.6f}")
window = np.hanning(64)
frames = np.lib.stride_tricks.sliding_window_view(noisy, 64)[::32] * window
print(frames.shape, np.round(np.abs(np.fft.fft(frames, axis=1))[:3, :4], 5))
print(np.fft.fftshift(np.fft.fftfreq(6)), np.fft.fftfreq(5, 0.1))
