"""Which URL stands for a page behind redirects: as real Nutch 1.23 chose, and over chains and loops."""

import json
from pathlib import Path

import pytest

from cobnut.frontier.representative import representative, shown_for

CHOICES = json.loads((Path(__file__).parents[2] / "formats/nutch/oracle/chooseRepr.json").read_text())


def test_all_choices_are_there():
    assert len(CHOICES) == 24


@pytest.mark.parametrize("choice", CHOICES, ids=lambda c: f"{c['src']} {'temp' if c['temp'] else 'perm'} {c['dst']}")
def test_as_the_real_program_chose(choice):
    assert representative(choice["src"], choice["dst"], choice["temp"]) == choice["repr"]


def shown(page, **redirects):
    into = {}
    for source, (target, temporary) in redirects.items():
        into.setdefault(target, []).append((source, temporary))
    return shown_for(page, lambda url: into.get(url, ()))


A, HOME, DEEP, OTHER = "http://a.com/", "http://a.com/en/home.html", "http://a.com/x/y/z", "http://other.org/"


def test_chains_are_judged_from_their_beginning():
    assert shown(HOME) == HOME
    assert shown(HOME, **{A: (HOME, True)}) == A
    assert shown(HOME, **{A: (DEEP, True), DEEP: (HOME, False)}) == A
    assert shown(HOME, **{OTHER: (HOME, True)}) == HOME
    assert shown(HOME, **{DEEP: (HOME, True), A: (HOME, False)}) == A


def test_loops_and_long_chains_end():
    assert shown(HOME, **{DEEP: (HOME, True), HOME: (DEEP, True)}) == HOME
    ring = {f"http://a.com/{n}": (f"http://a.com/{(n + 1) % 50}", True) for n in range(50)}
    assert shown("http://a.com/0", **ring) in ring
