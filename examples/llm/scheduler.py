"""Continuous batching: requests enter and leave a running batch between two steps of the model.

Keys and values lie in blocks, of which a memory limit allows so many. A request is let in where there
is room for its prompt and all tokens it may ask for, so that none in the batch ever lacks a block;
the first that waits is the first that enters. One that could not even enter alone is refused at
once. A step lets in who fits (a request's prompt is computed whole, its first token drawn) and then
computes one token of every request in the batch together.
"""

import collections
import queue
import threading
import time

import asnumpy as np
from sampling import Sampler

BLOCK = 16


class QueueFull(Exception):
    """As many requests wait as may."""


class Request:
    """A prompt, how its answer is drawn, and the answer as it comes.

    `events` gets each token, and at the end ("stop" or "length" or "cancelled") or an exception.
    """

    def __init__(self, prompt, count, sampling):
        if not prompt:
            raise ValueError("the prompt has no tokens; at least one is needed")
        if count < 1:
            raise ValueError(f"max_tokens is {count}; it must be at least 1")
        self.prompt, self.count, self.drawn = list(prompt), count, 0
        self.events = queue.SimpleQueue()
        self.cancelled = False
        self.sequence = self.last = None
        self.asked = self.given = time.perf_counter()
        self.draw = Sampler(sampling)

    @property
    def blocks(self):
        """What it takes at most; the last token is never an input."""
        return -(-(len(self.prompt) + self.count - 1) // BLOCK)

    @property
    def position(self):
        """Of the next input, the last token drawn."""
        return len(self.prompt) + self.drawn - 1

    def cancel(self):
        """Nobody reads on: it leaves at the next step."""
        self.cancelled = True

    def __iter__(self):
        """The tokens; ends with the request. Raises what the model raised."""
        while True:
            event = self.events.get()
            if isinstance(event, BaseException):
                raise event
            if isinstance(event, str):
                self.reason = event
                return
            yield event


class Scheduler:
    """Runs a model for up to `most` requests at once in `memory` bytes of keys and values.

    `step` may be called by one thread at a time, `submit` and `Request.cancel` by any.
    """

    def __init__(self, model, memory, most=32, waiting=256, metrics=None):
        self.model, self.most, self.waiting_most, self.metrics = model, most, waiting, metrics
        self.blocks = memory // (BLOCK * model.token_bytes)
        if self.blocks < 1:
            raise ValueError(
                f"memory is {memory} bytes; one block of {BLOCK} tokens takes "
                f"{BLOCK * model.token_bytes}"
            )
        self.cache = model.cache(sequences=0, block_size=BLOCK, blocks=self.blocks)
        self.waiting, self.running = collections.deque(), []
        self._changed = threading.Condition()
        self._closed = False

    def submit(self, request):
        """Queues a request. ValueError: it can never fit. QueueFull: come again later."""
        end = len(request.prompt) + request.count
        if end > self.model.config.positions:
            raise ValueError(
                f"{len(request.prompt)} tokens of prompt and max_tokens {request.count} are {end}; "
                f"the model has {self.model.config.positions} positions"
            )
        if request.blocks > self.blocks:
            raise ValueError(
                f"{len(request.prompt)} tokens of prompt and max_tokens {request.count} take "
                f"{request.blocks} blocks of {BLOCK} tokens; the memory limit allows {self.blocks}"
            )
        with self._changed:
            if self._closed:
                raise QueueFull("the server is closing")
            if len(self.waiting) >= self.waiting_most:
                raise QueueFull(f"{len(self.waiting)} requests wait, which is as many as may")
            self.waiting.append(request)
            self._changed.notify()
        return request

    @property
    def free(self):
        """Blocks that no request in the batch has a claim to."""
        return self.blocks - sum(r.blocks for r in tuple(self.running))

    def step(self):
        """Lets in who fits, then one token of each. True while there is anything to do."""
        for request in [r for r in self.running if r.cancelled]:
            self._leave(request, "cancelled")
        while (request := self._next()) is not None:
            self._enter(request)
        if self.running:
            self._decode()
        return bool(self.running or self.waiting)

    def run(self):
        """Steps until `close`; waits while there is nothing to do. What a step raises ends its requests."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self.running or self.waiting)
                if self._closed:
                    break
            try:
                self.step()
            except Exception as error:
                for request in list(self.running):
                    self._leave(request, error)
        for request in [*self.running, *self.waiting]:
            request.events.put(QueueFull("the server is closing"))

    def close(self):
        """Ends `run`; requests that are not done get QueueFull."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _next(self):
        """Takes the first that waits, where it fits."""
        with self._changed:
            while self.waiting and self.waiting[0].cancelled:
                self.waiting.popleft().events.put("cancelled")
            fits = len(self.running) < self.most and self.waiting
            return self.waiting.popleft() if fits and self.waiting[0].blocks <= self.free else None

    def _enter(self, request):
        request.sequence = self.cache.add_sequence()
        self.running.append(request)
        logits = self.model.prefill(request.prompt, self.cache, request.sequence)
        self._give(request, logits.to_numpy())

    def _decode(self):
        """One token of each request, in the order of the cache's sequences."""
        batch = sorted(self.running, key=lambda r: r.sequence)
        logits = self.model(
            [[r.last] for r in batch],
            [r.position for r in batch],
            self.cache,
            tuple(r.sequence for r in batch),
        ).to_numpy()
        if self.metrics is not None:
            self.metrics.step(len(batch))
        for request, row in zip(batch, logits, strict=True):
            self._give(request, row)

    def _give(self, request, logits):
        """Draws a request's next token, hands it out, and lets a finished one go."""
        token, now = request.draw(logits), time.perf_counter()
        ends = token in self.model.config.ends
        if self.metrics is not None:
            self.metrics.token(now - request.given, first=request.drawn == 0)
        request.given = now
        request.last, request.drawn = token, request.drawn + 1
        if not ends:
            request.events.put(token)
        if ends or request.drawn == request.count:
            self._leave(request, "stop" if ends else "length")

    def _leave(self, request, event):
        self.running.remove(request)
        self.cache.free_sequence(request.sequence)
        request.events.put(event)
        if self.metrics is not None:
            self.metrics.done("error" if isinstance(event, BaseException) else event)

    def state(self):
        """Numbers of now for /metrics, by name."""
        return {
            "requests_running": len(self.running),
            "requests_waiting": len(self.waiting),
            "cache_blocks": self.blocks,
            "cache_blocks_free": self.free,
            "cache_bytes": self.blocks * BLOCK * self.model.token_bytes,
            "device_bytes": np.memory.memory_allocated(),
        }
