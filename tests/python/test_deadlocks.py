"""`debug.check_deadlock`: cycles of planned waits, waits that last, programs that are not to be accused; stream errors."""

import gc

import asnumpy as np
import pytest

check = np.debug.check_deadlock


def ring(n):
    """Streams of which each waits for what the next one records: the waits of a cycle, as a plan."""
    streams = [np.Stream(name=f"s{k}") for k in range(n)]
    events = [np.Event(s, name=f"e{k}") for k, s in enumerate(streams)]
    return streams, events, [(s, events[(k + 1) % n]) for k, s in enumerate(streams)]


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_a_ring_is_found_before_it_is_closed(n):
    streams, events, plan = ring(n)
    found = check(events=plan)
    assert found and len(found.cycles) == 1 and len(found.cycles[0]) == n
    assert not check(events=plan[:-1]) and not check()
    told = str(found)
    assert all(f"s{k} waits for e{(k + 1) % n}" in told for k in range(n))
    if n == 2:
        assert found.advice == [
            "merge s1 and s0 into one stream, or let one of them wait for what the other has put there "
            "before it waits itself (wait_stream)"
        ]
    if n > 2:
        assert f"a cycle of {n} streams: put the work of" in found.advice[0]
        assert "on one stream, or redesign it" in found.advice[0]


@pytest.mark.parametrize("n", [2, 3, 40])
def test_the_last_wait_of_a_ring_is_refused_by_the_core_too(n):
    streams, events, plan = ring(n)
    for stream, event in plan[:-1]:
        stream.wait_event(event)
    held = check()
    assert not held and len(held.waits) == n - 1
    assert held.waits[0].line.startswith(__file__) and "no deadlock" in str(held)
    found = check(events=plan[-1:])  # one more on top of those that last
    assert found and len(found.cycles[0]) == n
    with pytest.raises(RuntimeError, match="deadlock"):
        plan[-1][0].wait_event(plan[-1][1])
    events[-1].record(streams[-1])  # and all go on
    for event, stream in zip(events[::-1], streams[::-1], strict=True):
        event.record(stream)
        stream.synchronize()
    assert not check().waits


def test_what_comes_later_is_no_part_of_a_cycle():
    """B's second wait is behind what A waits for: A goes on, records, and B with it."""
    a, b, c = (np.Stream(name=n) for n in "abc")
    first, second = np.Event(c, name="first"), np.Event(a, name="second")
    b.wait_event(first)
    a.wait_stream(b)
    assert not check(events=[(b, second)])
    b.wait_event(second)  # the core allows it
    assert not check() and {w.stream for w in check().waits} == {"a", "b"}
    first.record(c)
    second.record(a)
    for s in (a, b, c):
        s.synchronize()
    assert not check().waits


def test_chains_forks_and_events_that_pass():
    a, b, c = (np.Stream(name=n) for n in "abc")
    of_a, of_b = np.Event(a), np.Event(b)
    assert not check(events=[(b, of_a), (c, of_a), (c, of_b)])  # a diamond
    never = np.Event()
    assert not check(events=[(a, never), (b, never)])  # ends at once, in CANN as well
    done = b.record_event()
    assert not check(events=[(a, done), (b, of_a)])
    assert (
        check(events=[(c, of_b), (b, of_a), (a, np.Event(b)), (c, of_a)]).cycles[0][0].stream == "a"
    )


def test_streams_and_events_select():
    streams, events, plan = ring(2)
    other, ready = np.Stream(name="other"), np.Event(streams[0], name="ready")
    other.wait_event(ready)
    assert [w.stream for w in check().waits] == ["other"]
    assert check(streams).waits == [] and check([other]).waits[0].event == "ready"
    assert check(events=[ready]).waits and not check(events=[events[0]]).waits
    assert check([other], plan).cycles == [] and check([streams[1]], plan).cycles
    ready.record(streams[0])
    other.synchronize()


def test_a_stream_that_nobody_holds_records_nothing():
    waiting, gone = np.Stream(name="waiting"), np.Stream(name="gone")
    event = np.Event(gone, name="never")
    waiting.wait_event(event)
    assert not check()
    del gone
    gc.collect()
    found = check()
    assert found and not found.cycles and found.stranded[0].event == "never"
    assert "deadlock: waiting waits for never, which gone records" in str(found)
    assert found.advice[0].startswith("keep the stream gone until it has recorded never")
    del event, found
    with pytest.raises(RuntimeError, match="never recorded and is gone"):
        waiting.synchronize()
    assert not check().waits


@pytest.mark.parametrize("arguments", [([3],), (None, [3]), (None, [(1, 2)]), (None, [("a",)])])
def test_arguments(arguments):
    with pytest.raises(TypeError, match="check_deadlock: (streams|events) has a (int|tuple)"):
        check(*arguments)


def test_a_stream_shows_its_error_until_it_is_told():
    waiting, other = np.Stream(name="loader"), np.Stream()
    assert waiting.error is None and "failed" not in repr(waiting)
    event = np.Event(other, name="data")
    waiting.wait_event(event)
    assert waiting.error is None
    del event
    text = waiting.error
    assert text.startswith("loader waited for data") and text.endswith("and is gone")
    assert f"failed: {text}" in repr(waiting) and waiting.error == text
    assert (waiting.number, "loader", text) in np._core._stream_errors()
    with pytest.raises(RuntimeError, match="loader waited for data"):
        waiting.synchronize()
    assert waiting.error is None and np._core._stream_errors() == []


@pytest.mark.parametrize("order", [iter, reversed])
def test_each_waits_for_all_before_it(order):
    """There are 2^39 ways along these waits, and one place at the end of all; the last wait would close them."""
    streams = [np.Stream(name=f"s{i}") for i in range(40)]
    events = [np.Event(s, name=f"e{i}") for i, s in enumerate(streams)]
    for i, stream in enumerate(streams):
        for event in order(events[:i]):
            stream.wait_event(event)
    with pytest.raises(RuntimeError, match="deadlock: s0 would wait for e39"):
        streams[0].wait_event(events[39])
    assert not check() and len(check().waits) == 40 * 39 // 2
    for stream, event in zip(streams, events, strict=True):
        event.record(stream)
    np.synchronize()
    assert not check().waits
