"""Follows a live page's stream of server-sent events, and reconnects if the stream breaks."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPException
from typing import Any, Final, NamedTuple

RETRY_SECONDS: Final = 1.0
SILENCE_SECONDS: Final = 30.0
"""Two heartbeats of the page. A stream that is silent for longer is considered broken."""

_PATH: Final = "/debug/live/events"


class Message(NamedTuple):
    """
    One message for the display.

    event: `snapshot`, `steps`, `state` or `end`, with the data that docs/live.md describes; `connected`, with
    the page's URL; `lost`, with a sentence on the reason; `key`, with a key that the user pressed; or `said`,
    with the answer to that key.
    """

    event: str
    data: Any


class NoProgramError(OSError):
    """No live page was found at the address. The message says what was found, or which command to run."""


class Stream:
    """
    Receives the messages of one page. Threads: runs on the caller's thread.

    State: _last_id, the last event's ID, from which the page resumes the stream; _found, whether a page has
    been found.
    """

    def __init__(self, find: Callable[[], str], *, pause: Callable[[float], None] = time.sleep) -> None:
        """Args: find: returns the page's URL, or raises OSError. It is called before each connection."""
        self._find = find
        self._pause = pause
        self._last_id = ""
        self._found = False

    def messages(self) -> Iterator[Message]:
        """
        Yield every message, forever. A `lost` message with the reason follows each broken connection.

        Raises: NoProgramError if the first connection finds no page.
        Blocks: until the next message, which arrives after at most SILENCE_SECONDS.
        """
        ended = ""
        while True:
            try:
                for message in self._connection():
                    if message.event in ("end", "connected"):
                        ended = (
                            f"the program ended ({message.data['reason']}): "
                            if message.event == "end"
                            else ""
                        )
                    yield message
                yield Message(
                    "lost", f"{ended or 'the program ended the stream: '}waiting for it to start again"
                )
            except (OSError, HTTPException, ValueError) as error:
                if not self._found:
                    raise NoProgramError(_reason(error)) from error
                yield Message("lost", f"{ended}{_reason(error)}; trying again every second")
            self._pause(RETRY_SECONDS)

    def _connection(self) -> Iterator[Message]:
        url = self._find()
        headers = {"Accept": "text/event-stream"}
        if self._last_id:
            headers["Last-Event-ID"] = self._last_id
        request = urllib.request.Request(url + _PATH, headers=headers)  # noqa: S310 - http or https
        with opened(request) as answer:
            if answer.headers.get_content_type() != "text/event-stream":
                raise ValueError(f"{url} serves something other than a live page")
            self._found = True
            yield Message("connected", url)
            for event, event_id, data in events(answer):
                self._last_id = event_id or self._last_id
                yield Message(event, json.loads(data))


def events(lines: Iterable[bytes]) -> Iterator[tuple[str, str, str]]:
    """
    Yield the name, ID and data of each event in a stream. Comments and incomplete events are skipped.

    Follows: WHATWG HTML 9.2.6, except for lone carriage returns and default events, which no page sends.
    """
    fields: dict[str, str] = {}
    data: list[str] = []
    for line in lines:
        name, _, value = line.decode().rstrip("\r\n").partition(":")
        if name == "data":
            data.append(value.removeprefix(" "))
        elif name:
            fields[name] = value.removeprefix(" ")
        elif not value and data:
            yield fields.get("event", ""), fields.get("id", ""), "\n".join(data)
            fields, data = {}, []


class RefusedError(ValueError):
    """The program refused a request. Field: said, the reason, in one line."""

    def __init__(self, host: str, status: int, said: str) -> None:
        super().__init__(f"{host} answered {status}: {said}")
        self.said = said


def opened(request: urllib.request.Request) -> Any:
    """
    Send a request, and return the response, which is a context manager.

    Raises: RefusedError if the program refuses; OSError or HTTPException if it cannot be reached.
    """
    # Ignore the environment's proxies, because the page is on loopback or at the given address.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        return opener.open(request, timeout=SILENCE_SECONDS)
    except urllib.error.HTTPError as error:
        with error:
            said = error.read(500).decode(errors="replace").strip().partition("\n")[0]
        raise RefusedError(request.host, error.code, said) from error
    except urllib.error.URLError as error:
        reason = (isinstance(error.reason, OSError) and error.reason.strerror) or str(error.reason)
        raise OSError(f"nothing answers at {request.host}: {reason.lower()}") from error


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"the program was silent for {SILENCE_SECONDS:g} s"
    if isinstance(error, (ConnectionError, HTTPException)):
        return "the connection broke"
    return str(error)
