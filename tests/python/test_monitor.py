"""asnumpy.monitor: the metrics are those of the work, the server serves them, the manifest is Kubernetes'."""

import builtins
import json
import os
import pathlib
import re
import subprocess
import sys
import urllib.error
import urllib.request

import asnumpy as np
import pytest
from asnumpy import monitor
from conftest import SINGLE_OPERATORS

ROOT = pathlib.Path(__file__).resolve().parents[2]
MANIFEST = ROOT / "examples" / "kubernetes" / "monitor.yaml"


@pytest.fixture
def client():
    return pytest.importorskip("prometheus_client", reason="needs prometheus-client")


@pytest.fixture
def registry(client):
    return client.CollectorRegistry()


def values(client, text):
    """{(sample, labels): value} of a scrape."""
    from prometheus_client.parser import text_string_to_metric_families

    return {(s.name, tuple(sorted(s.labels.items()))): s.value
            for family in text_string_to_metric_families(text) for s in family.samples}  # fmt: skip


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        return answer.status, answer.headers["Content-Type"], answer.read().decode()


def total(found, sample, **labels):
    return sum(
        v
        for (name, at), v in found.items()
        if name == sample and labels.items() <= dict(at).items()
    )


def test_a_scrape_has_the_work_between_two(client, registry):
    m = np.ones((100, 100))
    with monitor.serve(0, registry=registry) as server:
        status, kind, text = get(server.port, "/metrics")
        assert status == 200 and kind.startswith("text/plain")
        before = values(client, text)
        for _ in range(3):
            product = m @ m
        float((product + 1)[0, 0])
        after = values(client, get(server.port, "/metrics")[2])

    def grown(sample, **labels):
        return total(after, sample, **labels) - total(before, sample, **labels)

    assert grown("asnumpy_operation_calls_total", operation="matmul", kind="operator") == 3
    assert grown("asnumpy_operation_flops_total", operation="matmul") == 3 * 2 * 100**3
    assert (
        grown("asnumpy_operation_bytes_total", operation="matmul", kind="operator")
        == 3 * 3 * 80_000
    )
    seconds = grown("asnumpy_operation_seconds_total", operation="matmul")
    assert 0 < seconds < 5
    if not SINGLE_OPERATORS:
        assert (
            grown("asnumpy_synchronizations_total", reason="the value of an element is read") == 1
        )
    assert total(after, "asnumpy_memory_bytes", state="in_use") > 0
    assert total(after, "asnumpy_operation_flops_per_second", operation="matmul") > 0
    ran = [grown("asnumpy_engine_total", event=e) for e in ("single_ops", "fallbacks")]
    assert sum(ran) >= 3


def test_health(client, registry, monkeypatch):
    with monitor.serve(0, registry=registry) as server:
        status, kind, text = get(server.port, "/healthz")
        said = json.loads(text)
        assert (status, kind, said["status"]) == (200, "application/json", "ok")
        assert said["devices"] >= 1 and said["version"] == np.__version__

        def broken(*_):
            raise RuntimeError("the device is gone")

        monkeypatch.setattr(np, "arange", broken)
        with pytest.raises(urllib.error.HTTPError) as met:
            get(server.port, "/healthz")
        assert met.value.code == 503
        assert json.loads(met.value.read()) == {
            "status": "failing", "version": np.__version__, "error": "RuntimeError: the device is gone"}  # fmt: skip
        with pytest.raises(urllib.error.HTTPError) as met:
            get(server.port, "/other")
        assert met.value.code == 404


def test_the_server_ends_and_the_port_is_free_again(client, registry):
    server = monitor.serve(0, registry=registry)
    with pytest.raises(OSError):
        monitor.serve(server.port, registry=client.CollectorRegistry())
    server.close()
    server.close()
    with monitor.serve(server.port, registry=registry):
        pass
    with pytest.raises(RuntimeError, match="the registry has no metrics of asnumpy's"):
        monitor.stop(registry)


def test_a_registry_of_the_programs_own(client, registry):
    monitor.start(registry)
    monitor.start(registry)
    np.ones((50, 50)) @ np.ones((50, 50))
    assert (
        total(
            values(client, client.generate_latest(registry).decode()),
            "asnumpy_operation_calls_total",
        )
        > 0
    )
    monitor.stop(registry)
    assert client.generate_latest(registry) == b""


def test_without_the_library_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def no_client(name, *args, **kwargs):
        if name.startswith("prometheus_client"):
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_client)
    with pytest.raises(
        ImportError,
        match=r'needs the prometheus-client library: pip install "prometheus-client>=0.20,<1"',
    ):
        monitor.serve(0)


def documents():
    yaml = pytest.importorskip("yaml", reason="needs PyYAML (with kubernetes-validate)")
    return list(yaml.safe_load_all(MANIFEST.read_text()))


def test_the_program_of_the_manifest_works(client, tmp_path):
    (tmp_path / "worker.py").write_text(documents()[0]["data"]["worker.py"])
    env = {**os.environ, "METRICS_PORT": "0", "METRICS_HOST": "127.0.0.1", "STEPS": "60"}
    worker = subprocess.Popen(
        [sys.executable, tmp_path / "worker.py"], stdout=subprocess.PIPE, text=True, env=env
    )
    try:
        port = int(re.match(r"metrics on port (\d+)", worker.stdout.readline())[1])
        assert float(worker.stdout.readline()) > 0
        found = values(client, get(port, "/metrics")[2])
        assert total(found, "asnumpy_operation_calls_total", operation="matmul") >= 1
        assert get(port, "/healthz")[0] == 200
    finally:
        worker.kill()
        worker.wait()
