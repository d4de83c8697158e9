"""examples/llm: batches that change between steps, a memory limit, and the server over HTTP."""

import concurrent.futures
import contextlib
import http.client
import json
import pathlib
import re
import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("safetensors")
pytest.importorskip("tokenizers")
pytest.importorskip("jinja2")
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "llm"
sys.path.insert(0, str(EXAMPLE))

import generate  # noqa: E402
import llama  # noqa: E402
import make_model  # noqa: E402
import text  # noqa: E402
from endpoint import Server  # noqa: E402
from sampling import Sampling  # noqa: E402
from scheduler import QueueFull, Request, Scheduler  # noqa: E402

GREEDY = Sampling(temperature=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_model.make(tmp_path_factory.mktemp("llm") / "tiny", "--seed", 3)


@pytest.fixture(scope="module")
def model(folder):
    return llama.Llama(folder)


def scheduler(model, blocks, **options):
    return Scheduler(model, blocks * 16 * model.token_bytes, **options)


def drain(s):
    """Steps until nothing is left; the largest batch, and whether claims were kept at each step."""
    most = 0
    while s.step():
        most = max(most, len(s.running))
        assert s.free >= 0 and s.cache.stats()["free_blocks"] >= s.free
    assert s.free == s.cache.stats()["free_blocks"] == s.blocks or most == 0
    assert not s.cache.sequences
    return most


# ---- the scheduler


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 40), st.integers(1, 12)), min_size=1, max_size=6),
    st.integers(4, 8),
    st.integers(1, 4),
)
def test_batched_is_single(model, sizes, blocks, most):
    s = scheduler(model, blocks, most=most)
    prompts = [[(7 * k + 3 * i) % 250 + 2 for i in range(n)] for k, (n, _) in enumerate(sizes)]
    requests = [s.submit(Request(p, n, GREEDY)) for p, (_, n) in zip(prompts, sizes, strict=True)]
    assert drain(s) <= most
    for prompt, (_, n), request in zip(prompts, sizes, requests, strict=True):
        assert list(request) == list(generate.generate(model, prompt, n, GREEDY))
        assert request.reason in ("stop", "length")


def test_thirty_two_at_once_and_seeds(model):
    s = scheduler(model, 64)
    requests = [s.submit(Request([5, k + 2], 6, Sampling(seed=k))) for k in range(40)]
    assert drain(s) == 32
    for k, request in enumerate(requests):
        assert list(request) == list(generate.generate(model, [5, k + 2], 6, Sampling(seed=k)))


def test_a_waiting_one_enters_when_another_leaves(model):
    s = scheduler(model, 2)
    long, short, last = (s.submit(Request([5] * 4, n, GREEDY)) for n in (9, 3, 2))
    s.step()
    assert s.running == [long, short] and list(s.waiting) == [last]
    for _ in range(2):
        s.step()
    assert long in s.running and short not in s.running and not s.waiting
    drain(s)


def test_what_cannot_fit_is_refused(model):
    s = scheduler(model, 2, waiting=1)
    with pytest.raises(ValueError, match="30 tokens .* take 3 blocks of 16 tokens; .* allows 2"):
        s.submit(Request([5] * 30, 10, GREEDY))
    with pytest.raises(ValueError, match="are 310; the model has 256 positions"):
        s.submit(Request([5] * 300, 10, GREEDY))
    with pytest.raises(ValueError, match="memory is 100 bytes; one block of 16 tokens takes 8192"):
        Scheduler(model, 100)
    for bad, message in (((), "no tokens"), (([5], 0, GREEDY), "max_tokens is 0")):
        with pytest.raises(ValueError, match=message):
            Request(*(bad or ([], 1, GREEDY)))
    s.submit(Request([5], 1, GREEDY))
    with pytest.raises(QueueFull, match="1 requests wait"):
        s.submit(Request([5], 1, GREEDY))


def test_cancelled_ones_leave(model):
    s = scheduler(model, 1)
    running, waiting, last = (s.submit(Request([5], 8, GREEDY)) for _ in range(3))
    s.step()
    running.cancel()
    waiting.cancel()
    drain(s)
    assert len(list(last)) == 8
    for request in (running, waiting):
        assert list(request) is not None and request.reason == "cancelled"


def test_an_error_ends_its_batch_alone(model):
    s = scheduler(model, 8)
    thread = threading.Thread(target=s.run)
    thread.start()
    with pytest.raises(IndexError):
        list(s.submit(Request([5, 10**6], 4, GREEDY)))
    assert len(list(s.submit(Request([5], 4, GREEDY)))) == 4
    s.close()
    thread.join()
    with pytest.raises(QueueFull, match="closing"):
        s.submit(Request([5], 4, GREEDY))


# ---- the server


@pytest.fixture(scope="module")
def server(model, folder):
    with Server(model, text.Text(folder), "tiny", memory=64 * 16 * model.token_bytes) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(server, path, body=None, method=None):
    """A status and the text that came."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    with contextlib.closing(connection):
        data = body if isinstance(body, (bytes, type(None))) else json.dumps(body)
        connection.request(method or ("GET" if body is None else "POST"), path, data)
        response = connection.getresponse()
        return response.status, response.read().decode()


def chat(server, words="Hi", **more):
    body = {"model": "tiny", "messages": [{"role": "user", "content": words}], "max_tokens": 8}
    return ask(server, "/v1/chat/completions", body | {"temperature": 0} | more)


def expected(server, words, count=8):
    t = server.text
    prompt = t.chat([{"role": "user", "content": words}])
    return t.decode(list(generate.generate(server.scheduler.model, prompt, count, GREEDY)))


def test_chat(server):
    status, answer = chat(server)
    answer = json.loads(answer)
    assert status == 200 and answer["object"] == "chat.completion" and answer["model"] == "tiny"
    (choice,) = answer["choices"]
    want = expected(server, "Hi")
    assert choice["message"] == {"role": "assistant", "content": want}
    assert choice["finish_reason"] == "length"
    tokens = answer["usage"]
    assert (
        tokens["completion_tokens"] == 8 and tokens["total_tokens"] == tokens["prompt_tokens"] + 8
    )
    shorter = json.loads(chat(server, stop=want[3])[1])["choices"][0]
    assert shorter["message"]["content"] == want[: want.index(want[3])]
    assert shorter["finish_reason"] == "stop"


def test_stream(server):
    status, answer = chat(server, stream=True, stream_options={"include_usage": True})
    events = re.findall(r"data: (.*)\n\n", answer)
    assert status == 200 and events.pop() == "[DONE]"
    *chunks, last, usage = map(json.loads, events)
    assert {c["object"] for c in (*chunks, last)} == {"chat.completion.chunk"}
    said = "".join(c["choices"][0]["delta"]["content"] for c in chunks)
    assert said == expected(server, "Hi")
    assert last["choices"][0]["finish_reason"] == "length"
    assert usage["choices"] == [] and usage["usage"]["completion_tokens"] == 8


def test_many_at_once(server):
    words = [f"number {k}" for k in range(12)]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda w: chat(server, w, stream=len(w) % 2 == 0), words))
    for w, (status, answer) in zip(words, answers, strict=True):
        assert status == 200
        if len(w) % 2:
            assert json.loads(answer)["choices"][0]["message"]["content"] == expected(server, w)


def test_a_client_that_leaves(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    body = {"messages": [{"role": "user", "content": "x"}], "stream": True, "max_tokens": 200}
    connection.request("POST", "/v1/chat/completions", json.dumps(body))
    connection.getresponse().read(10)
    connection.close()
    assert chat(server)[0] == 200


def test_health_models_metrics(server):
    chat(server)
    assert ask(server, "/health") == (200, '{"status": "ok"}')
    assert json.loads(ask(server, "/v1/models")[1])["data"][0]["id"] == "tiny"
    status, page = ask(server, "/metrics")
    assert status == 200
    values = dict(line.rsplit(" ", 1) for line in page.splitlines() if line[0] != "#")
    assert int(values["llm_tokens_total"]) >= 8
    assert int(values["llm_first_token_seconds_count"]) >= 1
    assert int(values['llm_token_seconds_bucket{le="+Inf"}']) >= 7
    assert int(values["llm_cache_blocks"]) == 64 and int(values["llm_device_bytes"]) > 0


@pytest.mark.parametrize(
    "body, status, message",
    [
        (b"{", 400, "the body is no JSON"),
        (b"[1]", 400, "the body is a list"),
        ({"messages": []}, 400, "at least one message"),
        ({"messages": [{"role": "user", "content": 3}]}, 400, r"messages\[0\]"),
        ({"temperature": 3}, 400, "temperature is 3.0; it may be 0 to 2"),
        ({"top_p": "a"}, 400, "top_p is 'a'; it must be of type int or float"),
        ({"n": 2}, 400, "n is 2"),
        ({"stop": [""]}, 400, "stop must be"),
        ({"seed": -1}, 400, "seed is -1"),
        ({"max_tokens": True}, 400, "max_tokens is True"),
        ({"max_tokens": 0}, 400, "max_tokens is 0"),
        ({"max_tokens": 10**6}, 400, "the model has 256 positions"),
        ({"model": "other"}, 404, "no model 'other'"),
        (b" " * (1 << 20) + b"{}", 413, "at most 1048576"),
    ],
)
def test_what_is_refused(server, body, status, message):
    if isinstance(body, dict):
        body = {"messages": [{"role": "user", "content": "x"}]} | body
    got, answer = ask(server, "/v1/chat/completions", body)
    error = json.loads(answer)["error"]
    assert got == status and re.search(message, error["message"]), error
    assert error["type"] == "invalid_request_error"


def test_other_paths(server):
    assert ask(server, "/v2")[0] == 404 and ask(server, "/v2", {})[0] == 404


def test_a_full_queue_is_503(model, folder):
    memory = 64 * 16 * model.token_bytes
    with Server(model, text.Text(folder), "tiny", memory=memory, waiting=0) as full:
        thread = threading.Thread(target=full.serve_forever)
        thread.start()
        status, answer = chat(full)
        full.shutdown()
        thread.join()
    assert status == 503 and json.loads(answer)["error"]["code"] == "queue_full"


def test_the_command_lines(folder):
    command = [sys.executable, EXAMPLE / "serve.py", "--model", folder, "--port", "0"]
    command += ["--memory", "1MiB", "--max-requests", "2", "--dtype", "bfloat16"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        (port,) = re.findall(r"tiny at http://127.0.0.1:(\d+)/v1", line)
        address = type("Address", (), {"server_port": int(port)})
        assert chat(address)[0] == 200
        process.terminate()
        assert process.wait(30) == 0
    command = [sys.executable, EXAMPLE / "generate.py", "--model", folder, "--tokens", "5"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "5 new; first after" in done.stderr, done.stderr
