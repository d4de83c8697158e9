"""Bits: packing, a checksum, a linear congruence, a bitmap font."""

import hashlib

import numpy as np

rng = np.random.Generator(np.random.MT19937(5))
data = rng.bytes(64)
octets = np.frombuffer(data, np.uint8)
print(hashlib.sha256(octets).hexdigest()[:16], np.unpackbits(octets[:2]), octets.sum())
table = np.arange(256, dtype=np.uint32)
for _ in range(8):
    table = np.where(table & 1, np.uint32(0xEDB88320) ^ (table >> 1), table >> 1)
crc = np.uint32(0xFFFFFFFF)
for octet in octets:
    crc = table[(crc ^ octet) & 0xFF] ^ (crc >> np.uint32(8))
print(hex(int(crc ^ np.uint32(0xFFFFFFFF))))
import zlib

print(hex(zlib.crc32(octets)), hex(zlib.crc32(memoryview(octets)[::1])))
state = np.uint64(1)
with np.errstate(over="ignore"):
    for _ in range(5):
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
print(state, np.bitwise_count(np.arange(8, dtype=np.uint8)), np.packbits([1, 0, 1, 1, 0, 0, 0, 1]))
print(octets[:4].view(">u4"), octets[:8].view("<u8").byteswap(), np.left_shift(1, np.arange(5)))
glyph = np.unpackbits(np.array([[24], [36], [66], [126], [66], [66]], np.uint8), axis=1)
print("\n".join("".join(" #"[b] for b in row) for row in glyph))
print(bytes(octets[:3]) == data[:3], octets.tobytes() == data, bytearray(octets[:2]))
