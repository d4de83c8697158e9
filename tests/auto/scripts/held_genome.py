"""Global alignment of two sequences, and how often words of three letters occur."""

import itertools

import numpy as np

LETTERS = b"ACGT"


def encode(text):
    table = np.full(256, -1, dtype=np.int8)
    table[np.frombuffer(LETTERS, dtype=np.uint8)] = np.arange(4)
    codes = table[np.frombuffer(text.encode(), dtype=np.uint8)]
    if (codes < 0).any():
        raise ValueError(f"not a letter at {np.flatnonzero(codes < 0).tolist()}")
    return codes


def align(a, b, gap=-2):
    score = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    score[:, 0] = gap * np.arange(len(a) + 1)
    score[0] = gap * np.arange(len(b) + 1)
    same = np.where(a[:, None] == b, 1, -1)
    for i, j in itertools.product(range(1, len(a) + 1), range(1, len(b) + 1)):
        score[i, j] = max(
            score[i - 1, j - 1] + same[i - 1, j - 1], score[i - 1, j] + gap, score[i, j - 1] + gap
        )
    i, j, pairs = len(a), len(b), []
    while i and j:
        if score[i, j] == score[i - 1, j - 1] + same[i - 1, j - 1]:
            i, j = i - 1, j - 1
            pairs.append((i, j))
        elif score[i, j] == score[i - 1, j] + gap:
            i -= 1
        else:
            j -= 1
    return score, np.array(pairs[::-1])


rng = np.random.RandomState(3)
first = "".join(rng.choice(list("ACGT"), 30))
second = first[:10] + "GATTACA" + first[14:]
score, pairs = align(encode(first), encode(second))
print(first, second, score[-1, -1], score.max(), sep="\n")
print(pairs.T)
words = encode(second)[:-2] * 16 + encode(second)[1:-1] * 4 + encode(second)[2:]
counts = np.bincount(words, minlength=64).reshape(4, 4, 4)
print(counts.sum(axis=(1, 2)), np.unravel_index(counts.argmax(), counts.shape))
entropy = counts[counts > 0] / counts.sum()
print(round(float(-(entropy * np.log2(entropy)).sum()), 6))
try:
    encode("ACXGN")
except ValueError as error:
    print("error:", error)
