"""Logins and keys as settings: what is made is read, what is anything else is refused without being shown."""

import hashlib

import pytest

from cobnut.config.credentials import new_api_key, new_login, parse_api_key, parse_login
from cobnut.config.load import load_settings
from cobnut.errors import InputError


def test_a_login_is_read_back_and_knows_its_password():
    text = new_login("alice", "pass:wörd, $1").text()
    login = parse_login(text)
    assert login.matches("pass:wörd, $1".encode())
    assert not login.matches(b"pass:word, $1")
    assert not login.matches(b"")
    assert not set(text) & set(", $\"'\\%#")


def test_a_login_is_scrypt_as_others_compute_it():
    login = new_login("alice", "secret")
    assert hashlib.scrypt(b"secret", salt=login.salt, n=2**14, r=8, p=1, dklen=32) == login.hash


def test_two_logins_with_one_password_differ():
    assert new_login("a", "same").hash != new_login("a", "same").hash


def test_a_key_is_read_back_and_is_not_in_what_is_kept():
    key, entry = new_api_key("ci")
    assert parse_api_key(entry.text()) == entry
    assert key not in entry.text()
    assert len(key) > 43
    assert new_api_key("ci")[0] != key


@pytest.mark.parametrize("name", ["", "a b", "a:b", "a,b", "ä", "x" * 65])
def test_names_that_cannot_stand_in_a_setting(name):
    with pytest.raises(ValueError, match="name"):
        new_login(name, "p")
    with pytest.raises(ValueError, match="name"):
        new_api_key(name)


GOOD = new_login("alice", "p").text()


@pytest.mark.parametrize(
    "entry",
    [
        "alice:hunter2", "hunter2", GOOD[:-4], GOOD + "=!", GOOD.replace(":14:", ":30:"), GOOD.replace(":8:", ":999:"),
        GOOD.replace(":14:", ":x:"), GOOD.replace("scrypt", "plain"), GOOD.replace(":14:", ":1:"), "hunter2:" + GOOD,
    ],
    ids=range(10),  # a salt in a test's name would give every process of a parallel run names of its own
)  # fmt: skip
def test_what_is_no_login_is_refused_and_not_shown(entry):
    with pytest.raises(InputError) as error:
        load_settings(None, environ={"COBNUT_SERVE__BASIC_AUTH": entry})
    assert "serve.basic_auth" in error.value.line()
    assert "hash-password" in error.value.line() or "cut or changed" in error.value.line()
    assert "hunter2" not in error.value.line()


@pytest.mark.parametrize("entry", ["hunter2", "ci:sha256:hunter2", "ci:md5:AAAA", "ci:sha256:" + "A" * 43 + "AAAA"])
def test_what_is_no_key_is_refused_and_not_shown(entry):
    with pytest.raises(InputError) as error:
        load_settings(None, environ={"COBNUT_SERVE__API_KEYS": entry})
    assert "serve.api_keys" in error.value.line()
    assert "hunter2" not in error.value.line()


def test_several_stand_in_one_variable():
    several = ",".join((GOOD, new_login("bob", "q").text()))
    assert len(load_settings(None, environ={"COBNUT_SERVE__BASIC_AUTH": several}).settings.serve.basic_auth) == 2


@pytest.mark.parametrize("host", ["a.example:80", "http://a.example", "*", "a.*.example", "", "a..b", "a/b"])
def test_what_is_no_host_is_refused(host):
    with pytest.raises(InputError, match=r"serve\.hosts"):
        load_settings(None, environ={}, overrides=[f'serve.hosts=["{host}"]'])


@pytest.mark.parametrize("host", ["a.example", "*.a.example", "localhost", "[::1]", "192.0.2.1", "a_b"])
def test_hosts(host):
    assert load_settings(None, environ={}, overrides=[f'serve.hosts=["{host}"]']).settings.serve.hosts == (host,)
