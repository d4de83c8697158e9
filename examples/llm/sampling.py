"""The next token of logits: greedy, or drawn by temperature, top-k and top-p (Holtzman et al., 2020)."""

import dataclasses

import numpy


@dataclasses.dataclass(frozen=True)
class Sampling:
    """temperature 0: the largest logit. top_k 0: any number of tokens. seed None: another each time."""

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None

    def __post_init__(self):
        for name, value, allowed, right in (
            ("temperature", self.temperature, "0 to 2", 0 <= self.temperature <= 2),
            ("top_k", self.top_k, "0 or more", self.top_k >= 0),
            ("top_p", self.top_p, "over 0, at most 1", 0 < self.top_p <= 1),
        ):
            if not right:
                raise ValueError(f"{name} is {value}; it may be {allowed}")


class Sampler:
    """Draws one sequence's tokens; two with the same seed draw the same of the same logits."""

    def __init__(self, sampling):
        self.sampling = sampling
        self._random = numpy.random.default_rng(sampling.seed)

    def __call__(self, logits):
        """A token of NumPy's logits (vocabulary,)."""
        if self.sampling.temperature == 0:
            return int(logits.argmax())
        tokens, p = candidates(logits, self.sampling)
        return int(tokens[self._random.choice(len(p), p=p)])


def candidates(logits, sampling):
    """Tokens that may be drawn, the likeliest first, and their probabilities.

    top-k first, then the fewest whose probabilities (of those k) reach top_p.
    """
    logits = logits.astype(numpy.float64) / sampling.temperature
    order = numpy.argsort(-logits, kind="stable")[: sampling.top_k or None]
    p = numpy.exp(logits[order] - logits[order[0]])
    p /= p.sum()
    kept = int(numpy.searchsorted(p.cumsum(), sampling.top_p)) + 1
    return order[:kept], p[:kept] / p[:kept].sum()
