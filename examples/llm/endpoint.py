"""The server: OpenAI's chat over HTTP on one scheduler's thread, by the standard library's http.server."""

import http.server
import itertools
import json
import threading

from chat import Answer, Refused, parse
from metrics import Metrics
from scheduler import QueueFull, Request, Scheduler
from text import Stream

LARGEST = 1 << 20  # bytes of a request's body
SKIPPED = 1 << 26  # of one that is too large, read to answer it


class Server(http.server.ThreadingHTTPServer):
    """A model behind HTTP; a context manager, which ends the model's thread as well.

    Parameters
    ----------
    model : Llama
    text : Text
    name : str
        The model's name in requests.
    address : (str, int)
        Port 0: any that is free, see `server_port`.
    memory, most, waiting
        See Scheduler.
    """

    daemon_threads = True

    def __init__(
        self, model, text, name, address=("127.0.0.1", 0), memory=1 << 29, most=32, waiting=256
    ):
        self.text, self.name, self.metrics = text, name, Metrics()
        self.scheduler = Scheduler(model, memory, most, waiting, self.metrics)
        self.numbers = itertools.count(1)
        super().__init__(address, Handler)
        self._worker = threading.Thread(target=self.scheduler.run, name="scheduler", daemon=True)
        self._worker.start()

    def server_close(self):
        self.scheduler.close()
        self._worker.join()
        super().server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self):
        server = self.server
        if self.path == "/health":
            self._json(200, {"status": "ok"})
        elif self.path == "/v1/models":
            model = {"id": server.name, "object": "model", "created": 0, "owned_by": "local"}
            self._json(200, {"object": "list", "data": [model]})
        elif self.path == "/metrics":
            text = server.metrics.text(server.scheduler.state())
            self._send(200, text.encode(), "text/plain; version=0.0.4; charset=utf-8")
        else:
            self._refuse(Refused(404, f"there is no GET {self.path}"))

    def do_POST(self):
        try:
            body = self._body()
            if self.path != "/v1/chat/completions":
                raise Refused(404, f"there is no POST {self.path}")
            chat = parse(body, self.server.name)
            request = self._submit(chat)
        except Refused as refused:
            self._refuse(refused)
            return
        answer = Answer(next(self.server.numbers), self.server.name, len(request.prompt))
        try:
            (self._stream if chat.stream else self._whole)(chat, request, answer)
        except (ConnectionError, TimeoutError):  # the client has left
            self.close_connection = True
        finally:
            request.cancel()

    def _body(self):
        """The request's JSON. What cannot be read to its end closes the connection."""
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.close_connection = True
            raise Refused(400, f"Content-Length is {length!r}; it must be a number of bytes")
        if int(length) > LARGEST:
            self._skip(int(length))
            raise Refused(413, f"the body has {length} bytes; at most {LARGEST} are read")
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise Refused(400, f"the body is no JSON: {error}") from None

    def _skip(self, length):
        """Reads a large body away: a connection that closes before would lose the answer. A larger one closes."""
        left = min(length, SKIPPED)
        while left and (piece := self.rfile.read(min(left, LARGEST))):
            left -= len(piece)
        self.close_connection = left > 0 or length > SKIPPED

    def _submit(self, chat):
        try:
            prompt = self.server.text.chat(chat.messages)
            return self.server.scheduler.submit(Request(prompt, chat.count, chat.sampling))
        except QueueFull as error:
            raise Refused(503, str(error), "server_error", "queue_full") from None
        except ValueError as error:
            raise Refused(400, str(error)) from None

    def _pieces(self, chat, request):
        """Texts of a request's answer; then (reason, tokens)."""
        stream = Stream(self.server.text, chat.stops)
        for token in request:
            if piece := stream.push(token):
                yield piece
            if stream.stopped:
                request.cancel()
                yield "stop", request.drawn
                return
        if rest := stream.end():
            yield rest
        yield request.reason, request.drawn

    def _whole(self, chat, request, answer):
        try:
            *pieces, (reason, tokens) = self._pieces(chat, request)
        except QueueFull as error:
            self._refuse(Refused(503, str(error), "server_error"))
        except Exception as error:
            self._refuse(Refused(500, f"{type(error).__name__}: {error}", "server_error"))
        else:
            self._json(200, answer.whole("".join(pieces), reason, tokens))

    def _stream(self, chat, request, answer):
        """Server-sent events, one a piece, then `[DONE]`; the connection's end is the answer's."""
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Connection", "close")
        self.end_headers()
        self._event(answer.chunk({"role": "assistant", "content": ""}))
        try:
            for piece in self._pieces(chat, request):
                if isinstance(piece, str):
                    self._event(answer.chunk({"content": piece}))
                else:
                    self._event(answer.chunk({}, piece[0]))
                    if chat.usage:
                        self._event(answer.last(piece[1]))
        except (ConnectionError, TimeoutError):
            raise
        except Exception as error:  # the status has been sent
            self._event(Refused(500, f"{type(error).__name__}: {error}", "server_error").body)
        self._event("[DONE]")

    def _event(self, data):
        text = data if isinstance(data, str) else json.dumps(data)
        self.wfile.write(f"data: {text}\n\n".encode())
        self.wfile.flush()

    def _refuse(self, refused):
        self._json(refused.status, refused.body)

    def _json(self, status, body):
        self._send(status, json.dumps(body).encode(), "application/json")

    def _send(self, status, data, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, form, *args):
        """No line a request: /metrics counts them."""
