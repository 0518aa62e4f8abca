"""
Credentials: a token that never changes, a token file that is read again, or a token that is fetched.

Tokens never appear in a log, message or repr.
Threads: usable from any thread.
Follows: client-go transport/token_source.go and plugin/pkg/client/auth/exec, differs: after a 401, the
transport also repeats the request once.
Decision: A login program belongs to the process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from handloop.client.auth.bounded_file import read_file
from handloop.client.auth.tls import KeyPair
from handloop.client.errors import ConfigError, ConfigProblem
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_condition, new_lock
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams

log = get_logger("client")

# This is client-go's period of one minute, minus ten seconds of leeway.
TOKEN_FILE_SECONDS: Final = 50.0
FETCH_SECONDS: Final = 60.0
_LOCK_RANK: Final = 95


class Credentials:
    """The credentials for a request. The base class provides none."""

    def authorization(self, timeout_seconds: float = FETCH_SECONDS) -> str:  # noqa: ARG002 - no waiting
        """
        Return the value of the Authorization header, or "" if the request needs none.

        Raises: ConfigError if no header is available.
        Blocks: while a file is read or a program runs, for at most timeout_seconds or FETCH_SECONDS,
        whichever is shorter.
        """
        return ""

    def key_pair(self, timeout_seconds: float = FETCH_SECONDS) -> KeyPair | None:  # noqa: ARG002 - no waiting
        """
        Return the client certificate to use with the header, or None to use the configured one.

        Blocks: like authorization.
        """
        return None

    def rejected(self, started_at: float) -> bool:  # noqa: ARG002 - nothing to forget
        """
        Handle a 401: forget the credentials, unless they are newer than the rejected request.

        Args: started_at is the monotonic time when the request began.
        Returns: whether a retry can use newer credentials.
        """
        return False


class StaticCredentials(Credentials):
    """A header that never changes; "" means anonymous."""

    def __init__(self, authorization: str = "") -> None:
        self._authorization = authorization

    def authorization(self, timeout_seconds: float = FETCH_SECONDS) -> str:  # noqa: ARG002 - no waiting
        """Return the header."""
        return self._authorization


class TokenFile(Credentials):
    """
    A bearer token in a file that another process rotates.

    State: the last token, which is reused for 50 s, and the time when it was read. If the file cannot be
    read, the old token stays in use.
    """

    def __init__(self, path: str, *, fallback: str = "", clock: Clock = REAL_CLOCK) -> None:
        """Args: fallback is used until the file can be read for the first time."""
        self._path = path
        self._clock = clock
        self._lock = new_lock("TokenFile._lock", _LOCK_RANK)
        self._token = fallback
        self._read_at: float | None = None

    def authorization(self, timeout_seconds: float = FETCH_SECONDS) -> str:  # noqa: ARG002 - no limit needed
        """Return the header. Reread the file if the token was read 50 s ago or more."""
        now = self._clock.now()
        with self._lock:
            token, read_at = self._token, self._read_at
        if read_at is None or now - read_at >= TOKEN_FILE_SECONDS:
            token = self._refresh(token, now)
        return f"Bearer {token}"

    def rejected(self, started_at: float) -> bool:
        """Make the next request reread the file, unless the token was read after started_at."""
        with self._lock:
            if self._read_at is not None and self._read_at <= started_at:
                self._read_at = None
        return True

    def _refresh(self, old: str, now: float) -> str:
        try:
            token = read_token(self._path)
        except ConfigError as error:
            if not old:
                raise
            log.warning("Unable to rotate token", err=str(error))
            return old
        with self._lock:
            self._token, self._read_at = token, now
        return token


def read_token(path: str) -> str:
    """
    Return the trimmed content of a token file.

    Raises: ConfigError if the file cannot be read, or its content is empty or not valid in a header.
    """
    try:
        token = read_file(path).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        cause = (error.strerror if isinstance(error, OSError) else "") or "not a token"
        raise ConfigError(
            ConfigProblem.CREDENTIALS,
            f"cannot read token file {path}",
            cause=cause,
            fix=f"the file must be a regular file with one token; check: ls -lL {path}",
            path=path,
        ) from error
    if not token or not token.isprintable():
        cause = "is empty" if not token else "more than one line"
        raise ConfigError(ConfigProblem.CREDENTIALS, f"token file {path}", cause=cause, path=path)
    return token


class Fetched(NamedTuple):
    """The response from a program or login service. expires_at is a Unix time; None means never."""

    authorization: str = ""
    key_pair: KeyPair | None = None
    expires_at: float | None = None

    def __repr__(self) -> str:
        return f"Fetched(expires_at={self.expires_at})"


class FetchedCredentials(Credentials):
    """
    Credentials from a program or a login service. They are fetched when first needed, on expiry and after a
    401.

    At most one fetch runs at a time, on its own thread. A caller that needs new credentials waits for the
    running fetch, within the caller's own timeout. No second fetch is started before the first one has ended,
    so a fetch must always end.
    State: _outcome is the result of the last fetch, and _fetched_at is when that fetch ended; _usable is true
    until a 401; _running is true during a fetch.
    """

    def __init__(self, name: str, fetch: Callable[[], Fetched], *, seams: Seams = REAL_SEAMS) -> None:
        """Args: name is the program or service, for messages; fetch raises ConfigError if it fails."""
        self._name = name
        self._fetch = fetch
        self._clock = seams.clock
        self._spawn = seams.spawn
        self._changed = new_condition("FetchedCredentials._changed", _LOCK_RANK)
        self._outcome: Fetched | ConfigError | None = None
        self._fetched_at = 0.0
        self._usable = False
        self._running = False

    def authorization(self, timeout_seconds: float = FETCH_SECONDS) -> str:
        """Return the header. Fetch new credentials first if necessary."""
        return self._current(timeout_seconds).authorization

    def key_pair(self, timeout_seconds: float = FETCH_SECONDS) -> KeyPair | None:
        """Return the key pair. Fetch new credentials first if necessary."""
        return self._current(timeout_seconds).key_pair

    def rejected(self, started_at: float) -> bool:
        """Forget the credentials if they were fetched before started_at."""
        with self._changed:
            if self._fetched_at <= started_at:
                self._usable = False
        return True

    def _current(self, timeout_seconds: float) -> Fetched:
        with self._changed:
            if (fetched := self._fresh_locked()) is not None:
                return fetched
            start, self._running = not self._running, True
        if start:
            try:
                self._spawn(f"credentials-{self._name}", self._run)
            except RuntimeError as error:  # no more threads: a later request tries again
                self._end(self._problem(str(error)))
        return self._await(min(timeout_seconds, FETCH_SECONDS))

    def _fresh_locked(self) -> Fetched | None:
        fetched = self._outcome
        if not self._usable or not isinstance(fetched, Fetched):
            return None
        return fetched if fetched.expires_at is None or self._clock.time() < fetched.expires_at else None

    def _await(self, seconds: float) -> Fetched:
        deadline = self._clock.now() + seconds
        with self._changed:
            while self._running:
                if not self._clock.wait_until(self._changed, deadline) and self._running:
                    raise self._problem(f"no answer in {max(seconds, 0.0):.3g} s")
            # Credentials that have already expired when they arrive are used once, because only the server
            # can reject them.
            if isinstance(self._outcome, Fetched):
                return self._outcome
            raise self._outcome or self._problem("gave nothing")

    def _run(self) -> None:
        outcome: Fetched | ConfigError
        try:
            outcome = self._fetch()
        except ConfigError as error:
            outcome = error
        except Exception as error:  # noqa: BLE001 - an external program may fail in any way
            outcome = self._problem(str(error))
        self._end(outcome)

    def _end(self, outcome: Fetched | ConfigError) -> None:
        with self._changed:
            self._outcome, self._usable, self._running = outcome, True, False
            self._fetched_at = self._clock.now()
            self._changed.notify_all()

    def _problem(self, cause: str) -> ConfigError:
        kind = ConfigProblem.EXEC_PLUGIN
        return ConfigError(kind, f'"{self._name}" gave no credentials', cause=cause, plugin=self._name)
