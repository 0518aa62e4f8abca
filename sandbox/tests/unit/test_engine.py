from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from handloop_sandbox.cluster.cluster_controller import Step, View, Write
from handloop_sandbox.engine import Engine
from handloop_sandbox.requests.request import Request, Response, User
from handloop_sandbox.storage.stored import Change
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status
from support.servers.local_server import LocalServer, ManualClock

_MAPS = GroupResource("", "configmaps")


class _Copier:
    """Makes a copy of every ConfigMap whose name begins with `in`, five seconds later."""

    name = "copier"
    interests = frozenset([_MAPS])

    def __init__(self) -> None:
        self.due: dict[str, float] = {}
        self.refusals: list[Status] = []

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        for change in changes:
            if change.name.startswith("in"):
                self.due.setdefault(change.name, now + 5)
        ripe = [name for name, at in self.due.items() if at <= now]
        for name in ripe:
            del self.due[name]
        writes = [
            Write(
                verb="create",
                group_resource=_MAPS,
                namespace="default",
                object={"metadata": {"name": f"out-{name}"}},
            )
            for name in ripe
        ]
        return Step(writes, min(self.due.values(), default=None))

    def refused(self, write: Write, status: Status, now: float) -> None:
        self.refusals.append(status)


_PATH = "/api/v1/namespaces/default/configmaps"


def _names(server: LocalServer) -> list[str]:
    return [item["metadata"]["name"] for item in server.request("GET", _PATH).body["items"]]


def test_controllers_live_by_the_clock() -> None:
    """A controller reacts when its time has come, and its writes are seen like any others."""
    server = LocalServer(controllers=[_Copier()])
    watcher = server.watch(f"{_PATH}?watch=1")
    server.request("POST", _PATH, {"metadata": {"name": "in"}})
    assert _names(server) == ["in"]
    assert server.engine.tick() == server.clock.now + 5
    server.clock.now += 5
    server.engine.tick()
    assert _names(server) == ["in", "out-in"]
    events = server.events(watcher)
    assert [event["object"]["metadata"]["name"] for event in events] == ["in", "out-in"]


def test_controllers_get_refusals() -> None:
    """A write that the API refuses comes back with its Status."""
    copier = _Copier()
    server = LocalServer(controllers=[copier])
    server.request("POST", _PATH, {"metadata": {"name": "out-in"}})
    server.request("POST", _PATH, {"metadata": {"name": "in"}})
    server.clock.now += 5
    server.engine.tick()
    assert [status["reason"] for status in copier.refusals] == ["AlreadyExists"]


def test_listeners_hear_of_changes_only(server: LocalServer) -> None:
    """A listener is called after a commit, not after reads and refusals."""
    heard: list[int] = []
    server.engine.listen(lambda: heard.append(1))
    server.request("GET", _PATH)
    server.request("POST", _PATH, {"metadata": {"name": "Bad"}})
    assert heard == []
    server.request("POST", _PATH, {"metadata": {"name": "a"}})
    assert heard == [1]


def test_a_recorder_is_told_who_changes_what() -> None:
    """A user, or a controller of the sandbox; not of reads and refusals."""
    server = LocalServer(users={"a": User("alice", ("system:masters",))}, controllers=[_Copier()])
    told: list[tuple[str, str]] = []
    server.engine.record(lambda who, changes: told.extend((who, change.name) for change in changes))
    server.request("GET", _PATH, authorization="Bearer a")
    server.request("POST", _PATH, {"metadata": {"name": "Bad"}}, authorization="Bearer a")
    server.request("POST", _PATH, {"metadata": {"name": "in"}}, authorization="Bearer a")
    server.engine.tick()
    server.clock.now += 5
    server.engine.tick()
    assert told == [("alice", "in"), (_Copier.name, "out-in")]


def test_who_is_who() -> None:
    """Known tokens are their users, no token is anonymous, an unknown one is refused."""
    users = {"a": User("alice", ("system:masters",))}
    server = LocalServer(users=users)
    assert server.request("GET", _PATH, authorization="Bearer a").status == 200
    assert server.request("GET", _PATH).status == 403
    assert server.request("GET", _PATH, authorization="Basic x").status == 403
    assert server.request("GET", "/version", authorization="Bearer b").status == 401
    assert LocalServer().request("GET", _PATH).status == 200


def test_due_watches_are_taken_together(server: LocalServer) -> None:
    """One pass gives the lines of every watch that has some, and ends those whose time is over."""
    first, second = server.watch(f"{_PATH}?watch=1"), server.watch(f"{_PATH}?watch=1&timeoutSeconds=5")
    engine = server.engine
    assert [lines for _, lines in engine.take_due([first, second])] == [[], []]
    assert engine.take_due([first, second]) == []
    server.request("POST", _PATH, {"metadata": {"name": "a"}})
    assert [len(lines) for _, lines in engine.take_due([first, second])] == [1, 1]
    server.clock.now += 5
    assert [watcher for watcher, _ in engine.take_due([first, second])] == [second]
    assert second.ended
    engine.close(first)
    assert first.ended


def test_the_next_tick_is_known(server: LocalServer) -> None:
    """The engine returns when a watch or a controller needs it next."""
    assert server.engine.tick() is None
    server.watch(f"{_PATH}?watch=1&timeoutSeconds=7")
    assert server.engine.tick() == server.clock.now + 7


def test_the_past_can_be_taken_away(server: LocalServer) -> None:
    """compact() expires lists, expire() watches."""
    first = server.request("POST", _PATH, {"metadata": {"name": "a"}}).body["metadata"]["resourceVersion"]
    server.request("POST", _PATH, {"metadata": {"name": "b"}})
    server.engine.compact(int(first))
    exact = f"{_PATH}?resourceVersion={first}&resourceVersionMatch=Exact"
    assert server.request("GET", exact).status == 200
    server.engine.compact()
    assert server.request("GET", exact).status == 410
    server.engine.expire(_MAPS)
    (event,) = server.events(server.watch(f"{_PATH}?watch=1&resourceVersion={first}"))
    assert event["object"]["reason"] == "Expired"


def test_a_bug_is_an_answer(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception in the sandbox itself is a 500 with a log entry, and the next request works."""

    def fail(*_: object) -> Response:
        raise RuntimeError("oops")

    with monkeypatch.context() as patched, caplog.at_level(logging.ERROR, logger="sandbox"):
        patched.setattr("handloop_sandbox.api.handle", fail)
        broken = server.request("GET", _PATH)
    assert (broken.status, broken.message) == (500, "Internal error occurred: RuntimeError('oops')")
    assert "failed in the sandbox itself" in caplog.text
    assert server.request("GET", _PATH).status == 200


def test_engines_need_no_seed() -> None:
    """Without a seed two engines give different uids."""
    uids = set()
    for _ in range(2):
        engine = Engine(clock=ManualClock())
        answer = engine.handle(Request("GET", "/api/v1/namespaces/default"))
        assert isinstance(answer, Response)
        uids.add(answer.content())
    assert len(uids) == 2
