"""Latencies and alerts of asnumpy.monitor: histograms against counts by hand, rules that begin and cease to hold."""

import math
import threading

import asnumpy as np
import numpy
import pytest
from asnumpy import monitor
from asnumpy._latencies import BOUNDS, Histogram, Latencies

RNG = numpy.random.default_rng(3)


@pytest.fixture
def client():
    return pytest.importorskip("prometheus_client", reason="needs prometheus-client")


@pytest.fixture
def registry(client):
    made = client.CollectorRegistry()
    monitor.start(made)
    yield made
    monitor.stop(made)


def values(registry):
    return {
        (s.name, *sorted(s.labels.items())): s.value for f in registry.collect() for s in f.samples
    }


def test_buckets_count_what_is_up_to_their_bounds():
    seconds = numpy.exp(RNG.normal(-9, 4, 5000))
    seconds[:25] = BOUNDS  # a value that is a bound is below it
    weights = RNG.integers(1, 5, 5000)
    h = Histogram()
    h.add(seconds[:3000], weights[:3000])
    h.add(seconds[3000:], weights[3000:])
    for (name, count), bound in zip(h.buckets(), [*BOUNDS, math.inf], strict=True):
        assert count == weights[seconds <= bound].sum()
        assert math.isclose(float(name), bound, rel_tol=1e-5)
    assert math.isclose(h.seconds, (seconds * weights).sum())
    spread = numpy.sort(numpy.repeat(seconds, weights))
    for share in (0.5, 0.9, 0.99):
        exact = spread[int(share * len(spread)) - 1]
        assert min(exact, BOUNDS[-1]) / 2 <= h.quantile(share) <= 2 * max(exact, 1e-6)


def test_quantiles_at_the_ends():
    h = Histogram()
    assert math.isnan(h.quantile(0.5))
    h.add(numpy.array([100.0]), numpy.array([1]))
    assert h.quantile(0.5) == BOUNDS[-1] and h.buckets()[-1] == ("+Inf", 1.0)
    h = Histogram()
    h.add(numpy.array([0.0, 3e-6]), numpy.array([3, 1]))
    assert 0 < h.quantile(0.5) <= 1e-6 and 2e-6 < h.quantile(0.99) <= 4e-6


def test_events_are_read_once_and_lost_ones_counted():
    since = np._core._profile_start(1)
    try:
        found = Latencies(since)
        a = np.ones((50, 50))
        for _ in range(5):
            a @ a
        np.synchronize()
        found.update()
        counts = {kind: int(h.counts.sum()) for kind, h in found.of.items()}
        assert counts["operator"] >= 5 and found.lost == 0
        found.update()
        assert {k: int(h.counts.sum()) for k, h in found.of.items()}["operator"] == counts[
            "operator"
        ]
    finally:
        np._core._profile_stop()


def test_a_scrape_has_histograms_and_quantiles(client, registry):
    values(registry)
    m = np.ones((100, 100))
    for _ in range(4):
        m = m @ m * 1e-3
    float(m[0, 0])
    found = values(registry)
    n = found["asnumpy_latency_seconds_count", ("kind", "operator")]
    assert (
        n >= 4
        and found["asnumpy_latency_seconds_bucket", ("kind", "operator"), ("le", "+Inf")] == n
    )
    low, high = (
        found["asnumpy_latency_quantile_seconds", ("kind", "operator"), ("quantile", q)]
        for q in ("0.5", "0.99")
    )
    assert 0 < low <= high < 17
    total = found["asnumpy_latency_seconds_sum", ("kind", "operator")]
    assert 0 < total < 60 and found[("asnumpy_latency_events_lost_total",)] == 0
    text = client.generate_latest(registry).decode()
    assert "# TYPE asnumpy_latency_seconds histogram" in text


def test_failed_streams_are_a_metric(registry):
    waiting, other = np.Stream(name="feeder"), np.Stream()
    assert ("asnumpy_stream_failed", ("stream", "feeder")) not in values(registry)
    event = np.Event(other)
    waiting.wait_event(event)
    del event
    assert values(registry)["asnumpy_stream_failed", ("stream", "feeder")] == 1
    with pytest.raises(RuntimeError):
        waiting.synchronize()
    assert ("asnumpy_stream_failed", ("stream", "feeder")) not in values(registry)


# ---- alerts


@pytest.fixture
def added():
    rules = []

    def add(*arguments, **options):
        rules.append(monitor.alert(*arguments, **options))
        return rules[-1]

    yield add
    for rule in rules:
        rule.remove()


def in_use(registry):
    return values(registry)["asnumpy_memory_bytes", ("state", "in_use")]


def test_a_rule_calls_when_it_begins_to_hold(registry, added):
    told = []
    limit = in_use(registry) + 4e6
    rule = added(
        "asnumpy_memory_bytes", limit, lambda *what: told.append(what), labels={"state": "in_use"}
    )
    values(registry)
    assert not rule.active and told == []
    for turn in (1, 2):
        a = np.full(1_000_000, 2.0)
        np.synchronize()
        values(registry)
        values(registry)  # it holds still: no further call
        assert rule.active and rule.fired == len(told) == turn
        assert told[-1][0] is rule and told[-1][1] > limit and told[-1][2] == {"state": "in_use"}
        assert "active, fired" in repr(rule)
        del a
        np.synchronize()
        values(registry)
        assert not rule.active
    assert values(registry)["asnumpy_alerts_total", ("metric", "asnumpy_memory_bytes")] == 2
    rule.remove()
    rule.remove()
    assert ("asnumpy_alerts_total", ("metric", "asnumpy_memory_bytes")) not in values(registry)


def test_below_and_other_labels(registry, added):
    told = []
    below = added("asnumpy_memory_bytes", 1e15, lambda a, v, _: told.append(v), below=True)
    never = added("asnumpy_memory_bytes", -1, told.append, labels={"state": "elsewhere"})
    nothing = added("no_such_metric", -1, told.append)
    values(registry)
    assert (
        below.active and len(told) == 1 and told[0] <= in_use(registry)
    )  # the smallest of the states
    assert not never.active and not nothing.active


def test_a_callback_that_raises_stops_nothing(registry, added, capsys):
    told = []

    def fails(*_):
        raise ZeroDivisionError("by the test")

    bad = added("asnumpy_memory_bytes", -1, fails)
    good = added("asnumpy_memory_bytes", -1, lambda *what: told.append(what))
    found = values(registry)
    assert found["asnumpy_alert_errors_total", ("metric", "asnumpy_memory_bytes")] == 1
    assert (bad.errors, bad.error, good.errors, len(told)) == (
        1,
        "ZeroDivisionError: by the test",
        0,
        1,
    )
    shown = capsys.readouterr().err
    assert "the callback of <asnumpy.monitor.Alert asnumpy_memory_bytes > -1" in shown
    assert "ZeroDivisionError: by the test" in shown and "1 callbacks failed" in repr(bad)


def test_scrapes_on_many_threads(registry, added):
    rule = added("asnumpy_memory_bytes", -1, lambda *_: None)
    threads = [threading.Thread(target=values, args=(registry,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = values(registry)
    counts = [v for k, v in found.items() if k[0] == "asnumpy_latency_seconds_bucket"]
    assert rule.active and rule.errors == 0 and all(c >= 0 for c in counts)


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ((3, 1, print), TypeError, "metric is a int"),
        (("m", 1, 3), TypeError, "callback is a int, which cannot be called"),
        (("m", "1", print), ValueError, "threshold is '1'"),
        (("m", float("nan"), print), ValueError, "threshold is nan"),
    ],
)
def test_arguments(arguments, error, message):
    with pytest.raises(error, match=message):
        monitor.alert(*arguments)
