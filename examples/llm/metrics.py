"""What the server counts, as Prometheus reads it (text format 0.0.4)."""

import threading

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Histogram:
    """Counts of values up to each bound, their sum and number."""

    def __init__(self):
        self.counts, self.sum, self.count = [0] * len(BOUNDS), 0.0, 0

    def add(self, value):
        self.sum, self.count = self.sum + value, self.count + 1
        for k, bound in enumerate(BOUNDS):
            self.counts[k] += value <= bound

    def lines(self, name):
        for bound, count in zip(BOUNDS, self.counts, strict=True):
            yield f'{name}_bucket{{le="{bound}"}} {count}'
        yield f'{name}_bucket{{le="+Inf"}} {self.count}'
        yield f"{name}_sum {self.sum}"
        yield f"{name}_count {self.count}"


class Metrics:
    """Totals since the server began. Any thread may add and read."""

    def __init__(self):
        self._lock = threading.Lock()
        self._first, self._next = Histogram(), Histogram()
        self._tokens = self._steps = self._rows = 0
        self._done = dict.fromkeys(("stop", "length", "cancelled", "error"), 0)

    def token(self, seconds, first):
        """A token, so long after the one before it; the first, after the request came."""
        with self._lock:
            self._tokens += 1
            (self._first if first else self._next).add(seconds)

    def step(self, rows):
        """A decoding step of so many requests."""
        with self._lock:
            self._steps, self._rows = self._steps + 1, self._rows + rows

    def done(self, reason):
        with self._lock:
            self._done[reason] += 1

    def text(self, gauges):
        """Of all that is counted, and of `gauges`, numbers of now by name."""
        out = []

        def add(name, kind, what, lines):
            out.extend((f"# HELP llm_{name} {what}", f"# TYPE llm_{name} {kind}", *lines))

        with self._lock:
            for name, what, histogram in (
                ("first_token_seconds", "From a request to its first token", self._first),
                ("token_seconds", "From a token of a request to its next", self._next),
            ):
                add(name, "histogram", what, histogram.lines("llm_" + name))
            for name, what, value in (
                ("tokens_total", "Tokens drawn", self._tokens),
                ("steps_total", "Decoding steps", self._steps),
                ("step_rows_total", "Requests in decoding steps, summed", self._rows),
            ):
                add(name, "counter", what, [f"llm_{name} {value}"])
            ended = [f'llm_requests_total{{reason="{r}"}} {n}' for r, n in self._done.items()]
            add("requests_total", "counter", "Requests that ended", ended)
        for name, value in gauges.items():
            add(name, "gauge", name.replace("_", " "), [f"llm_{name} {value}"])
        return "\n".join(out) + "\n"
