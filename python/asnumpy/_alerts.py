"""Alerts of asnumpy.monitor: a metric, a threshold, and what is called when the one passes the other.

Rules are looked at whenever the metrics are collected, on the thread that collects. A rule calls when it begins to
hold, once, and again after it has not held in between: a scrape every ten seconds is no call every ten seconds. What a
callback raises is counted and printed, and stops neither the collection nor the program.
"""

import sys
import threading
import traceback

_lock = threading.Lock()
_rules = []


class Alert:
    """A rule, as monitor.alert adds it.

    Attributes
    ----------
    metric : str
        The name of the samples, as a scrape shows them.
    threshold : float
    below : bool
        Whether it holds below the threshold, not above.
    labels : dict
        Samples count that have these.
    active : bool
        Whether it held when the metrics were collected last.
    fired, errors : int
        How often it began to hold; how often its callback raised.
    error : str or None
        What the callback raised last.

    Parameters
    ----------
    metric, threshold, callback, below, labels
        As of monitor.alert.

    Examples
    --------
    >>> import asnumpy as np
    >>> rule = np.monitor.alert("asnumpy_memory_bytes", 1e9, print, labels={"state": "in_use"})
    >>> rule.active, rule.fired
    (False, 0)
    >>> rule.remove()
    """

    def __init__(self, metric, threshold, callback, below, labels):
        self.metric, self.threshold, self.callback = metric, threshold, callback
        self.below, self.labels = below, labels
        self.active, self.fired, self.errors, self.error = False, 0, 0, None

    def remove(self):
        """Ends the rule; nothing happens the second time.

        Returns
        -------
        None

        Examples
        --------
        >>> import asnumpy as np
        >>> np.monitor.alert("asnumpy_memory_bytes", 1e9, print).remove()
        """
        with _lock:
            if self in _rules:
                _rules.remove(self)

    def __repr__(self):
        sign = "<" if self.below else ">"
        labels = ",".join(f'{k}="{v}"' for k, v in self.labels.items())
        where = f"{{{labels}}}" if labels else ""
        state = "active" if self.active else "quiet"
        failed = f", {self.errors} callbacks failed ({self.error})" if self.errors else ""
        return f"<asnumpy.monitor.Alert {self.metric}{where} {sign} {self.threshold:g}: {state}, fired {self.fired}{failed}>"

    def _holds(self, value):
        return value < self.threshold if self.below else value > self.threshold

    def _look(self, samples):
        """Of the samples that count the one that is furthest beyond the threshold decides."""
        mine = [
            s for s in samples if s.name == self.metric and self.labels.items() <= s.labels.items()
        ]
        beyond = [s for s in mine if self._holds(s.value)]
        with _lock:  # of two collections at a time one finds that it began to hold
            before, self.active = self.active, bool(beyond)
            if before or not beyond:
                return
            self.fired += 1
        worst = (min if self.below else max)(beyond, key=lambda s: s.value)
        try:
            self.callback(self, worst.value, dict(worst.labels))
        except Exception as error:  # noqa: BLE001 - it is the program's, and must not end the collection
            self.errors += 1
            self.error = f"{type(error).__name__}: {error}"
            print(f"asnumpy.monitor: the callback of {self!r} raised:", file=sys.stderr)
            traceback.print_exc()


def add(metric, threshold, callback, below, labels):
    rule = Alert(metric, float(threshold), callback, bool(below), dict(labels or {}))
    with _lock:
        _rules.append(rule)
    return rule


def rules():
    with _lock:
        return list(_rules)


def look(families):
    """Looks at all rules, given what was collected."""
    active = rules()
    if active:
        samples = [sample for family in families for sample in family.samples]
        for rule in active:
            rule._look(samples)
