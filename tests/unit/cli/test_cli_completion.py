"""Completion by Tab: what the scripts say, and what a real shell makes of them."""

import os
import shutil
import subprocess
import sys

import pytest
from click.shell_completion import CompletionItem
from crawling import cobnut

from cobnut.cli.main import COMMANDS, cli
from cobnut.config.sections import DOCS


def offered(*words: str, incomplete: str = "") -> list[CompletionItem]:
    """What click offers after some words."""
    from click.shell_completion import ShellComplete

    return ShellComplete(cli, {}, "cobnut", "_COBNUT_COMPLETE").get_completions(list(words), incomplete)


def values(*words: str, incomplete: str = "") -> list[str]:
    return [item.value for item in offered(*words, incomplete=incomplete)]


def test_every_command_is_offered_with_its_line():
    assert {item.value: item.help for item in offered()} == {n: line.strip() for n, (_, line) in COMMANDS.items()}
    assert values(incomplete="inv") == ["invertlinks"]
    assert values(incomplete="--ver") == ["--version"]


def test_options_are_offered_and_settings_after_s():
    assert "--max-pages" in values("crawl", "DIR", incomplete="--max")
    assert values("fetch", "DIR", "-s") == [f"{name}=" for name in DOCS]
    assert values("fetch", "DIR", "-s", incomplete="fetcher.del") == ["fetcher.delay_s="]


def test_folders_are_left_to_the_shell():
    assert [item.type for item in offered("serve", incomplete="my")] == ["file"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell):
    script = cobnut("completion", shell).stdout
    assert f"_COBNUT_COMPLETE={shell}_complete" in script
    found = shutil.which(shell)
    if found is not None:
        checked = subprocess.run([found, "-n"], input=script, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr


def test_an_unknown_shell_is_named():
    refused = cobnut("completion", "ksh", expect=2)
    assert "'ksh'" in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("typed", "completed"), [("s", ["search", "serve"]), ("serve --po", ["--port"]), ("read -s x=1 craw", ["crawldb"])]
)
def test_bash_completes(tmp_path, typed, completed):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash on this machine")
    program = tmp_path / "cobnut"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cobnut.cli "$@"\n')
    program.chmod(0o755)
    words = ["cobnut", *typed.split()]
    script = f"""
eval "$(cobnut completion bash)"
COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1}
_cobnut_completion cobnut
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        [bash, "--norc", "-c", script],
        capture_output=True, text=True, env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.stdout.split() == completed, done.stderr
