from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from handloop.client.auth.credentials import (
    FETCH_SECONDS,
    TOKEN_FILE_SECONDS,
    Fetched,
    FetchedCredentials,
    StaticCredentials,
    TokenFile,
    read_token,
)
from handloop.client.auth.tls import KeyPair
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable, spawn_thread
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background


def test_a_static_header_never_changes() -> None:
    """A token from the kubeconfig is what it is, and a 401 does not change it."""
    credentials = StaticCredentials("Bearer x")
    assert credentials.authorization() == "Bearer x"
    assert not credentials.rejected(1e9)
    assert credentials.key_pair() is None
    assert StaticCredentials().authorization() == ""


class TokenRig:
    """A token file on a fake clock."""

    def __init__(self, folder: Path, content: str = "one\n", fallback: str = "") -> None:
        self.path = folder / "token"
        self.path.write_text(content)
        self.clock = FakeClock(start=1000)
        self.credentials = TokenFile(str(self.path), fallback=fallback, clock=self.clock)

    @property
    def header(self) -> str:
        return self.credentials.authorization()


def test_a_token_file_is_trimmed_and_kept_for_50_seconds(tmp_path: Path) -> None:
    """A rotated token is seen once the old one is 50 s old, and the file is not read before."""
    rig = TokenRig(tmp_path, "  one\n")
    assert rig.header == "Bearer one"
    rig.path.write_text("two")
    rig.clock.advance(TOKEN_FILE_SECONDS - 0.1)
    assert rig.header == "Bearer one"
    rig.clock.advance(0.1)
    assert rig.header == "Bearer two"


def test_a_401_makes_the_next_request_read_the_file(tmp_path: Path) -> None:
    """A token that was read before the refused request started is dropped."""
    rig = TokenRig(tmp_path)
    assert rig.header == "Bearer one"
    rig.path.write_text("two")
    rig.clock.advance(1)
    assert rig.credentials.rejected(rig.clock.now())
    assert rig.header == "Bearer two"


def test_a_401_of_an_older_request_drops_nothing(tmp_path: Path) -> None:
    """A token that was read after the refused request started may be good."""
    rig = TokenRig(tmp_path)
    started_at = rig.clock.now()
    rig.clock.advance(1)
    assert rig.header == "Bearer one"
    rig.path.write_text("two")
    assert rig.credentials.rejected(started_at)
    assert rig.header == "Bearer one"


@pytest.mark.parametrize("broken", ["", "  \n", "a\nb", "\x1b[31m", None], ids=repr)
def test_an_unreadable_file_keeps_the_old_token(tmp_path: Path, broken: str | None) -> None:
    """A rotation caught half-way is logged and tried again, with the old token until then."""
    rig = TokenRig(tmp_path)
    assert rig.header == "Bearer one"
    rig.clock.advance(TOKEN_FILE_SECONDS)
    if broken is None:
        rig.path.unlink()
    else:
        rig.path.write_text(broken)
    with captured_logs() as entries:
        assert rig.header == "Bearer one"
    assert [entry["event"] for entry in entries] == ["Unable to rotate token"]
    rig.path.write_text("two")
    assert rig.header == "Bearer two"


def test_a_file_that_was_never_readable_is_an_error(tmp_path: Path) -> None:
    """Without any token there is nothing to send."""
    credentials = TokenFile(str(tmp_path / "missing"), clock=FakeClock())
    with pytest.raises(ConfigError, match=r"cannot read token file .*missing: No such file") as caught:
        credentials.authorization()
    assert caught.value.kind is ConfigProblem.CREDENTIALS


@pytest.mark.parametrize(
    ("content", "cause"), [(b"", "is empty"), (b"a\nb", "more than one line"), (b"\xff", "not a token")]
)
def test_what_does_not_fit_in_a_header_is_no_token(tmp_path: Path, content: bytes, cause: str) -> None:
    """A token file that holds something else is refused, without showing it."""
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_token(str(path))
    assert caught.value.cause == cause
    assert caught.value.path == str(path)


@pytest.mark.parametrize("name", ["fifo", "/dev/zero", "huge"])
def test_a_token_file_that_does_not_end_is_refused(tmp_path: Path, name: str) -> None:
    """Neither a pipe nor a device nor a file of megabytes holds up a request or fills the memory."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "huge").write_bytes(b"x" * ((1 << 20) + 1))
    path = str(tmp_path / name)
    reading = Background(lambda: read_token(path))
    with pytest.raises(ConfigError) as caught:
        reading.result()
    assert caught.value.message == f"cannot read token file {path}"
    assert caught.value.cause == ("larger than 1 MiB" if name == "huge" else "not a regular file")
    assert f"ls -lL {path}" in caught.value.fix


class FetchRig:
    """Credentials that are fetched by a function the test controls."""

    def __init__(self, *outcomes: Fetched | Exception | Callable[[], Fetched]) -> None:
        self._outcomes = iter(outcomes)
        self.fetches = 0
        self.clock = FakeClock(start=1000)
        self.credentials = FetchedCredentials("plugin", self._fetch, seams=Seams(clock=self.clock))

    def _fetch(self) -> Fetched:
        self.fetches += 1
        outcome = next(self._outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome if isinstance(outcome, Fetched) else outcome()


def rig_with(*answers: tuple[str, float | None]) -> FetchRig:
    unix = 1_700_000_000.0
    return FetchRig(
        *(Fetched(f"Bearer {text}", None, None if lasts is None else unix + lasts) for text, lasts in answers)
    )


def test_fetched_once_and_kept() -> None:
    """A program runs when credentials are first needed, and not again."""
    rig = rig_with(("one", None))
    assert rig.fetches == 0
    assert [rig.credentials.authorization() for _ in range(3)] == ["Bearer one"] * 3
    assert rig.fetches == 1


def test_fetched_again_on_expiry() -> None:
    """E06: a token that has run out is replaced before it is sent."""
    rig = rig_with(("one", 60), ("two", None))
    assert rig.credentials.authorization() == "Bearer one"
    rig.clock.advance(59)
    assert rig.credentials.authorization() == "Bearer one"
    rig.clock.advance(1)
    assert rig.credentials.authorization() == "Bearer two"


def test_fetched_again_after_a_401() -> None:
    """A 401 makes fetched credentials fresh, unless they are newer than the refused request."""
    rig = rig_with(("one", None), ("two", None))
    rig.credentials.authorization()
    assert rig.credentials.rejected(rig.clock.now() - 1)
    assert rig.credentials.authorization() == "Bearer one"
    assert rig.credentials.rejected(rig.clock.now())
    assert rig.credentials.authorization() == "Bearer two"


def test_expired_on_arrival_is_used_once() -> None:
    """A program with a wrong clock does not make us run it for ever within one request."""
    rig = rig_with(("one", -5), ("two", -5))
    assert rig.credentials.authorization() == "Bearer one"
    assert rig.credentials.authorization() == "Bearer two"


def test_a_key_pair_comes_along() -> None:
    """A plugin may give a certificate instead of a token."""
    pair = KeyPair(b"certificate", b"key")
    rig = FetchRig(Fetched("", pair))
    assert rig.credentials.key_pair() == pair
    assert rig.credentials.authorization() == ""
    assert rig.fetches == 1


def test_a_failure_is_raised_and_tried_again_next_time() -> None:
    """E06: a program that fails is explained by its error, and a later request runs it again."""
    problem = ConfigError(ConfigProblem.EXEC_PLUGIN, "not found")
    rig = FetchRig(problem, ValueError("odd"), Fetched("Bearer x"))
    with pytest.raises(ConfigError, match="not found"):
        rig.credentials.authorization()
    with pytest.raises(ConfigError, match='"plugin" gave no credentials: odd'):
        rig.credentials.authorization()
    assert rig.credentials.authorization() == "Bearer x"


def test_one_fetch_serves_all_who_wait() -> None:
    """Ten requests at once run the program once."""
    release = threading.Event()

    def slow() -> Fetched:
        assert release.wait(20)
        return Fetched("Bearer x")

    rig = FetchRig(slow)
    waiting = [Background(rig.credentials.authorization) for _ in range(10)]
    rig.clock.wait_for_waiters(10)
    release.set()
    assert [background.result() for background in waiting] == ["Bearer x"] * 10
    assert rig.fetches == 1


def test_no_caller_waits_beyond_its_deadline() -> None:
    """
    A request gives up at its own deadline, or after a minute, and the program is not started again.

    The next one waits for the same run.
    """
    release = threading.Event()

    def slow() -> Fetched:
        assert release.wait(20)
        return Fetched("Bearer late")

    rig = FetchRig(slow)
    header = Background(lambda: rig.credentials.authorization(2.0))
    pair = Background(lambda: rig.credentials.key_pair(3.0))
    rig.clock.wait_for_waiters(2)
    rig.clock.advance(2)
    with pytest.raises(ConfigError, match="no answer in 2 s"):
        header.result()
    rig.clock.advance(1)
    with pytest.raises(ConfigError, match="no answer in 3 s"):
        pair.result()
    with pytest.raises(ConfigError, match="no answer in 0 s"):
        rig.credentials.authorization(-1.0)
    patient = Background(lambda: rig.credentials.authorization(1e9))
    rig.clock.wait_for_deadline(rig.clock.now() + FETCH_SECONDS)
    release.set()
    assert patient.result() == "Bearer late"
    assert rig.fetches == 1


def test_a_thread_that_does_not_start_is_tried_again_next_time() -> None:
    """As at a pod's limit of processes: the requests after it do not wait for a fetch that never began."""
    limits = iter([True, False])

    def spawn(name: str, target: Callable[[], None]) -> Joinable:
        if next(limits):
            raise RuntimeError("can't start new thread")
        return spawn_thread(name, target)

    credentials = FetchedCredentials("login", lambda: Fetched("Bearer x"), seams=Seams(spawn=spawn))
    with pytest.raises(ConfigError, match="can't start new thread"):
        credentials.authorization(5.0)
    assert credentials.authorization(5.0) == "Bearer x"


def test_nothing_secret_in_a_repr(tmp_path: Path) -> None:
    """No token is shown by accident."""
    rig = rig_with(("canary", None))
    rig.credentials.authorization()
    token_rig = TokenRig(tmp_path, "canary")
    token_rig.credentials.authorization()
    shown = [rig.credentials, Fetched("Bearer canary", KeyPair(b"canary", b"canary")), token_rig.credentials]
    assert "canary" not in repr(shown)
    assert "canary" not in repr(StaticCredentials("Bearer canary"))
