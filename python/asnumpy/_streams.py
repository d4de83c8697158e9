"""Streams, events and batches.

A stream is an ordered queue of work on the device; work on different streams may run at the same time. Each thread
has a current stream, at first the default one, to which its operations go. What an array needs from another stream
is waited for automatically, by the streams: no program has to synchronise for its results to be right.
"""

import contextlib
import contextvars
import threading

from . import _core


class Stream:
    """An ordered queue of work on the current device; work on different streams may run at the same time.

    What an array needs from another stream is waited for by the streams themselves.

    Parameters
    ----------
    priority : int
        0 (first) to 7 (last), where the device has priorities (an NPU; the CPU device has none).
    name : str, optional
        For messages and profiles, cut to 31 characters; "stream N" by default.

    Raises
    ------
    RuntimeError
        More than 63 at a time.
    ValueError
        Another priority.

    Notes
    -----
    Streams are pooled: one that nobody holds any more is given out again, and what was queued there
    goes on.

    Examples
    --------
    >>> import asnumpy as np
    >>> s = np.Stream(name="loader")
    >>> with np.stream(s):
    ...     a = np.arange(3) * 2
    >>> s.synchronize()
    >>> s.name, a
    ('loader', array([0, 2, 4]))
    """

    __slots__ = ("_handle", "__weakref__")

    def __init__(self, priority=0, *, name=None):
        self._handle = _core._stream_new(priority, name)

    @classmethod
    def _of(cls, handle):
        found = cls.__new__(cls)
        found._handle = handle
        return found

    @property
    def number(self):
        """Its number in the process, which profiles show; 0 is the default stream."""
        return _core._stream_info(self._handle)[0]

    @property
    def name(self):
        """The name that messages have."""
        return _core._stream_info(self._handle)[1]

    @property
    def priority(self):
        """From 0 (first) to 7 (last)."""
        return _core._stream_info(self._handle)[2]

    @property
    def device(self):
        """The number of the device that it is on."""
        return _core._stream_info(self._handle)[3]

    @property
    def handle(self):
        """The address of its aclrtStream, with everything recorded so far put on it, for AscendCL's functions."""
        return _core._stream_handle(self._handle)

    @property
    def error(self):
        """What failed on it, with the operation's name, until somebody waits for it and gets the exception; None."""
        return _core._stream_error(self._handle)

    def synchronize(self):
        """Waits for everything put on the stream.

        Returns
        -------
        None

        Raises
        ------
        RuntimeError
            A task failed (its error, told once), or the stream waits for an event that nobody can record
            any more.

        Examples
        --------
        >>> import asnumpy as np
        >>> s = np.Stream()
        >>> with np.stream(s):
        ...     a = np.ones(1000) + 1
        >>> s.synchronize()
        >>> s.query()
        True
        """
        _core._stream_synchronize(self._handle)

    def query(self):
        """Whether everything put on the stream has ended; does not wait.

        Returns
        -------
        bool

        Examples
        --------
        >>> import asnumpy as np
        >>> np.Stream().query()
        True
        """
        return _core._stream_query(self._handle)

    def wait_stream(self, stream):
        """Puts what comes on this stream from now on behind what is on another.

        Parameters
        ----------
        stream : Stream
            The other one.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            It is no Stream.

        Examples
        --------
        >>> import asnumpy as np
        >>> np.Stream().wait_stream(np.default_stream())
        """
        _core._stream_follow(self._handle, _stream(stream, "wait_stream")._handle)

    def wait_event(self, event):
        """Puts what comes on this stream from now on behind an event.

        Parameters
        ----------
        event : Event
            What is waited for.

        Returns
        -------
        None

        Raises
        ------
        TypeError
            It is no Event.
        RuntimeError
            Streams would wait for each other in a cycle.

        Examples
        --------
        >>> import asnumpy as np
        >>> np.Stream().wait_event(np.default_stream().record_event())
        """
        _core._stream_wait_event(self._handle, _event(event, "wait_event")._handle)

    def record_event(self, event=None):
        """Records an event behind what is on the stream.

        Parameters
        ----------
        event : Event, optional
            By default a new one.

        Returns
        -------
        Event

        Raises
        ------
        RuntimeError
            The event is one that another stream will record.

        Examples
        --------
        >>> import asnumpy as np
        >>> event = np.default_stream().record_event()
        >>> event.synchronize()
        >>> event.query()
        True
        """
        event = Event() if event is None else event
        _event(event, "record_event").record(self)
        return event

    def __eq__(self, other):
        return isinstance(other, Stream) and self.number == other.number

    def __hash__(self):
        return hash(("asnumpy.Stream", self.number))

    def __repr__(self):
        failed = f", failed: {self.error}" if self.error else ""
        return f"<asnumpy.Stream {self.number}: {self.name!r}, device {self.device}{failed}>"


class Event:
    """A point on a stream that other streams and the host can wait for.

    Parameters
    ----------
    stream : Stream, optional
        The one stream that may record the event, and will: a wait may then come before that.
    timing : bool
        Whether elapsed_time may be asked.
    name : str, optional
        For messages, cut to 31 characters; "event N" by default.

    Notes
    -----
    A wait for an event without a stream that was never recorded ends at once, as in CANN. Waits for
    events that are yet to come can form a cycle; the wait that would close one raises RuntimeError and
    spells it out. When such an event goes away unrecorded, the streams that wait for it go on, with an
    error.

    Examples
    --------
    >>> import asnumpy as np
    >>> event = np.Event()
    >>> event.record()
    >>> event.synchronize()
    >>> event.query()
    True
    """

    __slots__ = ("_handle", "__weakref__")

    def __init__(self, stream=None, *, timing=False, name=None):
        by = None if stream is None else _stream(stream, "Event")._handle
        self._handle = _core._event_new(by, timing, name)

    @property
    def name(self):
        """The name that messages have."""
        return _core._event_name(self._handle)

    def record(self, stream=None):
        """Marks the present end of a stream.

        Parameters
        ----------
        stream : Stream, optional
            By default the current one.

        Returns
        -------
        None

        Raises
        ------
        RuntimeError
            The event is one that another stream will record.

        Examples
        --------
        >>> import asnumpy as np
        >>> event = np.Event()
        >>> event.record(np.default_stream())
        >>> event.synchronize()
        """
        stream = current_stream() if stream is None else _stream(stream, "record")
        _core._event_record(self._handle, stream._handle)

    def wait(self, stream=None):
        """Puts what comes on a stream from now on behind the event.

        Parameters
        ----------
        stream : Stream, optional
            By default the current one.

        Returns
        -------
        None

        Raises
        ------
        RuntimeError
            Streams would wait for each other in a cycle.

        Examples
        --------
        >>> import asnumpy as np
        >>> np.Event().wait()
        """
        (current_stream() if stream is None else _stream(stream, "wait")).wait_event(self)

    def query(self):
        """Whether the event was recorded, and reached; does not wait.

        Returns
        -------
        bool

        Examples
        --------
        >>> import asnumpy as np
        >>> event = np.default_stream().record_event()
        >>> event.synchronize()
        >>> event.query()
        True
        """
        return _core._event_query(self._handle)

    def synchronize(self):
        """Waits until the event is reached.

        Returns
        -------
        None

        Raises
        ------
        RuntimeError
            Nobody can record it any more.

        Examples
        --------
        >>> import asnumpy as np
        >>> np.default_stream().record_event().synchronize()
        """
        _core._event_synchronize(self._handle)

    def elapsed_time(self, end):
        """The time from this event to another.

        Parameters
        ----------
        end : Event
            The later one; both made with timing=True, and reached.

        Returns
        -------
        float
            Milliseconds.

        Raises
        ------
        TypeError
            It is no Event.
        RuntimeError
            One of them has no time, or is not reached.

        Examples
        --------
        >>> import asnumpy as np
        >>> begin, end = np.Event(timing=True), np.Event(timing=True)
        >>> begin.record()
        >>> end.record()
        >>> end.synchronize()
        >>> begin.elapsed_time(end) >= 0
        True
        """
        return _core._event_elapsed(self._handle, _event(end, "elapsed_time")._handle)

    def __repr__(self):
        return f"<asnumpy.Event {self.name!r}>"


def _stream(value, where):
    if isinstance(value, Stream):
        return value
    raise TypeError(f"{where} takes an asnumpy.Stream, got {type(value).__name__}")


def _event(value, where):
    if isinstance(value, Event):
        return value
    raise TypeError(f"{where} takes an asnumpy.Event, got {type(value).__name__}")


def current_stream():
    """The calling thread's stream, on which its operations go.

    Returns
    -------
    Stream

    Examples
    --------
    >>> import asnumpy as np
    >>> np.current_stream() == np.default_stream()
    True
    """
    return Stream._of(_core._stream_current())


def default_stream():
    """The library's own stream, which threads use that set no other.

    Returns
    -------
    Stream

    Examples
    --------
    >>> import asnumpy as np
    >>> np.default_stream().number
    0
    """
    return Stream._of(_core._stream_default())


class stream:
    """Puts the operations of a with block on a stream.

    It is the calling thread's; other threads have their own. Entering and leaving ends a recording:
    what was recorded before goes to the stream it was recorded for.

    Parameters
    ----------
    stream : Stream or None
        None: the current one stays.

    Raises
    ------
    TypeError
        It is no Stream.

    Examples
    --------
    >>> import asnumpy as np
    >>> s = np.Stream()
    >>> with np.stream(s):
    ...     print(np.current_stream() == s)
    True
    """

    def __init__(self, stream):
        self._stream = None if stream is None else _stream(stream, "stream")
        self._before = []

    def __enter__(self):
        self._before.append(_core._stream_current())
        if self._stream is not None:
            _core._stream_set(self._stream._handle)
        return self._stream or current_stream()

    def __exit__(self, *_):
        _core._stream_set(self._before.pop())


class _Batch:
    """The jobs of a batch and what became of them; threads take the next one until there is none."""

    def __init__(self, jobs):
        self.jobs = jobs
        self.results = [None] * len(jobs)
        self.errors = {}  # number -> exception, in order of their happening
        self.next = 0
        self.lock = threading.Lock()

    def take(self):
        with self.lock:
            if self.next == len(self.jobs) or self.errors:
                return None
            self.next += 1
            return self.next - 1

    def run(self, number, on):
        function, args = self.jobs[number]
        try:
            with stream(on):
                self.results[number] = function(*args)
            on.synchronize()
        except BaseException as error:  # noqa: BLE001 - raised by batch()
            with self.lock:
                self.errors[number] = error

    def work(self, on):
        while (number := self.take()) is not None:
            self.run(number, on)

    def raise_first(self):
        (number, first), *others = self.errors.items()
        self.errors = {}
        cancelled = len(self.jobs) - self.next
        first.batch_errors = dict(others)
        if hasattr(first, "add_note"):  # Python 3.11
            first.add_note(
                f"in job {number} of {len(self.jobs)} of asnumpy.batch; {cancelled} were not started"
            )
            for n, error in others:
                first.add_note(f"job {n} failed too: {type(error).__name__}: {error}")
        try:
            raise first.with_traceback(
                first.__traceback__.tb_next
            )  # without the frame that holds the stream
        finally:
            del first, others  # the traceback has this frame: no cycle


def _job(job, number):
    if callable(job):
        return job, ()
    if isinstance(job, tuple) and len(job) == 2 and callable(job[0]):
        return job[0], tuple(job[1])
    raise TypeError(
        f"batch: job {number} is a {type(job).__name__}; it may be a callable or (callable, arguments)"
    )


def batch(jobs, *, streams=None):
    """Runs independent jobs on several streams.

    Parameters
    ----------
    jobs : iterable
        Callables, or pairs (callable, arguments).
    streams : int, optional
        How many jobs run at a time, each in a thread and on a stream of its own; 4 by default.

    Returns
    -------
    list
        The jobs' results in their order; everything is computed.

    Raises
    ------
    TypeError
        A job is something else.
    ValueError
        streams is below 1.
    Exception
        The first one that a job raised, once those that run have ended; no further one is started. The
        others are its batch_errors, by the numbers of the jobs, and its notes.

    Notes
    -----
    Each job sees the context variables of the caller (errstate too).

    Examples
    --------
    >>> import asnumpy as np
    >>> np.batch([(np.sum, ([1, 2],)), lambda: np.arange(3) * 2])
    [np.int64(3), array([0, 2, 4])]
    """
    batch = _Batch([_job(job, number) for number, job in enumerate(jobs)])
    if streams is None:
        streams = 4
    if not isinstance(streams, int) or streams < 1:
        raise ValueError(f"batch: streams is {streams!r}; it may be 1 or more")
    with contextlib.ExitStack() as held:
        threads = []
        for _ in range(min(streams, len(batch.jobs))):
            context = contextvars.copy_context()
            threads.append(
                threading.Thread(target=context.run, args=(batch.work, Stream()), daemon=True)
            )
        for thread in threads:
            held.callback(thread.join)
            thread.start()
    if batch.errors:
        batch.raise_first()
    return batch.results
