"""How often a client may ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cobnut.web.limiter import DEFAULT_RATE_PER_S, WAYS, Limiter, Table, rate_in_force


def taken(limiter, client, now, tries):
    return sum(1 for _ in range(tries) if limiter.take(client, now) == 0.0)


def test_a_burst_and_then_the_rate():
    limiter = Limiter(Table.private(), 2.0, 5)
    assert taken(limiter, "a", 1_000.0, 20) == 5
    assert limiter.take("a", 1_000.0) == pytest.approx(0.5)
    assert taken(limiter, "a", 1_000.5, 20) == 1
    assert taken(limiter, "a", 1_003.0, 20) == 5
    assert taken(limiter, "b", 1_003.0, 20) == 5


def test_waiting_as_told_is_enough():
    limiter = Limiter(Table.private(), 3.0, 1)
    now = 12_345.678
    for _ in range(100):
        assert limiter.take("a", now) == 0.0
        now += limiter.take("a", now)


@given(st.lists(st.floats(0, 5), max_size=60), st.floats(0.1, 50), st.integers(1, 20))
def test_never_more_than_the_burst_and_the_rate(pauses, rate, burst):
    limiter, now, count = Limiter(Table.private(64), rate, burst), 1_000.0, 0
    for pause in pauses:
        now += pause
        count += taken(limiter, "a", now, 1)
    assert count <= burst + (now - 1_000.0) * rate + 1e-6 * len(pauses) + 1e-9
    if pauses:
        assert count >= 1


def test_no_rate_is_no_limit():
    limiter = Limiter(Table.private(), 0.0, 1)
    assert taken(limiter, "a", 0.0, 1_000) == 1_000
    limiter.charge("a", 0.0, 50)
    assert limiter.take("a", 0.0) == 0.0


def test_costly_answers_count_more_but_never_lock_out():
    limiter = Limiter(Table.private(), 1.0, 10)
    limiter.charge("a", 100.0, 4)
    assert taken(limiter, "a", 100.0, 20) == 6
    limiter.charge("a", 100.0, 1_000_000)
    assert limiter.take("a", 100.0) == pytest.approx(1.0)
    limiter.charge("a", 100.0, -1)
    assert limiter.take("a", 100.0) == 0.0


def test_a_flood_of_addresses_neither_grows_the_table_nor_frees_who_is_limited():
    table = Table.private(1_024)
    limiter = Limiter(table, 0.01, 100)
    assert taken(limiter, "greedy", 1_000.0, 200) == 100
    for number in range(20_000):
        limiter.take(f"198.51.{number // 256}.{number % 256}", 1_000.0)
    assert len(table.tags) == len(table.full_at) == 1_024
    assert limiter.take("greedy", 1_000.0) > 0


def test_the_quietest_makes_way():
    table = Table.private(WAYS)  # one set
    limiter = Limiter(table, 1.0, 10)
    for number in range(WAYS):
        limiter.take(f"c{number}", 1_000.0 + number)
    limiter.take("new", 1_010.0)
    assert taken(limiter, f"c{WAYS - 1}", 1_007.0, 20) == 9
    assert taken(limiter, "c0", 1_007.0, 20) == 10


def test_two_limits_in_one_table_do_not_meet():
    table = Table.private()
    a, b = Limiter(table, 1.0, 3), Limiter(table, 1.0, 3)
    assert taken(a, "192.0.2.1", 0.0, 9) == 3
    assert taken(b, "tries 192.0.2.1", 0.0, 9) == 3


def test_the_rate_in_force():
    assert [rate_in_force(-1, True), rate_in_force(-1, False)] == [DEFAULT_RATE_PER_S, 0.0]
    assert [rate_in_force(0, True), rate_in_force(2.5, False)] == [0, 2.5]
