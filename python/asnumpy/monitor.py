"""Prometheus metrics of a running program: time, calls, bytes and latencies of operations, memory, waits; alerts.

    asnumpy.monitor.serve(9400)

serves /metrics and /healthz on a thread of its own while the program works. Needs the prometheus-client library:
pip install "prometheus-client>=0.20,<1". Where the program has a registry or a server already, start(registry) adds
the metrics to it. Operations are recorded as asnumpy.profile records them (of small ones one in 64 is timed).
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import _alerts, _core
from ._alerts import Alert

__all__ = ["Alert", "Server", "alert", "serve", "start", "stop"]


def __dir__():
    return __all__


_EVERY = 64
_lock = threading.Lock()
_started = {}  # registry -> collector


def _client():
    try:
        import prometheus_client
    except ImportError as error:
        raise ImportError(
            'asnumpy.monitor needs the prometheus-client library: pip install "prometheus-client>=0.20,<1"'
        ) from error
    return prometheus_client


def _operations():
    """{(kind, name): [calls, seconds, bytes, flops]} and the same of synchronisations by reason."""
    from . import _profile

    lookup, operations, waits = _profile._Lookup(), {}, {}
    for (kind, name, _, detail), (calls, ns, nbytes, work) in _profile.totals().items():
        if kind == _profile.SYNCHRONIZE:
            at = waits.setdefault(name, [0, 0.0])
            at[0] += calls
            at[1] += ns / 1e9
        elif kind in (*_profile.COMPUTES, _profile.TO_DEVICE, _profile.TO_HOST):
            key = _profile.KINDS[kind], lookup.name(kind, name, detail)
            at = operations.setdefault(key, [0, 0.0, 0, 0])
            for i, value in enumerate((calls, ns / 1e9, nbytes, work)):
                at[i] += value
    return operations, waits


class _Collector:
    """What a registry asks at each scrape."""

    def __init__(self, core, since):
        from ._latencies import Latencies

        self._core = core
        self._latencies = Latencies(since)
        self._lock = threading.Lock()  # two scrapes at a time

    def describe(self):
        return []

    def collect(self):
        operations, waits = _operations()
        with self._lock:
            self._latencies.update()
            latencies = self._of_latencies()
        families = [
            *self._of_operations(operations), *self._of_waits(waits), *latencies, *self._of_memory(),
            *self._of_engine(), *self._of_streams(),
        ]  # fmt: skip
        _alerts.look(families)
        return [*families, *self._of_alerts()]

    def _family(self, kind, name, text, labels):
        return getattr(self._core, kind + "MetricFamily")("asnumpy_" + name, text, labels=labels)

    def _of_operations(self, operations):
        labels = ["kind", "operation"]
        seconds = self._family("Counter", "operation_seconds", "Time in an operation.", labels)
        calls = self._family("Counter", "operation_calls", "Calls of an operation.", labels)
        nbytes = self._family("Counter", "operation_bytes", "Bytes that it read and wrote.", labels)
        flops = self._family("Counter", "operation_flops", "Floating-point operations.", labels)
        rate = self._family(
            "Gauge", "operation_bytes_per_second", "Bytes by time, since the start.", labels
        )
        speed = self._family(
            "Gauge", "operation_flops_per_second", "Operations by time, since the start.", labels
        )
        for key, (n, s, b, f) in operations.items():
            seconds.add_metric(key, s)
            calls.add_metric(key, n)
            nbytes.add_metric(key, b)
            flops.add_metric(key, f)
            if s > 0:
                rate.add_metric(key, b / s)
                speed.add_metric(key, f / s)
        return seconds, calls, nbytes, flops, rate, speed

    def _of_waits(self, waits):
        number = self._family(
            "Counter", "synchronizations", "Waits of the host for the device.", ["reason"]
        )
        seconds = self._family("Counter", "synchronization_seconds", "Time in them.", ["reason"])
        for why, (n, s) in waits.items():
            number.add_metric([why], n)
            seconds.add_metric([why], s)
        return number, seconds

    def _of_latencies(self):
        """Histograms by kind, and what two quantiles of them are."""
        latency = self._family(
            "Histogram",
            "latency_seconds",
            "How long an operation, a plan or a wait takes.",
            ["kind"],
        )
        quantiles = self._family(
            "Gauge",
            "latency_quantile_seconds",
            "Half and 99 in 100 are shorter.",
            ["kind", "quantile"],
        )
        for kind, histogram in self._latencies.of.items():
            latency.add_metric([kind], histogram.buckets(), histogram.seconds)
            for share in (0.5, 0.99):
                quantiles.add_metric([kind, str(share)], histogram.quantile(share))
        lost = self._family(
            "Counter", "latency_events_lost", "Events that came between scrapes.", []
        )
        lost.add_metric([], self._latencies.lost)
        return latency, quantiles, lost

    def _of_streams(self):
        failed = self._family(
            "Gauge", "stream_failed", "1: it keeps a failure until somebody waits.", ["stream"]
        )
        for _, name, _ in _core._stream_errors():
            failed.add_metric([name], 1)
        return (failed,)

    def _of_alerts(self):
        fired = self._family("Counter", "alerts", "How often a rule began to hold.", ["metric"])
        errors = self._family("Counter", "alert_errors", "Callbacks that raised.", ["metric"])
        sums = {}
        for rule in _alerts.rules():
            at = sums.setdefault(rule.metric, [0, 0])
            at[0] += rule.fired
            at[1] += rule.errors
        for metric, (n, bad) in sums.items():
            fired.add_metric([metric], n)
            errors.add_metric([metric], bad)
        return fired, errors

    def _of_memory(self):
        stats = _core.memory_stats()
        memory = self._family("Gauge", "memory_bytes", "Device memory.", ["state"])
        for state, key in (
            ("in_use", "bytes_in_use"),
            ("cached", "bytes_cached"),
            ("peak", "peak_bytes"),
        ):
            memory.add_metric([state], stats[key])
        asked = self._family(
            "Counter", "device_allocations", "Requests that went to the device.", []
        )
        asked.add_metric([], stats["device_allocations"])
        return memory, asked

    def _of_engine(self):
        engine = self._family("Counter", "engine", "What the engine did.", ["event"])
        for event, n in _core.engine_stats().items():
            engine.add_metric([event], n)
        return (engine,)


def start(registry=None):
    """Adds the metrics to a registry and begins to record; nothing happens for one that has them.

    Parameters
    ----------
    registry : CollectorRegistry, optional
        prometheus_client.REGISTRY by default.

    Returns
    -------
    None

    Raises
    ------
    ImportError
        prometheus-client is not installed.
    ValueError
        The registry has metrics of those names.

    Examples
    --------
    >>> import asnumpy as np, prometheus_client
    >>> registry = prometheus_client.CollectorRegistry()
    >>> np.monitor.start(registry)
    >>> b"asnumpy_memory_bytes" in prometheus_client.generate_latest(registry)
    True
    >>> np.monitor.stop(registry)
    """
    client = _client()
    from prometheus_client import core

    registry = client.REGISTRY if registry is None else registry
    with _lock:
        if registry in _started:
            return
        collector = _Collector(core, _core._profile_start(_EVERY))
        try:
            registry.register(collector)
        except ValueError:
            _core._profile_stop()
            raise
        _started[registry] = collector


def stop(registry=None):
    """Takes the metrics out of a registry, and ends the recording with the last one.

    Parameters
    ----------
    registry : CollectorRegistry, optional
        prometheus_client.REGISTRY by default.

    Returns
    -------
    None

    Raises
    ------
    RuntimeError
        It has none.

    Examples
    --------
    >>> import asnumpy as np, prometheus_client
    >>> registry = prometheus_client.CollectorRegistry()
    >>> np.monitor.start(registry)
    >>> np.monitor.stop(registry)
    """
    client = _client()
    registry = client.REGISTRY if registry is None else registry
    with _lock:
        if registry not in _started:
            raise RuntimeError(
                "monitor: the registry has no metrics of asnumpy's: start() adds them"
            )
        registry.unregister(_started.pop(registry))
        _core._profile_stop()


def alert(metric, threshold, callback, *, below=False, labels=None):
    """Adds a rule that is looked at whenever the metrics are collected.

    Parameters
    ----------
    metric : str
        The name of samples, as a scrape shows them: "asnumpy_memory_bytes", ...
    threshold : float
        The rule holds where a sample is above it.
    callback : callable
        Called as callback(alert, value, labels) when the rule begins to hold, on the thread that
        collects.
    below : bool
        The rule holds below the threshold.
    labels : dict of str, optional
        Only samples with these labels count.

    Returns
    -------
    Alert
        Its remove() ends it.

    Raises
    ------
    TypeError
        The callback cannot be called, or the metric is no text.
    ValueError
        The threshold is no number.

    Notes
    -----
    What the callback raises is printed to stderr and counted (errors of the alert, and the metric
    asnumpy_alert_errors); the program goes on.

    Examples
    --------
    >>> import asnumpy as np, prometheus_client
    >>> registry = prometheus_client.CollectorRegistry()
    >>> np.monitor.start(registry)
    >>> rule = np.monitor.alert("asnumpy_memory_bytes", -1, lambda *told: print("above"))
    >>> _ = prometheus_client.generate_latest(registry)
    above
    >>> rule.remove()
    >>> np.monitor.stop(registry)
    """
    if not isinstance(metric, str):
        raise TypeError(f"alert: metric is a {type(metric).__name__}; it may be a str")
    if not callable(callback):
        raise TypeError(f"alert: callback is a {type(callback).__name__}, which cannot be called")
    if not isinstance(threshold, (int, float)) or threshold != threshold:
        raise ValueError(f"alert: threshold is {threshold!r}; it may be a number")
    return _alerts.add(metric, threshold, callback, below, labels)


def _health():
    """(status code, what /healthz says): whether the device answers."""
    from . import __version__

    said = {"version": __version__}
    try:
        import asnumpy

        answer = float((asnumpy.arange(4.0) + 1).sum())
        said |= {"devices": _core.get_device_count(), "device": _core.get_device(),
                 "bytes_in_use": _core.memory_stats()["bytes_in_use"]}  # fmt: skip
        well = answer == 10
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the probe asks for
        said["error"], well = f"{type(error).__name__}: {error}", False
    return (200 if well else 503), {"status": "ok" if well else "failing", **said}


class Server:
    """A running server of /metrics and /healthz; serve makes it, the end of a with block closes it.

    Attributes
    ----------
    port : int
        Where it listens.

    Parameters
    ----------
    port, host, registry
        As of serve.

    Examples
    --------
    >>> import asnumpy as np, prometheus_client
    >>> with np.monitor.serve(0, registry=prometheus_client.CollectorRegistry()) as server:
    ...     server.port > 0
    True
    """

    def __init__(self, port, host, registry):
        client = _client()
        self._registry = client.REGISTRY if registry is None else registry

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler):  # noqa: N802, N805 - http.server's name
                path = handler.path.split("?")[0]
                if path == "/metrics":
                    kind = client.CONTENT_TYPE_LATEST
                    code, body = 200, client.generate_latest(self._registry)
                elif path == "/healthz":
                    code, said = _health()
                    kind, body = "application/json", json.dumps(said).encode()
                else:
                    kind, code, body = (
                        "text/plain; charset=utf-8",
                        404,
                        b"there are /metrics and /healthz\n",
                    )
                handler.send_response(code)
                handler.send_header("Content-Type", kind)
                handler.send_header("Content-Length", str(len(body)))
                handler.end_headers()
                handler.wfile.write(body)

            def log_message(handler, *_):  # noqa: N805
                pass

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        try:
            start(self._registry)
        except BaseException:
            self._server.server_close()
            raise
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(
            target=self._server.serve_forever, name="asnumpy.monitor", daemon=True
        )
        self._thread.start()

    def close(self):
        """Ends the server and the recording.

        Returns
        -------
        None

        Examples
        --------
        >>> import asnumpy as np, prometheus_client
        >>> server = np.monitor.serve(0, registry=prometheus_client.CollectorRegistry())
        >>> server.close()
        """
        if self._thread is None:
            return
        self._server.shutdown()
        self._thread.join()
        self._thread = None
        self._server.server_close()
        if self._registry in _started:
            stop(self._registry)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


def serve(port=9400, host="127.0.0.1", registry=None):
    """Serves /metrics and /healthz on a thread, while the program works.

    Parameters
    ----------
    port : int
        0 takes a free one.
    host : str
        "0.0.0.0" lets other machines ask.
    registry : CollectorRegistry, optional
        prometheus_client.REGISTRY by default; the metrics are added to it.

    Returns
    -------
    Server

    Raises
    ------
    OSError
        The port is taken.
    ImportError
        prometheus-client is not installed.

    Examples
    --------
    >>> import asnumpy as np, prometheus_client
    >>> from urllib.request import urlopen
    >>> with np.monitor.serve(0, registry=prometheus_client.CollectorRegistry()) as server:
    ...     urlopen(f"http://127.0.0.1:{server.port}/healthz").status
    200
    """
    return Server(port, host, registry)
