"""Container and units, as far as they can be checked where neither an engine nor systemd runs."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from configparser import RawConfigParser
from pathlib import Path

import pytest
from search_pages import Server, document, make_crawl, publish

from cobnut.cli.main import COMMANDS, cli
from cobnut.config.sections import DOCS

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
UNITS = sorted((PACKAGING / "systemd").glob("*@.*"))
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]


# ---- the container


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, continued lines joined, comments left out."""
    lines = [line for line in (PACKAGING / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [
        (word.upper(), rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines()) if word
    ]


def stages() -> list[list[tuple[str, str]]]:
    """The instructions of each stage, from its FROM on."""
    found: list[list[tuple[str, str]]] = []
    for word, rest in instructions():
        if word == "FROM":
            found.append([])
        if found:
            found[-1].append((word, rest))
    return found


def values(word: str, stage: int = -1) -> list[str]:
    return [rest for name, rest in stages()[stage] if name == word]


def copied() -> list[str]:
    """What is copied from the project."""
    texts = [rest for name, rest in instructions() if name == "COPY" and "--from=" not in rest]
    return [source for text in texts for source in text.split()[:-1]]


def test_the_base_is_pinned_to_one_release_and_used_for_every_stage():
    base = dict(rest.split("=", 1) for name, rest in instructions() if name == "ARG")
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", base["PYTHON"])
    assert len(stages()) == 2
    assert all(stage[0][1].split()[0] == "${PYTHON}" for stage in stages())


def test_what_is_copied_exists_and_is_sent_to_the_builder():
    ignored = (PACKAGING / "Dockerfile.dockerignore").read_text().splitlines()
    assert "*" in ignored
    for source in copied():
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored, source


def test_what_is_copied_is_all_that_the_build_needs(tmp_path):
    for source in copied():
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
        copy(ROOT / source, tmp_path / source)
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--wheel", tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((tmp_path / "dist").glob("cobnut-*.whl"))) == 1


def test_it_does_not_run_as_root():
    names = [name for name, _ in stages()[-1]]
    (user,) = values("USER")
    uid, _, gid = user.partition(":")
    assert int(uid) >= 10000
    assert int(gid) >= 10000
    assert not {"RUN", "COPY", "ADD"} & set(names[names.index("USER") :])
    assert f"--uid {uid}" in " ".join(values("RUN"))


def test_data_is_in_a_volume_that_the_user_may_write():
    assert values("VOLUME") == values("WORKDIR") == ["/data"]
    assert "install --directory --owner cobnut --group cobnut /data" in " ".join(values("RUN"))


def test_it_sets_settings_that_exist():
    set_here = re.findall(r"COBNUT_([A-Z]+)__([A-Z_]+)=", " ".join(values("ENV")))
    assert set_here
    assert {f"{section}.{name}".lower() for section, name in set_here} <= set(DOCS)


def test_it_starts_the_command():
    assert json.loads(values("ENTRYPOINT")[0]) == ["cobnut"]
    assert json.loads(values("CMD")[0]) == ["--help"]


def test_the_health_check_tells_a_server_that_answers_from_none(tmp_path):
    (check,) = values("HEALTHCHECK")
    words = json.loads(check[check.index("[") :])
    assert words[0] == "python"
    assert "/healthz" in words[-1]

    def healthy(port: int) -> bool:
        environment = {**os.environ, "COBNUT_SERVE__PORT": str(port)}
        return subprocess.run([sys.executable, *words[1:]], env=environment, capture_output=True).returncode == 0

    publish(make_crawl(tmp_path / "crawl"), [document(1)])
    with Server(tmp_path / "crawl") as server:
        assert healthy(server.port)
        port = server.port
    assert not healthy(port)


# ---- the units


def unit(path: Path) -> RawConfigParser:
    """A unit's settings; of one that is set several times, all values by line."""

    class Several(dict):
        def __setitem__(self, key, value):
            if key in self and isinstance(self[key], list) and isinstance(value, list):
                self[key].extend(value)
            else:
                super().__setitem__(key, value)

    parser = RawConfigParser(dict_type=Several, strict=False, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str
    parser.read_string(path.read_text())
    return parser


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_a_service_calls_commands_that_exist(path):
    commands = [line for line in unit(path)["Service"]["ExecStart"].splitlines() if line]
    assert commands
    for line in commands:
        program, name, *arguments = shlex.split(line)
        assert program == "/usr/local/bin/cobnut"
        assert name in COMMANDS
        command = cli.get_command(None, name)
        arguments = [argument.replace("%i", "name") for argument in arguments]
        command.make_context(name, arguments)  # raises what is wrong with them


@pytest.mark.parametrize("path", SERVICES, ids=lambda path: path.name)
def test_a_service_may_do_no_more_than_it_needs(path):
    service = unit(path)["Service"]
    assert "User" in service or service.get("DynamicUser") == "yes"
    assert service.get("User") != "root"
    for name in (
        "NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices", "ProtectKernelModules", "RestrictNamespaces",
        "LockPersonality", "MemoryDenyWriteExecute",
    ):  # fmt: skip
        assert service[name] == "yes", name
    assert service["ProtectSystem"] == "strict"
    assert service["CapabilityBoundingSet"] == ""


def test_the_searcher_reads_what_the_crawler_publishes_and_no_more():
    crawl, serve = (unit(PACKAGING / f"systemd/cobnut-{name}@.service")["Service"] for name in ("crawl", "serve"))
    published = crawl["ExecStart"].split()[-1]
    assert serve["ExecStart"].split()[-1] == published == "/var/lib/cobnut/published/%i"
    assert "StateDirectory" not in serve
    assert "ReadWritePaths" not in serve
    assert serve["InaccessiblePaths"].lstrip("-") == "/var/lib/cobnut/crawls"
    assert "cobnut/published" in crawl["StateDirectory"].split()


def test_the_timer_starts_a_service_that_is_there():
    (timer,) = (path for path in UNITS if path.suffix == ".timer")
    assert (timer.parent / f"{timer.stem}.service").exists()
    assert unit(timer)["Timer"]["OnCalendar"]
    assert unit(timer)["Install"]["WantedBy"] == "timers.target"


def test_systemd_finds_nothing_wrong(tmp_path):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze on this machine")
    for path in UNITS:
        text = path.read_text().replace("/usr/local/bin/cobnut", sys.executable)  # the program has to exist
        (tmp_path / path.name.replace("@.", "@name.")).write_text(text)
    names = sorted(tmp_path.iterdir())
    done = subprocess.run([analyze, "verify", *names], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if "cobnut" in line]
    assert (done.returncode, ours) == (0, []), done.stderr
    for path in names:
        if path.suffix == ".service":
            done = subprocess.run(
                [analyze, "security", "--offline=true", "--threshold=25", path], capture_output=True, text=True
            )
            assert done.returncode == 0, done.stdout
