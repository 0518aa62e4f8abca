from __future__ import annotations

import json
import os
import pty
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handloop.client.auth.credentials import Fetched
from handloop.client.auth.exec_plugin import fetch_from_plugin
from handloop.client.auth.tls import KeyPair
from handloop.client.errors import ConfigError, ConfigProblem
from support.checks.holders import Holders
from support.checks.threads import Background

ROOT = Path(__file__).parents[3]

VERSION = "client.authentication.k8s.io/v1"


def plugin(folder: Path, body: str, name: str = "plugin") -> dict[str, Any]:
    """An exec section for a shell script in folder."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"command": f"./{name}", "apiVersion": VERSION}


def fetch(
    section: dict[str, Any],
    folder: Path,
    cluster: dict[str, Any] | None = None,
    *,
    stop: threading.Event | None = None,
    seconds: float = 30.0,
) -> Fetched:
    """Run the plugin once."""
    stop = stop or threading.Event()
    return fetch_from_plugin(section, cluster or {}, str(folder), stop=stop, seconds=seconds)


class Hand:
    """The deadline's clock, which stands until a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def hand(monkeypatch: pytest.MonkeyPatch) -> Hand:
    made = Hand()
    monkeypatch.setattr("handloop.client.auth.exec_plugin.time", made)
    return made


@pytest.fixture
def holders(tmp_path: Path) -> Iterator[Holders]:
    made = Holders(tmp_path)
    yield made
    made.close()


def answering(folder: Path, **status: Any) -> dict[str, Any]:
    credential = json.dumps({"kind": "ExecCredential", "apiVersion": VERSION, "status": status})
    return plugin(folder, f"cat <<'END'\n{credential}\nEND")


def test_a_token_and_its_expiry(tmp_path: Path) -> None:
    """E06: a plugin's token is a bearer token until the time it names."""
    section = answering(tmp_path, token="t", expirationTimestamp="2026-01-02T03:04:05Z")
    fetched = fetch(section, tmp_path)
    assert fetched.authorization == "Bearer t"
    assert fetched.expires_at == 1767323045.0
    assert fetched.key_pair is None


@pytest.mark.parametrize("never", [None, "0001-01-01T00:00:00Z", "0001-01-01T02:00:00+02:00"])
def test_credentials_that_never_expire(tmp_path: Path, never: str | None) -> None:
    """A program in Go that leaves the time out may write its zero; the plugin runs once."""
    assert fetch(answering(tmp_path, token="t", expirationTimestamp=never), tmp_path).expires_at is None


def test_a_client_certificate(tmp_path: Path) -> None:
    """A plugin may answer with a key pair."""
    section = answering(tmp_path, clientCertificateData="CERT", clientKeyData="KEY")
    fetched = fetch(section, tmp_path)
    assert fetched.key_pair == KeyPair(b"CERT", b"KEY")
    assert (fetched.authorization, fetched.expires_at) == ("", None)


def test_arguments_environment_and_cluster(tmp_path: Path) -> None:
    """The plugin gets its arguments, its environment, and the cluster if it asked."""
    body = (
        'test "$1" = login || exit 3\n'
        'test "${EMPTY-unset}" = "" || exit 4\n'  # `value:` with nothing after it is null in YAML
        f'printf \'{{"kind":"ExecCredential","apiVersion":"{VERSION}","status":{{"token":"%s"}}}}\' '
        '"$PREFIX-$(echo $KUBERNETES_EXEC_INFO | tr -dc a-zA-Z0-9)"'
    )
    section = plugin(tmp_path, body) | {
        "args": ["login"],
        "env": [{"name": "PREFIX", "value": "p"}, {"name": "EMPTY", "value": None}],
        "provideClusterInfo": True,
    }
    own = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "a"}}
    fetched = fetch(section, tmp_path, {"server": "https://h", "extensions": [own]})
    assert fetched.authorization.startswith("Bearer p-")
    assert "serverhttpsh" in fetched.authorization
    assert "configaudiencea" in fetched.authorization
    assert "extensions" not in fetched.authorization


def test_a_plugin_runs_in_the_folder_of_its_kubeconfig(tmp_path: Path) -> None:
    """Relative paths in its arguments start there, wherever the program was started."""
    body = f'printf \'{{"kind":"ExecCredential","apiVersion":"{VERSION}","status":{{"token":"%s"}}}}\' "$PWD"'
    assert fetch(plugin(tmp_path, body), tmp_path).authorization == f"Bearer {tmp_path}"


def test_a_plugin_that_is_not_there(tmp_path: Path) -> None:
    """E06: the error names the program and has the kubeconfig's words on installing it."""
    for command, where in (("no-such-plugin-here", " in PATH"), ("./missing", "")):
        section = {"command": command, "apiVersion": VERSION, "installHint": "brew install it\n"}
        with pytest.raises(ConfigError) as caught:
            fetch(section, tmp_path)
        error = caught.value
        assert error.kind is ConfigProblem.EXEC_PLUGIN
        assert error.message == f'exec plugin "{command}" not found{where}'
        assert (error.plugin, error.install_hint, error.fix) == (
            command,
            "brew install it",
            "brew install it",
        )


def status(text: str, version: str = VERSION) -> str:
    """A script that answers with this status, as it is."""
    return f"""echo '{{"kind":"ExecCredential","apiVersion":"{version}","status":{text}}}'"""


@pytest.mark.parametrize(
    ("body", "cause"),
    [
        ("echo denied >&2; exit 1", "denied"),
        ("kill -9 $$", "exit code -9"),
        ("echo '{'", "not an ExecCredential: Input data was truncated"),
        ("echo '{}'", "not an ExecCredential: Object missing required field `apiVersion`"),
        ("echo '[]'", "not an ExecCredential: Expected `object`, got `array`"),
        ("printf '\\377'", "not an ExecCredential"),
        (status("[]"), "not an ExecCredential: Expected `object | null`, got `array` - at `$.status`"),
        (status('{"token":"caf\\351"}').replace("echo", "printf"), "not an ExecCredential: 'utf-8' codec"),
        (status("null"), "without a token"),
        (status("{}"), "without a token"),
        (status('{"clientKeyData":"k"}'), "half a key pair"),
        (status('{"token":"t","expirationTimestamp":"soon"}'), "bad expirationTimestamp"),
        (status('{"token":"t","expirationTimestamp":""}'), 'bad expirationTimestamp: ""'),
        (status('{"token":"canary\\\\nx"}'), "is not valid in a header"),
        (status('{"token":7}'), "Expected `str | null`, got `int` - at `$.status.token`"),
        (status('{"token":"t"}', "other/v1"), f"answered with apiVersion other/v1, not {VERSION}"),
    ],
)
def test_a_plugin_that_fails(tmp_path: Path, body: str, cause: str) -> None:
    """E06: every failure is one error with its cause, and shows no token."""
    with pytest.raises(ConfigError) as caught:
        fetch(plugin(tmp_path, body), tmp_path)
    assert caught.value.kind is ConfigProblem.EXEC_PLUGIN
    assert cause in caught.value.cause
    assert "canary" not in str(caught.value)


def test_a_section_without_a_command(tmp_path: Path) -> None:
    """A malformed section is an error like any other."""
    with pytest.raises(ConfigError):
        fetch({"apiVersion": VERSION}, tmp_path)
    section = plugin(tmp_path, "true")
    del section["apiVersion"]
    with pytest.raises(ConfigError, match="apiVersion"):
        fetch(section, tmp_path)


def test_a_plugin_that_hangs_is_ended_with_all_it_started(
    tmp_path: Path, holders: Holders, hand: Hand
) -> None:
    """At the deadline its whole process group goes; the error has the fix."""
    section = plugin(tmp_path, f"{holders.hold}; sleep 1000 & sleep 1000")
    fetching = Background(lambda: fetch(section, tmp_path, seconds=60))
    holders.wait_begun()
    hand.now += 61
    with pytest.raises(ConfigError) as caught:
        fetching.result()
    holders.wait_gone()
    assert caught.value.message == 'exec plugin "./plugin" failed'
    assert caught.value.cause == "no answer in 60 s, so it was stopped"
    assert "run `./plugin` by hand" in caught.value.fix


def test_a_stop_ends_a_plugin(tmp_path: Path, holders: Holders) -> None:
    """A program that stops waits for no login, and leaves nothing behind."""
    section, stop = plugin(tmp_path, f"{holders.hold}; sleep 1000 & sleep 1000"), threading.Event()
    fetching = Background(lambda: fetch(section, tmp_path, stop=stop, seconds=1000))
    holders.wait_begun()
    stop.set()
    with pytest.raises(ConfigError) as caught:
        fetching.result()
    assert caught.value.cause == "ended, as the program stops"


@pytest.mark.usefixtures("hand")
def test_a_stop_leaves_a_plugin_the_time_to_answer(tmp_path: Path) -> None:
    """What a stop still has to write, such as the release of the lease, may need credentials."""
    stop = threading.Event()
    stop.set()
    assert fetch(answering(tmp_path, token="t"), tmp_path, stop=stop).authorization == "Bearer t"


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_plugin_that_writes_without_end_is_ended(tmp_path: Path, holders: Holders, stream: str) -> None:
    """Neither its answer nor its complaints fill the memory."""
    section = plugin(tmp_path, f"{holders.hold}; exec cat /dev/zero >&{stream}")
    with pytest.raises(ConfigError, match="wrote more than 1 MiB, so it was stopped"):
        fetch(section, tmp_path)
    holders.wait_gone()


def test_what_a_plugin_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    """We do not wait for an agent that keeps the output open: the plugin itself has answered."""
    section = answering(tmp_path, token="t")
    script = tmp_path / "plugin"
    script.write_text(script.read_text() + "sleep 20 & echo $! > pid\n")
    try:
        assert fetch(section, tmp_path, seconds=15).authorization == "Bearer t"
    finally:
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


ENDING = """
import pathlib, subprocess, threading, time
from handloop.client.auth.credentials import FetchedCredentials
from handloop.client.auth.exec_plugin import fetch_from_plugin
from handloop.client.errors import ConfigError
start = subprocess.Popen.__init__
def slow_start(*args, **kwargs):
    start(*args, **kwargs)
    time.sleep({slowness})
subprocess.Popen.__init__ = slow_start
section = {{"command": "./plugin", "apiVersion": "{version}"}}
fetch = lambda: fetch_from_plugin(section, {{}}, {folder!r}, stop=threading.Event())
try:
    FetchedCredentials("p", fetch).authorization(0.0)
except ConfigError as error:
    print(error)
while not pathlib.Path({folder!r}, "begun").exists():
    time.sleep(0.01)
"""


@pytest.mark.parametrize("slowness", [0.0, 0.3])
def test_a_plugin_ends_with_the_process(tmp_path: Path, holders: Holders, slowness: float) -> None:
    """However the program ends, no process of it runs on; not even when it ends while the plugin starts."""
    plugin(tmp_path, f"{holders.hold}; sleep 1000 & touch begun; sleep 1000")
    code = ENDING.format(version=VERSION, folder=str(tmp_path), slowness=slowness)
    ended = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60, cwd=ROOT
    )
    assert "no answer in 0 s" in ended.stdout
    assert ended.stderr == ""
    holders.wait_gone()


def test_without_a_terminal_a_plugin_knows_it(tmp_path: Path) -> None:
    """It reads nothing from us, and one that needs a terminal is not even started."""
    section = plugin(
        tmp_path,
        'test -z "$(cat)" || exit 3\n'
        f'printf \'{{"kind":"ExecCredential","apiVersion":"{VERSION}","status":{{"token":"%s"}}}}\' '
        '"$(echo $KUBERNETES_EXEC_INFO | tr -dc a-z)"',
    )
    assert "interactivefalse" in fetch(section, tmp_path).authorization
    section["interactiveMode"] = "Always"
    with pytest.raises(ConfigError) as caught:
        fetch(section, tmp_path)
    assert caught.value.cause == "it needs a terminal (interactiveMode: Always), and there is none"


@pytest.mark.parametrize(
    ("mode", "answer"), [("", "true typed"), ("IfAvailable", "true typed"), ("Never", "false ")]
)
def test_on_a_terminal_a_plugin_may_ask(tmp_path: Path, mode: str, answer: str) -> None:
    """It reads from the terminal, and its question is seen there; unless the kubeconfig sets Never."""
    plugin(
        tmp_path,
        'printf "password:" >&2; read -r line\n'
        'case "$KUBERNETES_EXEC_INFO" in *true*) asks=true;; *) asks=false;; esac\n'
        f'printf \'{{"kind":"ExecCredential","apiVersion":"{VERSION}","status":{{"token":"%s"}}}}\' '
        '"$asks $line"',
    )
    section = {"command": "./plugin", "apiVersion": VERSION, "interactiveMode": mode}
    code = f"""
import threading
from handloop.client.auth.credentials import Fetched, FetchedCredentials
from handloop.client.auth.exec_plugin import fetch_from_plugin
print(fetch_from_plugin({section!r}, {{}}, {str(tmp_path)!r}, stop=threading.Event()).authorization)
"""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, b"typed\n")
        ended = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=theirs,
            text=True,
            timeout=60,
            cwd=ROOT,
        )
        assert ended.stdout == f"Bearer {answer}\n"
        assert b"password:" in os.read(ours, 1024)
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_plugin_in_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare name is looked up in PATH."""
    answering(tmp_path, token="t")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert fetch({"command": "plugin", "apiVersion": VERSION}, Path()).authorization == "Bearer t"
