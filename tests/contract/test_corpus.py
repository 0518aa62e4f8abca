"""The recorded answers of a kube-apiserver and its controllers, asked of the sandbox in virtual time."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from handloop.sandbox.cluster.lifecycle import default_controllers
from handloop.sandbox.differences import DIFFERENCES
from handloop.sandbox.engine import Engine, Stream
from handloop.sandbox.requests.request import Headers, Request, Response, User
from handloop.sandbox.server import Sandbox
from handloop.sandbox.wire.query import Query

Row = dict[str, Any]

CORPUS: Final = Path(__file__).parents[1] / "contract" / "corpus"
_START: Final = 1_750_000_000.0
_STEP_SECONDS: Final = 0.05
_TOKEN: Final = "admin"
_ALICE: Final = User("alice", ("developers", "system:authenticated"), "alice-uid")
_CA: Final = "-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----\n"
_PATIENCE_SECONDS: Final = 15.0


class VirtualTime:
    """Seconds that pass only when somebody sleeps; what is due by then is done on the way."""

    def __init__(self) -> None:
        self._now = _START
        self.tick: Callable[[], float | None] = lambda: None

    def time(self) -> float:
        """Unix seconds."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        end = self._now + seconds
        while self._now < end:
            wake = self.tick()
            # a watch that nobody reads is due for ever
            soonest = max(end if wake is None else wake, self._now + _STEP_SECONDS)
            self._now = min(end, soonest)
        self.tick()


class _Answer:
    """What the recorder reads of an http.client.HTTPResponse."""

    def __init__(self, answer: Response) -> None:
        self.status = answer.status
        self._headers = answer.headers
        self._content = answer.content()

    def read(self) -> bytes:
        return self._content

    def getheaders(self) -> Headers:
        return self._headers


class _Connection:
    """What the recorder uses of an http.client.HTTPConnection."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._answer: Response | None = None

    def request(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> None:
        answer = self._engine.handle(_request(method, path, body, headers))
        if isinstance(answer, Stream):
            self._engine.close(answer.watcher)
            answer = Response(200, answer.headers)
        self._answer = answer

    def getresponse(self) -> _Answer:
        assert self._answer is not None
        return _Answer(self._answer)

    def close(self) -> None:
        """Nothing is held."""


def _request(method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Request:
    where, _, query = path.partition("?")
    fields = {name.lower(): value for name, value in headers.items()}
    return Request(method, where, Query.parse(query), fields, body or b"")


def record() -> list[Row]:
    """Every answer of a new sandbox to the recorder's requests, normalised as the corpus is."""
    recorder = _recorder()
    clock = VirtualTime()
    users = {"alice": _ALICE}
    # the recorded cluster's nodes were called so
    controllers = default_controllers(node_prefix="fake", root_ca=_CA)
    sandbox = Sandbox(token=_TOKEN, users=users, clock=clock, seed=1, controllers=controllers)
    clock.tick = sandbox.tick
    recorder.time = clock
    recorder.compact = lambda *_: sandbox.engine.compact()
    client = SimpleNamespace(
        server=f"http://{sandbox.engine.address}",
        conn=lambda **_: _Connection(sandbox.engine),
        headers=_credentials,
    )
    rows = recorder.Rec(client, set())
    rows.patience = _PATIENCE_SECONDS
    rows.watch = _Watches(rows, sandbox.engine, clock).watch
    with redirect_stdout(io.StringIO()):
        for rows.group, ask in recorder.GROUPS:
            ask(rows, "etcd") if rows.group == "watch" else ask(rows)
    normalised: list[Row] = recorder.normalise(rows.rows, client.server)
    return normalised


def differences(rows: Iterable[Row], folder: Path) -> dict[str, str]:
    """What differs from the corpus: by id, the recorder's words for it. folder is for its input."""
    mine = folder / "mine.jsonl"
    mine.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    said = io.StringIO()
    recorder = _recorder()
    recorder.open = lambda path: io.StringIO(Path(path).read_text(encoding="utf-8"))  # it never closes
    with redirect_stdout(said):
        recorder.compare(str(CORPUS / "corpus.jsonl"), str(mine), verbose=False)
    return dict(_told(said.getvalue()))


def recorded_ids() -> list[str]:
    """The ids of the corpus, in order."""
    with (CORPUS / "corpus.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line)["id"] for line in lines]


def _told(text: str) -> Iterator[tuple[str, str]]:
    id_, told = "", ""
    for line in text.splitlines():
        if line.startswith(" "):
            told += line.strip() + "\n"
            continue
        if id_:
            yield id_, told
        id_, told = line.partition(" (")[0], ""


def _recorder() -> Any:
    """The recorder as a module of its own."""
    spec = importlib.util.spec_from_file_location("corpus_recorder", CORPUS / "record.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _credentials(user: str) -> dict[str, str]:
    token = {"admin": _TOKEN, "bad": "not-a-token", "anonymous": ""}.get(user, user)
    return {"Authorization": f"Bearer {token}"} if token else {}


class _Watches:
    """Reads watches for the recorder: what it asks meanwhile first, then what comes as time passes."""

    def __init__(self, rows: Any, engine: Engine, clock: VirtualTime) -> None:
        self._rows = rows
        self._engine = engine
        self._clock = clock

    def watch(  # noqa: PLR0917 - the recorder's signature
        self,
        id: str,  # noqa: A002
        path: str,
        seconds: float = 3,
        events: int | None = None,
        during: Callable[[], Any] | None = None,
        note: str = "",
        accept: str | None = None,
        user: str = "admin",
        until: Callable[[Row], bool] | None = None,
    ) -> Row:
        rows = self._rows
        where, _, headers, request = rows.prep(id, "GET", path, None, None, accept, None, user)
        answer = self._engine.handle(_request("GET", where, None, headers))
        before = len(rows.rows)
        if during:
            during()
        done = [row["id"] for row in rows.rows[before:]]
        if isinstance(answer, Response):
            response = _whole(answer)
        else:
            response = self._followed(answer, seconds, events, until)
        row: Row = rows.add(id, note, user, request, response, **({"during": done} if done else {}))
        return row

    def _followed(
        self, stream: Stream, seconds: float, events: int | None, until: Callable[[Row], bool] | None
    ) -> Row:
        end = self._clock.time() + seconds
        seen: list[Row] = []

        def satisfied() -> bool:
            return bool(seen) and (len(seen) == events or (until is not None and until(seen[-1])))

        while True:
            lines = iter(b"".join(self._engine.take(stream.watcher)).splitlines())
            while not satisfied() and (line := next(lines, b"")):
                seen.append(json.loads(line))
            if satisfied() or stream.watcher.ended or self._clock.time() >= end:
                break
            self._clock.sleep(_STEP_SECONDS)
        ended = stream.watcher.ended
        self._engine.close(stream.watcher)
        answered: Row = {"status": 200, "headers": {}, "events": seen}
        answered["ended_by"] = "server" if ended else "client"
        return answered


def _whole(answer: Response) -> Row:
    text = answer.content().decode(errors="replace")
    headers: Row = {}
    warnings = [value for name, value in answer.headers if name.lower() == "warning"]
    if warnings:
        headers["warning"] = warnings
    try:
        return {"status": answer.status, "headers": headers, "body": json.loads(text)}
    except ValueError:
        return {"status": answer.status, "headers": headers, "text": text}


EXPLAINED = {answer for difference in DIFFERENCES for answer in difference.answers}
MOST = 10


@pytest.fixture(scope="module")
def differing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What differs, by the id of the answer."""
    rows = record()
    assert [row["id"] for row in rows] == recorded_ids()
    return differences(rows, tmp_path_factory.mktemp("corpus"))


def test_answers_are_the_recorded_ones(differing: dict[str, str]) -> None:
    """No answer differs but those that are explained."""
    assert {answer: told for answer, told in differing.items() if answer not in EXPLAINED} == {}


@pytest.mark.parametrize("answer", sorted(EXPLAINED))
def test_what_is_explained_still_differs(differing: dict[str, str], answer: str) -> None:
    """An explanation that explains nothing any more is taken off the list."""
    assert answer in differing


def test_the_list_is_short() -> None:
    """At most ten recorded answers differ."""
    assert len(EXPLAINED) <= MOST
