"""Hosts are asked in turn, at their pace; time is a number the test passes."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from cobnut.fetcher.politeness import HostQueues


def test_a_host_waits_for_the_end_of_the_last_request_and_its_delay():
    queues = HostQueues()
    queues.host("a").delay_s = 5.0
    queues.add("a", 1)
    queues.add("a", 2)
    assert queues.take(0.0) == ("a", 1)
    assert queues.take(100.0) is None  # one connection at a time, however long it takes
    assert queues.next_time() is None
    queues.done("a", 100.0)
    assert queues.take(104.9) is None
    assert queues.next_time() == 105.0
    assert queues.take(105.0) == ("a", 2)


def test_the_pace_outlives_an_empty_queue():
    queues = HostQueues()
    queues.host("a").delay_s = 5.0
    queues.add("a", 1)
    queues.take(0.0)
    queues.done("a", 0.1)
    queues.add("a", 2)
    assert queues.next_time() == 5.1
    assert queues.take(5.0) is None
    assert queues.take(5.1) == ("a", 2)


def test_a_turn_without_a_request_costs_no_delay():
    queues = HostQueues()
    queues.host("a").delay_s = 5.0
    queues.add("a", 1)
    queues.add("a", 2)
    queues.take(0.0)
    queues.done("a", 0.0, requested=False)
    assert queues.take(0.0) == ("a", 2)


def test_a_paused_host_does_not_hold_up_others():
    queues = HostQueues()
    queues.add("a", 1)
    queues.add("b", 2)
    queues.pause("a", 100.0)
    assert queues.take(0.0) == ("b", 2)
    queues.add("c", 3)
    assert queues.next_time() == 0.0
    assert queues.take(0.0) == ("c", 3)
    assert queues.next_time() == 100.0


def test_a_resting_host_hands_its_items_back_and_takes_no_more():
    queues = HostQueues()
    for item in (1, 2, 3):
        queues.add("a", item)
    queues.take(0.0)
    assert queues.rest("a") == [2, 3]
    assert not queues.add("a", 4)
    assert queues.waiting == 0
    queues.done("a", 1.0)
    assert queues.next_time() is None


def test_first_goes_to_the_head():
    queues = HostQueues()
    queues.add("a", 1)
    queues.add("a", 0, first=True)
    assert queues.take(0.0) == ("a", 0)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 3), st.booleans())
def test_every_item_comes_once_and_no_host_is_hurried(seed, limit, with_delay):
    rng = random.Random(seed)
    queues = HostQueues(limit)
    hosts = [f"h{n}" for n in range(rng.randint(1, 6))]
    for host in hosts:
        queues.host(host).delay_s = rng.choice([0.0, 0.5, 3.0]) if with_delay else 0.0
    wanted = []
    for n in range(rng.randint(1, 60)):
        host = rng.choice(hosts)
        queues.add(host, n)
        wanted.append(n)
    now, got, running, started = 0.0, [], [], {}
    while queues.waiting or running:
        taken = queues.take(now)
        if taken is not None:
            host, item = taken
            assert sum(1 for h, _ in running if h == host) < limit
            if host in started:
                assert now - started[host] >= queues.host(host).delay_s - 1e-9
            started[host] = now
            got.append(item)
            running.append(taken)
            continue
        if running and (queues.next_time() is None or rng.random() < 0.5):
            now += rng.random()
            host, _ = running.pop(rng.randrange(len(running)))
            queues.done(host, now)
        else:
            due = queues.next_time()
            assert due is not None
            now = max(now, due)
    assert sorted(got) == wanted
