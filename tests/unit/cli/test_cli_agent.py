from __future__ import annotations

import pytest

from cobnut.cli.agent import ANYWHERE, CONTACT, NAME, agent_error, ask_agent, leaves_machine, missing_agent
from cobnut.config.checks import problem_with
from cobnut.config.sections import FetcherSettings


@pytest.mark.parametrize(
    ("hosts", "settings", "answer"),
    [
        ([], {}, False),
        (["localhost", "127.0.0.1", "[::1]", "a.localhost"], {}, False),
        (["localhost", "example.org"], {}, True),
        (["10.0.0.1"], {}, True),
        (["localhost", ANYWHERE], {}, True),
        (["localhost", ANYWHERE], {"resolve": ("localhost:127.0.0.1", "*:127.0.0.1:8080")}, False),
        (["localhost", ANYWHERE], {"resolve": ("localhost:127.0.0.1",)}, True),
        (["example.org"], {"proxy": "http://127.0.0.1:3128"}, False),
        (["example.org"], {"proxy": "http://proxy.example:3128"}, True),
        (["example.org"], {"resolve": ("*:127.0.0.1:8080",)}, False),
        (["example.org"], {"resolve": ("*:80:127.0.0.1:8080",)}, True),
        (["example.org", "b.test"], {"resolve": ("example.org:127.0.0.1",)}, True),
        (["Example.org"], {"resolve": ("example.org:127.0.0.1", "*:93.184.216.34")}, True),
        (["example.org"], {"resolve": ("*:[::1]:81",)}, False),
        (["example.org"], {"resolve": ("*:93.184.216.34",)}, True),
    ],
)
def test_what_leaves_the_machine(hosts: list[str], settings: dict[str, object], answer: bool) -> None:
    assert leaves_machine(hosts, FetcherSettings(**settings)) is answer  # type: ignore[arg-type]


def test_both_settings_are_needed_for_the_open_web() -> None:
    web = ["example.org"]
    assert missing_agent(web, FetcherSettings()) == (NAME, CONTACT)
    assert missing_agent(web, FetcherSettings(agent_name="A", agent_contact=" ")) == (CONTACT,)
    assert missing_agent(web, FetcherSettings(agent_name="A", agent_contact="a@b.test")) == ()
    assert missing_agent(["localhost"], FetcherSettings()) == ()
    line = agent_error((NAME, CONTACT), "DIR").line()
    assert NAME in line
    assert f"-s {CONTACT}=" in line


def test_questions_are_asked_until_the_answers_are_sane() -> None:
    answers = iter(["", "my crawler", "  Acorn ", "a(b)", "me@example.org"])
    told: list[str] = []
    found = ask_agent((NAME, CONTACT), lambda question: next(answers), problem_with, told.append)
    assert found == {NAME: "Acorn", CONTACT: "me@example.org"}
    assert len(told) == 3
    assert "product token" in told[1]
