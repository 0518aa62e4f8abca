"""The server of the live page."""

from __future__ import annotations

import http.client
import json
import socket
import struct
import threading
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple, Self

import pytest

from handloop.controller.runtime.serving.listening import PortInUseError
from handloop.picture.page_data import page_data
from handloop.picture.recorder import Recorder
from handloop.seams.step_trace import TRACE
from handloop.testing.eventually import eventually
from handloop_learn.live.guard import LOOPBACK_NAMES
from handloop_learn.live.scenes import scenes
from handloop_learn.live.server import MOST_OTHERS, MOST_VIEWERS, LiveServer
from handloop_learn.top.stream import events
from support.builders.live_page import new_server, serving
from support.checks.threads import Background

SECONDS = 20.0


class Message(NamedTuple):
    """One message of the stream; data is decoded."""

    event: str
    id: str
    data: Any


class Viewer:
    """Reads `/debug/live/events`; a context that ends the connection."""

    def __init__(self, port: int, *, last_event_id: str = "") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        self._connection.request("GET", "/debug/live/events", headers=headers)
        self.answer = self._connection.getresponse()
        self._events = events(self.answer)

    def read(self) -> Message:
        """The next message. Raises: EOFError at the end of the stream."""
        for event, number, data in self._events:
            return Message(event, number, json.loads(data))
        raise EOFError

    def wait(self, event: str) -> Message:
        """The next message of a kind."""
        while (message := self.read()).event != event:
            pass
        return message

    def steps(self, number: int, key: str) -> list[dict[str, Any]]:
        """All steps up to and with the first of that number and key."""
        found: list[dict[str, Any]] = []
        while True:
            found += self.wait("steps").data
            if any((step["step"], step["key"]) == (number, key) for step in found):
                return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.answer.close()
        self._connection.close()


def fetch(live: LiveServer, path: str, *, data: bytes | None = None, **headers: str) -> tuple[int, str, Any]:
    """Status, text and headers."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(f"http://127.0.0.1:{live.port}{path}", headers=named, data=data)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers


def test_a_viewer_gets_a_snapshot_and_then_every_step(live: LiveServer, program: Any) -> None:
    """The steps of a Foo come in order, without a gap, each with its sentence; the state follows."""
    with Viewer(live.port) as viewer:
        first = viewer.read()
        assert first.event == "snapshot"
        assert first.data["state"]["ready"] is True
        program.foo("a")
        steps = viewer.steps(12, "default/a")
        assert [step["seq"] for step in steps] == list(range(steps[0]["seq"], steps[0]["seq"] + len(steps)))
        assert {step["step"] for step in steps} >= set(range(1, 13))
        assert all(step["why"].endswith(".") for step in steps)
        eventually(lambda: viewer.wait("state").data["results"], "the sync in the state")


def test_a_viewer_that_comes_back_gets_what_it_missed_and_nothing_twice(
    live: LiveServer, program: Any
) -> None:
    """Last-Event-ID names the last step it has: no new snapshot."""
    with Viewer(live.port) as viewer:
        viewer.read()
        program.foo("a")
        steps = viewer.wait("steps")
    program.foo("b")
    program.wait_idle("default/b")
    with Viewer(live.port, last_event_id=steps.id) as again:
        message = again.read()
    assert message.event == "steps"
    assert message.data[0]["seq"] == steps.data[-1]["seq"] + 1


@pytest.mark.parametrize("stale", ["another-7", "nothing", "-", "0000-99999999", "{run}-" + "9" * 5000])
def test_an_id_of_another_process_is_a_new_viewer(live: LiveServer, stale: str) -> None:
    """It gets a snapshot; so does a number that this one cannot have sent."""
    with Viewer(live.port, last_event_id=stale.format(run=live._run)) as viewer:
        assert viewer.read().event == "snapshot"


def test_a_slow_viewer_learns_how_many_steps_it_missed(program: Any) -> None:
    """The ring holds 8 steps: a viewer of before gets a snapshot with the number, then goes on."""
    recorder = Recorder(size=8)
    server = new_server(recorder=recorder)
    server.show(program.parts)
    with serving(server), Viewer(server.port) as viewer:
        last = viewer.read().id
        program.foo("a")
        missed = viewer.wait("snapshot").data["missed"]
        assert missed > 8
        with Viewer(server.port, last_event_id=last) as late:
            assert late.read().data["missed"] >= missed


def test_the_state_comes_while_steps_have_no_end(live: LiveServer) -> None:
    """A thousand Foos make steps for as long as there is a viewer: their end state is seen all the same."""
    stop = threading.Event()

    def work() -> None:
        while not stop.wait(0.001):
            TRACE.tell(12, "foo", "default/a", again=False)

    with Viewer(live.port) as viewer:
        viewer.read()
        background = Background(work)
        try:
            viewer.wait("steps")
            told = {viewer.read().event for _ in range(60)}
        finally:
            stop.set()
            background.result()
    assert told == {"steps", "state"}


def test_too_many_viewers_are_refused(live: LiveServer) -> None:
    """With a sentence; the others stay."""
    with ExitStack() as stack:
        viewers = [stack.enter_context(Viewer(live.port)) for _ in range(MOST_VIEWERS)]
        viewers[-1].read()
        status, text, _ = fetch(live, "/debug/live/events")
        assert (status, text) == (503, "64 viewers are already connected\n")


def half_a_head(live: LiveServer) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", live.port), timeout=20)
    connection.sendall(b"GET / HTTP/1.1\r\nX")
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has ended it. Blocks: until it does."""
    with suppress(ConnectionResetError):
        return connection.recv(1) == b""
    return True


def test_silent_clients_keep_no_others_out(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of too many the oldest go before their time, but for viewers: the page is served, a stream goes on."""
    monkeypatch.setattr("handloop_learn.live.server.HEAD_SECONDS", 3600.0)
    server = new_server()
    server.show(program.parts, program.controls)
    with serving(server) as live, Viewer(live.port) as viewer, ExitStack() as stack:
        viewer.read()
        silent = []
        for _ in range(3 * MOST_OTHERS):
            silent.append(stack.enter_context(half_a_head(live)))
            if len(silent) % MOST_OTHERS == 0:
                assert fetch(live, "/debug/live/")[0] == 200
        assert all(map(is_closed, silent[: 2 * MOST_OTHERS]))
        program.foo("a")
        assert viewer.steps(12, "default/a")


def test_a_connection_has_to_send_something(monkeypatch: pytest.MonkeyPatch) -> None:
    """One without the head of a request is closed in time."""
    monkeypatch.setattr("handloop_learn.live.server.HEAD_SECONDS", 0.5)
    with serving(new_server()) as server, half_a_head(server) as silent:
        assert is_closed(silent)


def test_a_viewer_that_is_killed_harms_no_other(live: LiveServer, program: Any) -> None:
    """One resets its connection in mid-stream, one never reads: a third gets everything."""
    killed = socket.create_connection(("127.0.0.1", live.port))
    killed.sendall(b"GET /debug/live/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    killed.recv(100)
    killed.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with socket.create_connection(("127.0.0.1", live.port)) as silent, Viewer(live.port) as viewer:
        silent.sendall(b"GET /debug/live/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        viewer.read()
        killed.close()
        program.foo("a")
        assert viewer.steps(12, "default/a")


def test_the_streams_end_with_the_server(program: Any) -> None:
    """A viewer reads the end, one that never reads does not hold it up, and the trace is off."""
    server = new_server()
    server.show(program.parts, program.controls)
    with ExitStack() as stack:
        with serving(server):
            viewer = stack.enter_context(Viewer(server.port))
            silent = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            silent.sendall(b"GET /debug/live/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert silent.recv(10)
            viewer.read()
            recorded = [TRACE.on]
            program.controls.act("pause", {})
        with pytest.raises(EOFError):
            viewer.wait("nothing")
    recorded.append(TRACE.on)
    assert recorded == [True, False]
    assert not program.controls.offers()[0]["on"], "the experiments are undone"


def test_a_viewer_reads_why_the_program_ends(program: Any) -> None:
    """At once, with the state of then; the last steps and the last state come when the server stops."""
    server = new_server(recorder=program.recorder)
    server.show(program.parts, program.controls)
    with ExitStack() as stack:
        with serving(server):
            viewer = stack.enter_context(Viewer(server.port))
            viewer.read()
            server.end("the lease is lost")
            assert viewer.wait("end").data == {"reason": "the lease is lost"}
            program.foo("a")
            program.wait_idle()
        told: list[Message] = []
        with suppress(EOFError):
            while True:
                told.append(viewer.read())
    assert "end" not in {message.event for message in told}
    steps = [step for message in told if message.event == "steps" for step in message.data]
    assert "default/a" in {step["key"] for step in steps if step["step"] == 12}
    state = next(message.data for message in reversed(told) if message.event == "state")
    assert "default/a" in {result["key"] for result in state["results"]}


def test_a_stop_is_an_end_with_a_reason(program: Any) -> None:
    """For a viewer that has only come."""
    server = new_server()
    with ExitStack() as stack:
        with serving(server):
            viewer = stack.enter_context(Viewer(server.port))
            viewer.read()
        assert viewer.wait("end").data == {"reason": "the program was stopped"}


def test_before_the_controllers_start_the_pages_report_it() -> None:
    """While the program still checks the server; and before a viewer comes the page costs nothing."""
    with serving(new_server()) as server:
        assert fetch(server, "/debug/live/")[0] == 200
        assert not TRACE.on
        assert json.loads(fetch(server, "/debug/state")[1])["ready"] is False
        assert fetch(server, "/debug/compare")[:2] == (503, "the controllers have not started yet\n")
        with Viewer(server.port) as viewer:
            assert viewer.read().data["state"]["ready"] is False


def test_the_pages_for_debugging(live: LiveServer, program: Any) -> None:
    """State, comparison, stacks, and the data of the page."""
    program.synced_foo()
    assert json.loads(fetch(live, "/debug/state")[1])["objects"][0]["count"] == 1
    compared = json.loads(fetch(live, "/debug/compare")[1])
    assert {row["name"]: row["cached"] for row in compared}["foos.samplecontroller.k8s.io"] == 1
    assert "worker-0\n" in fetch(live, "/debug/stacks")[1]
    assert "  nobody knows this name\n" in fetch(live, "/debug/why?name=default/none")[1]
    assert fetch(live, "/debug/live/data.js")[1] == page_data(scenes=scenes())
    assert fetch(live, "/debug/live/../../etc/passwd")[0] == 404
    assert fetch(live, "/debug/live/nothing.js")[0] == 404


def test_every_answer_is_guarded(live: LiveServer) -> None:
    """Nothing is stored, nothing from elsewhere is loaded, and a foreign Host gets nothing."""
    for path in ("/debug/live/", "/debug/live/live.js", "/debug/state", "/nothing"):
        _, _, headers = fetch(live, path)
        assert headers["Cache-Control"] == "no-store"
        assert headers["Content-Security-Policy"].startswith("default-src 'self';")
        assert fetch(live, path, Host="evil.example")[0] == 403
    with Viewer(live.port) as viewer:
        assert viewer.answer.getheader("Cache-Control") == "no-store"
        assert viewer.answer.getheader("Content-Encoding") is None


def test_an_act_needs_token_and_origin(live: LiveServer) -> None:
    """As our own page sends them; the page carries the token, and a GET acts not."""
    path, ours = "/debug/live/controls/pause", f"http://127.0.0.1:{live.port}"
    token = fetch(live, "/debug/live/")[1].partition('name="token" content="')[2].partition('"')[0]
    assert fetch(live, path, data=b"{}", Origin=ours)[0] == 403
    assert fetch(live, path, data=b"{}", X_Handloop_Token=token)[0] == 403
    assert fetch(live, path, data=b"{}", X_Handloop_Token=token, Origin="http://evil.example")[0] == 403
    assert fetch(live, path)[0] == 405
    status, text, _ = fetch(live, path, data=b"{}", X_Handloop_Token=token, Origin=ours)
    assert (status, json.loads(text)) == (200, {"said": "no worker gets a key"})
    status, text, _ = fetch(live, path.replace("pause", "x"), data=b"{}", X_Handloop_Token=token, Origin=ours)
    assert (status, text) == (409, "there is no experiment x\n")
    odd = (
        b"{",
        b"[]",
        b"5",
        b"null",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"replicas":[]}',
        b'{"replicas":1e999}',
    )
    for body in odd:
        assert fetch(live, path, data=body, X_Handloop_Token=token, Origin=ours)[0] == 409


def test_without_controls_no_action_is_possible(program: Any) -> None:
    """The page carries no token."""
    server = new_server(controls=False)
    server.show(program.parts, program.controls)
    with serving(server):
        assert 'name="token" content=""' in fetch(server, "/debug/live/")[1]
        status, text, _ = fetch(server, "/debug/live/controls/pause", data=b"{}")
        assert (status, "--debug-controls" in text) == (403, True)
        assert json.loads(fetch(server, "/debug/state")[1])["controls"] == []


def test_a_public_address_has_no_controls() -> None:
    """Asked for both, the server does not start."""
    with pytest.raises(ValueError, match="only on a loopback address"):
        LiveServer("", 0, names=None, controls=True)
    server = LiveServer("", 0, names=None, controls=False)
    assert server.url == f"http://127.0.0.1:{server.port}/debug/live/"
    server.stop()


def test_a_port_in_use_is_reported_at_once() -> None:
    """Before anything is served, with the address and its purpose."""
    in_use = pytest.raises(PortInUseError, match="for the live page: address already in use")
    with socket.create_server(("127.0.0.1", 0)) as taken, in_use:
        LiveServer("127.0.0.1", taken.getsockname()[1], names=LOOPBACK_NAMES, controls=False)
