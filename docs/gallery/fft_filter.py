"""
A filter by Fourier transforms
==============================

Three tones under noise: the spectrum shows them, what lies below a threshold is set to zero, and
the way back gives the tones without the noise.
"""

import asnumpy as np
import matplotlib.pyplot as plt

count = 4096
rate = 1024.0  # samples a second

rng = np.random.default_rng(2)
t = np.arange(count) / rate
tones = np.sin(2 * np.pi * 40 * t) + 0.7 * np.sin(2 * np.pi * 97 * t + 1)
tones += 0.5 * np.sin(2 * np.pi * 180 * t)
heard = tones + 1.5 * rng.standard_normal(count)

spectrum = np.fft.rfft(heard)
frequency = np.fft.rfftfreq(count, 1 / rate)
size = np.abs(spectrum) * 2 / count
spectrum[size < 0.3] = 0
clean = np.fft.irfft(spectrum, count)

fig, (top, middle, bottom) = plt.subplots(3, 1, figsize=(8, 6.4))
top.plot(t[:256], heard[:256], lw=0.8)
top.set(title="what is heard", xlabel="seconds")
middle.plot(frequency, size, lw=0.8)
middle.axhline(0.3, color="tab:red", ls="--", lw=1)
middle.set(title="its spectrum, and the threshold", xlabel="Hz")
bottom.plot(t[:256], tones[:256], lw=3, alpha=0.4, label="the tones")
bottom.plot(t[:256], clean[:256], lw=1, label="what the filter leaves")
bottom.set(xlabel="seconds")
bottom.legend(loc="upper right")
fig.tight_layout()
plt.show()
