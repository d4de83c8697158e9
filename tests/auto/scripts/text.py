"""Words counted and compared: arrays of strings."""

import numpy as np

text = """the quick brown fox jumps over the lazy dog the fox sleeps and the dog barks"""
words = np.array(text.split())
print(words.dtype, words.shape, words[:3])
unique, inverse, counts = np.unique(words, return_inverse=True, return_counts=True)
for i in np.argsort(-counts, kind="stable")[:4]:
    print(unique[i], counts[i])
lengths = np.char.str_len(words)
print(lengths, lengths.mean())
print(np.char.upper(words[:3]), np.char.add(words[:2], "!"))
print(np.strings.find(words, "o")[:6], np.char.startswith(words, "b"))
print(np.where(lengths > 4, words, "-"))
print(np.sort(words)[::-1][:5])
print(words == "the", np.count_nonzero(words == "the"))
letters, n = np.unique(np.array(list(text.replace(" ", ""))), return_counts=True)
print(dict(zip(letters.tolist()[:5], n.tolist())))
print(isinstance(words, np.ndarray), "fox" in words, np.array(["a", "bb"]).astype("S2"))
codes = np.frombuffer(text.encode(), dtype=np.uint8)
print(codes[:8], codes.mean().round(4), np.bincount(codes).argmax())
