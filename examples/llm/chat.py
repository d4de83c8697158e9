"""OpenAI's chat form: what a request may say, and what is answered."""

import dataclasses
import time

from sampling import Sampling


class Refused(Exception):
    """An error in OpenAI's form: a status of HTTP, a message, a type, perhaps a code."""

    def __init__(self, status, message, kind="invalid_request_error", code=None):
        super().__init__(message)
        self.status = status
        error = {"message": message, "type": kind, "param": None, "code": code}
        self.body = {"error": error}


@dataclasses.dataclass(frozen=True)
class Chat:
    """A request of /v1/chat/completions that was found right."""

    messages: list
    count: int
    sampling: Sampling
    stream: bool
    stops: tuple
    usage: bool


def _member(body, name, kinds, default):
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise Refused(400, f"{name} is {value!r}; it must be of type {_names(kinds)}")
    return value


def _names(kinds):
    return " or ".join(k.__name__ for k in (kinds if isinstance(kinds, tuple) else (kinds,)))


def parse(body, model, default=256):
    """A Chat of a request's JSON. Refused (400, 404): what is wrong, and what would be right."""
    if not isinstance(body, dict):
        raise Refused(400, f"the body is a {type(body).__name__}; it must be a JSON object")
    if body.get("model", model) != model:
        message = f"there is no model {body['model']!r}; this server has {model!r}"
        raise Refused(404, message, code="model_not_found")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused(400, "messages must be a list of at least one message")
    for k, m in enumerate(messages):
        if not isinstance(m, dict) or not all(
            isinstance(m.get(n), str) for n in ("role", "content")
        ):
            raise Refused(
                400, f"messages[{k}] must be an object whose role and content are strings"
            )
    if _member(body, "n", int, 1) != 1:
        raise Refused(400, f"n is {body['n']}; this server gives 1 choice")
    stops = _member(body, "stop", (str, list), [])
    stops = [stops] if isinstance(stops, str) else stops
    if len(stops) > 4 or not all(isinstance(s, str) and s for s in stops):
        raise Refused(400, "stop must be a string or a list of at most 4, none of them empty")
    try:
        sampling = Sampling(
            temperature=float(_member(body, "temperature", (int, float), 1.0)),
            top_k=_member(body, "top_k", int, 0),
            top_p=float(_member(body, "top_p", (int, float), 1.0)),
            seed=_member(body, "seed", int, None),
        )
    except ValueError as error:
        raise Refused(400, str(error)) from None
    if sampling.seed is not None and sampling.seed < 0:
        raise Refused(400, f"seed is {sampling.seed}; it must be at least 0")
    count = _member(body, "max_completion_tokens", int, _member(body, "max_tokens", int, default))
    options = _member(body, "stream_options", dict, {})
    return Chat(
        messages=messages,
        count=count,
        sampling=sampling,
        stream=_member(body, "stream", bool, False),
        stops=tuple(stops),
        usage=_member(options, "include_usage", bool, False),
    )


class Answer:
    """The objects that answer one request."""

    def __init__(self, number, model, prompt_tokens):
        self._head = {"id": f"chatcmpl-{number}", "created": int(time.time()), "model": model}
        self._prompt = prompt_tokens

    def whole(self, text, reason, tokens):
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [choice],
            "usage": self._usage(tokens),
        }

    def chunk(self, delta, reason=None):
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return {**self._head, "object": "chat.completion.chunk", "choices": [choice]}

    def last(self, tokens):
        """The chunk that `stream_options: {"include_usage": true}` asks for."""
        return {**self.chunk({}), "choices": [], "usage": self._usage(tokens)}

    def _usage(self, tokens):
        return {
            "prompt_tokens": self._prompt,
            "completion_tokens": tokens,
            "total_tokens": self._prompt + tokens,
        }
