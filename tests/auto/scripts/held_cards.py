"""Cards: hands dealt without replacement, ranked; a deck shuffled and cut."""

import itertools

import numpy as np

np.random.seed(52)
deck = np.arange(52)
np.random.shuffle(deck)
print(deck[:10], np.random.permutation(5), np.random.choice(deck, 3))


def kinds(hand):
    rank, suit = hand % 13, hand // 13
    counts = np.sort(np.bincount(rank, minlength=13))[::-1]
    flush = np.all(suit == suit[0])
    ordered = np.sort(rank)
    straight = counts[0] == 1 and ordered[-1] - ordered[0] == 4
    return flush, straight, counts[0], counts[1]


def name(hand):
    match kinds(hand):
        case (True, True, _, _):
            return "straight flush"
        case (_, _, 4, _):
            return "four"
        case (_, _, 3, 2):
            return "full house"
        case (True, *_):
            return "flush"
        case (_, True, _, _):
            return "straight"
        case (_, _, 3, _):
            return "three"
        case (_, _, 2, 2):
            return "two pairs"
        case (_, _, 2, _):
            return "pair"
    return "high"


hands = np.array([np.random.choice(52, 5, replace=False) for _ in range(300)])
names, counts = np.unique([name(h) for h in hands], return_counts=True)
print(names, counts, type(kinds(hands[0])[0]), kinds(hands[0]))
print({str(k): int(v) for k, v in zip(names, counts)})
red = np.isin(hands // 13, [1, 2]).sum(axis=1)
print(np.bincount(red, minlength=6), np.mean(red == 5))
pairs = np.array(list(itertools.combinations(range(4), 2)))
print(pairs.T, np.random.normal(size=(2, 2)), np.random.randint(1, 7, size=10).reshape(2, 5))
print(np.random.get_state()[2], np.random.uniform(), deck[deck > 48])
