from __future__ import annotations

import re
import threading

import pytest

from handloop.client.errors import (
    APIError,
    BadAnswer,
    Cancelled,
    ClientError,
    Conflict,
    ConnectionBroken,
    ConnectionRefused,
    DeadlineExceeded,
    Forbidden,
    Gone,
    NoKindMatch,
    NotAcceptable,
    ServerTimeout,
    ServiceUnavailable,
    TooManyRequests,
    TransportError,
    error_from_status,
)
from handloop.client.errors.status import Status
from handloop.client.rest_client import (
    Call,
    Reachability,
    RESTClient,
    default_user_agent,
    retry_after_seconds,
    wait_before_retry,
)
from handloop.client.transport import ForwardingTransport
from handloop.seams.seams import Seams
from handloop.seams.step_trace import TRACE
from handloop.seams.tracing import TRACING, Work
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.checks.told_steps import told_steps
from support.doubles.recording_metrics import RecordingRequestMetrics
from support.doubles.scripted_transport import ScriptedStream, ScriptedTransport, answer
from support.rigs.traced import own, traced

READ = Call("list", "GET", "/apis/g/v1/foos", resource="foos.g")
WRITE = Call(
    "create", "POST", "/apis/g/v1/foos", body=b'{"a":1}', resource="foos.g", namespace="ns", name="x"
)
CONFLICT = (
    b'{"kind":"Status","status":"Failure","reason":"Conflict","code":409,'
    b'"message":"the object has been modified"}'
)


class Rig:
    """A client on scripted answers, and everything it does to the outside."""

    def __init__(self, *answers: object, streams: object = (), qps: float = 0, burst: int = 0) -> None:
        self.transport = ScriptedTransport(answers, streams)  # type: ignore[arg-type]
        self.clock = FakeClock(moves_itself=True)
        self.metrics = RecordingRequestMetrics()
        self.stop = threading.Event()
        self.client = RESTClient(
            self.transport,
            qps=qps,
            burst=burst,
            seams=Seams(clock=self.clock, random=lambda: 0.0),
            metrics=self.metrics,
            user_agent="test/1",
            stop=self.stop,
        )

    @property
    def attempts(self) -> int:
        return len(self.transport.sent)


def test_sends_the_call_and_returns_the_answer() -> None:
    """Method, path, query, headers, body and timeout reach the transport."""
    rig = Rig(answer(201, b"body"))
    call = WRITE._replace(query={"dryRun": "All"}, headers={"Content-Type": "x"}, timeout_seconds=5)
    assert rig.client.send(call).body == b"body"
    (sent,) = rig.transport.sent
    assert (sent.method, sent.path, sent.query) == ("POST", "/apis/g/v1/foos", {"dryRun": "All"})
    assert (sent.body, sent.timeout_seconds) == (b'{"a":1}', 5)
    assert dict(sent.headers) == {"Accept": "application/json", "User-Agent": "test/1", "Content-Type": "x"}


def test_a_worker_s_reads_are_steps_and_others_are_not() -> None:
    """Between get and done a read is the sync's own; writes are steps in any case."""
    rig = Rig(*[answer(200, b"{}")] * 4)
    with told_steps() as told:
        rig.client.send(READ)
        rig.client.send(WRITE)
        TRACE.tell(8, "queue", "a")
        rig.client.send(READ)
        TRACE.tell(12, "queue", "a")
        rig.client.send(READ)
    assert [facts["verb"] for number, *_, facts in told if number == 10] == [WRITE.verb, READ.verb]


DROPPING = READ._replace(drop_managed_fields=True)
DROP = "application/json;drop=metadata.managedFields"


def accepted(rig: Rig) -> list[str]:
    """The Accept header of each request."""
    return [sent.headers["Accept"] for sent in rig.transport.sent]


def test_managed_fields_are_left_out_where_a_call_says_so() -> None:
    """As a parameter of the accepted type; a client may have them come all the same."""
    rig = Rig(*[answer()] * 3, streams=[ScriptedStream(), ScriptedStream()])
    for call in (READ, DROPPING):
        rig.client.send(call)
        rig.client.open(call)
    assert accepted(rig) == ["application/json"] * 2 + [DROP] * 2
    whole = Rig(answer())
    client = RESTClient(whole.transport, drop_managed_fields=False)
    client.send(DROPPING)
    assert accepted(whole) == ["application/json"]


@pytest.mark.parametrize("verb", ["list", "watch"])
def test_a_server_that_refuses_the_parameter_is_not_asked_again(verb: str) -> None:
    """The request is repeated at once, without a line in the log; copies of the client know of it, too."""
    rig = Rig(answer(406), answer(), answer())
    if verb == "watch":
        rig = Rig(answer(), streams=[ScriptedStream(status=406), ScriptedStream()])
    copied = rig.client.until(rig.stop)
    with captured_logs() as logged:
        (rig.client.open if verb == "watch" else rig.client.send)(DROPPING)
        copied.send(DROPPING)
    assert accepted(rig) == [DROP, "application/json", "application/json"]
    assert (rig.clock.slept, [each for each in logged if each["log_level"] != "debug"]) == ([], [])


def test_a_406_that_is_not_about_the_parameter_is_raised() -> None:
    """After one more request without it; later ones are sent once."""
    rig = Rig(*[answer(406)] * 3)
    for _ in range(2):
        with pytest.raises(NotAcceptable):
            rig.client.send(DROPPING)
    assert accepted(rig) == [DROP, "application/json", "application/json"]


def test_requests_that_are_refused_together_are_all_repeated() -> None:
    """It counts what a request was sent with, and not what others have learnt meanwhile."""
    rig = Rig(answer(406), answer(), answer(406), answer())

    class Overtaken(ForwardingTransport):
        def _before_request(self, method: str, path: str, send_seconds: float) -> float:
            if not rig.attempts:
                rig.client.send(DROPPING)
            return super()._before_request(method, path, send_seconds)

    assert rig.client.wrap(Overtaken).send(DROPPING).status == 200
    assert accepted(rig) == [DROP, "application/json"] * 2


@pytest.mark.parametrize("call", [READ, WRITE], ids=["read", "write"])
def test_429_is_waited_for(call: Call) -> None:
    """The server did not act, so any request comes again after the wait it asked for."""
    rig = Rig(answer(429, Retry_After="3"), answer(429, Retry_After="7"), answer(200, b"ok"))
    assert rig.client.send(call).body == b"ok"
    assert rig.clock.slept == [3.0, 7.0]
    assert rig.attempts == 3


def test_at_most_ten_retries() -> None:
    """Eleven attempts, then the last answer is raised with its wait."""
    rig = Rig(*[answer(429, Retry_After="1")] * 11)
    with pytest.raises(TooManyRequests) as caught:
        rig.client.send(READ)
    assert rig.attempts == 11
    assert len(rig.clock.slept) == 10
    assert caught.value.retry_after_seconds == 1.0


@pytest.mark.parametrize(
    "error", [ConnectionBroken("reset", outcome_unknown=True), DeadlineExceeded("slow", outcome_unknown=True)]
)
def test_a_lost_answer_never_repeats_a_write(error: TransportError) -> None:
    """An unknown outcome is the caller's to look at."""
    rig = Rig(error)
    with pytest.raises(type(error)) as caught:
        rig.client.send(WRITE)
    assert caught.value.outcome_unknown
    assert rig.attempts == 1


def test_a_version_from_the_future_is_raised_at_once() -> None:
    """The reflector decides what to do about a server that lags."""
    body = (
        b'{"kind":"Status","reason":"Timeout","code":504,"message":"Timeout: Too large resource version: 9",'
        b'"details":{"causes":[{"reason":"ResourceVersionTooLarge"}],"retryAfterSeconds":1}}'
    )
    rig = Rig(answer(504, body, Retry_After="1"))
    with pytest.raises(ServerTimeout):
        rig.client.send(READ)
    assert rig.attempts == 1


def test_stop_during_a_wait_ends_it() -> None:
    """Setting stop while a Retry-After runs raises the answer that asked for it, and nothing more is sent."""
    rig = Rig(answer(429, Retry_After="100"), answer())
    clock = FakeClock()
    client = RESTClient(rig.transport, seams=Seams(clock=clock), stop=rig.stop)
    sending = Background(lambda: client.send(READ))
    clock.wait_for_waiters(1)
    rig.stop.set()
    with pytest.raises(TooManyRequests):
        sending.result()
    assert rig.attempts == 1


def test_rate_limit_spaces_requests() -> None:
    """With qps 2 and burst 2 the third request waits half a second; each wait is measured."""
    rig = Rig(*[answer()] * 4, qps=2, burst=2)
    for _ in range(4):
        rig.client.send(READ)
    assert rig.clock.slept == pytest.approx([0.5, 0.5])
    assert [entry[2] for entry in rig.metrics.of("rate_limiter")] == pytest.approx([0.0, 0.0, 0.5, 0.5])


def test_rate_limit_counts_retries_too() -> None:
    """Every attempt takes a token."""
    rig = Rig(answer(429, Retry_After="0"), answer(), qps=1, burst=1)
    rig.client.send(READ)
    assert sum(rig.clock.slept) == pytest.approx(1.0)


def test_a_long_wait_for_the_rate_limit_is_reported() -> None:
    """A wait of more than a second is visible at level 0."""
    rig = Rig(answer(), answer(), qps=0.5, burst=1)
    with captured_logs() as entries:
        rig.client.send(READ)
        rig.client.send(READ)
    said = [entry for entry in entries if entry["log_level"] == "info"]
    assert [entry["reason"] for entry in said] == ["client-side throttling"]


def test_no_rate_limit_by_default() -> None:
    """A client without qps never waits."""
    rig = Rig(*[answer()] * 50)
    for _ in range(50):
        rig.client.send(READ)
    assert rig.clock.slept == []
    assert rig.metrics.of("rate_limiter") == []


def test_a_part_that_may_end_later_has_another_stop() -> None:
    """The rate limit is one for both; a stop of the one ends no wait of the other."""
    rig = Rig(answer(), answer(429, Retry_After="3"), answer(), qps=1, burst=1)
    later = threading.Event()
    patient = rig.client.until(later)
    rig.client.send(READ)
    rig.stop.set()
    patient.send(WRITE)
    assert rig.clock.slept == pytest.approx([1, 3])
    with pytest.raises(Cancelled):
        rig.client.send(WRITE)
    later.set()
    with pytest.raises(Cancelled):
        patient.send(WRITE)
    assert rig.attempts == 3


@pytest.mark.parametrize("call", [READ, WRITE], ids=["read", "write"])
def test_a_wait_beyond_the_patience_is_the_callers(call: Call) -> None:
    """Whoever has something better to do gets the answer, with the wait that the server asked for."""
    rig = Rig(answer(429, Retry_After="100"))
    with pytest.raises(TooManyRequests) as caught:
        rig.client.until(rig.stop, patience_seconds=2.0).send(call)
    assert (rig.clock.slept, rig.attempts) == ([], 1)
    assert caught.value.retry_after_seconds == 100


def test_the_patience_is_for_all_waits_of_a_request_together() -> None:
    """Ten short waits are a long one; the next request has the whole patience again."""
    rig = Rig(*[answer(429, Retry_After="1")] * 3, answer(429, Retry_After="2"), answer())
    impatient = rig.client.until(rig.stop, patience_seconds=2.0)
    with pytest.raises(TooManyRequests):
        impatient.send(WRITE)
    assert rig.clock.slept == [1.0, 1.0]
    impatient.send(WRITE)
    assert rig.clock.slept == [1.0, 1.0, 2.0]


def test_a_stop_may_be_another_for_each_wait() -> None:
    """The function is asked when a wait begins."""
    rig = Rig(answer(), answer(), answer(), qps=1, burst=1)
    stops = [threading.Event(), threading.Event()]
    stops[1].set()
    client = rig.client.until(lambda: stops.pop(0))
    rig.client.send(READ)
    client.send(WRITE)
    with pytest.raises(Cancelled):
        client.send(WRITE)


def test_another_stop_keeps_the_patience() -> None:
    """until() changes what it is given, and nothing else."""
    rig = Rig(answer(429, Retry_After="100"))
    with pytest.raises(TooManyRequests):
        rig.client.until(rig.stop, patience_seconds=2.0).until(threading.Event()).send(WRITE)
    assert rig.clock.slept == []


def test_metrics_of_an_attempt() -> None:
    """Code, method, host, time and sizes of each attempt are reported, and why it was repeated."""
    rig = Rig(answer(429, b"12345", Retry_After="3"), answer(200, b"ok"), ConnectionRefused("refused"))
    rig.client.send(WRITE)
    with pytest.raises(ConnectionRefused):
        rig.client.send(READ)
    assert rig.metrics.of("total") == [
        ("429", "POST", "test:6443"),
        ("200", "POST", "test:6443"),
        ("<error>", "GET", "test:6443"),
    ]
    assert rig.metrics.of("retry") == [("429", "POST", "test:6443")]
    assert rig.metrics.of("request_size") == [("POST", "test:6443", 7)] * 2
    assert rig.metrics.of("response_size") == [("POST", "test:6443", 5), ("POST", "test:6443", 2)]
    assert len(rig.metrics.of("duration")) == 3


@pytest.mark.parametrize(
    ("status", "error"),
    [(410, Gone), (403, Forbidden), (404, NoKindMatch), (429, TooManyRequests), (503, ServiceUnavailable)],
)
def test_a_refused_watch_is_an_error_and_closes(status: int, error: type[ClientError]) -> None:
    """A watch that is not opened raises at once, even if the server names a wait."""
    body = b'{"kind":"Status","message":"m"}'
    stream = ScriptedStream([body], status=status, headers={"Retry-After": "5"})
    rig = Rig(streams=[stream])
    with pytest.raises(error, match=r"list foos.g: m"):
        rig.client.open(READ)
    assert stream.closed.is_set()
    assert rig.clock.slept == []
    assert rig.metrics.of("total") == [(str(status), "GET", "test:6443")]


def test_opening_a_watch_is_not_rate_limited() -> None:
    """Informers that reconnect do not wait behind writes."""
    rig = Rig(answer(), streams=[ScriptedStream(), ScriptedStream()], qps=0.1, burst=1)
    rig.client.send(READ)
    rig.client.open(READ)
    rig.client.open(READ)
    assert rig.clock.slept == []


def test_a_watch_that_cannot_be_opened_is_counted() -> None:
    """A transport error of a watch reaches caller and metrics."""
    rig = Rig(streams=[ConnectionRefused("refused")])
    with pytest.raises(ConnectionRefused):
        rig.client.open(READ)
    assert rig.metrics.of("total") == [("<error>", "GET", "test:6443")]


def test_a_refusal_of_a_watch_that_breaks_off_is_no_answer() -> None:
    """It is counted once, and does not end the back-off of all who wait for the server."""
    stream = ScriptedStream(status=503, end=ConnectionBroken("cut off"))
    rig = Rig(streams=[stream])
    rig.client.reachability.lost()
    with pytest.raises(ConnectionBroken) as caught:
        rig.client.open(READ)
    assert stream.closed.is_set()
    assert rig.metrics.of("total") == [("<error>", "GET", "test:6443")]
    assert caught.value.returns_seen == 0


def test_a_read_that_is_repeated_is_reported_at_level_2() -> None:
    """Its connection broke: it takes longer, and -v 2 logs why. Waits that were asked for are level 4."""
    rig = Rig(ConnectionBroken("reset"), answer(429, Retry_After="3"), answer(200, b"ok"))
    with captured_logs() as logs:
        rig.client.send(READ)
    waits = [entry for entry in logs if entry["event"] == "Waiting before a retry"]
    assert [(entry["v"], entry["seconds"]) for entry in waits] == [(2, 1.0), (4, 3.0)]
    assert "reset" in waits[0]["err"]


def test_every_request_reports_whether_the_server_answers() -> None:
    """A waiting client learns of the first answer, of any status and to any client."""
    rig = Rig(ConnectionRefused("refused"), answer(409, CONFLICT))
    clock = FakeClock()
    reachability = Reachability(clock=clock)
    client = RESTClient(rig.transport, seams=Seams(clock=rig.clock), reachability=reachability)
    with pytest.raises(ConnectionRefused):
        client.send(WRITE)
    waiter = Background(lambda: reachability.wait_for_return(30, threading.Event()))
    clock.wait_for_deadline(30)
    with pytest.raises(Conflict):
        client.send(WRITE)
    assert waiter.result()


def test_shows_who_we_are() -> None:
    """The server's audit log shows the program, version, system and Python."""
    assert re.fullmatch(r"handloop/\S+ \(\w+\) python/3\.\d+", default_user_agent())


def test_warnings_of_the_server_are_heard_in_every_answer() -> None:
    """Also by a client that was derived from another: each text is logged once."""
    rig = Rig(*[answer(200, b"{}", Warning='299 - "v1 is deprecated"')] * 2)
    with captured_logs() as entries:
        rig.client.send(WRITE)
        rig.client.until(threading.Event()).send(READ)
    (warning,) = [entry for entry in entries if entry["event"] == "The server warns"]
    assert (warning["text"], warning["once"]) == ("v1 is deprecated", True)


# -- retries


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("5", 5.0),
        (" 7 ", 7.0),
        ("0", 0.0),
        ("", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("-1", None),
        ("1.5", None),
        ("1e3", None),
        ("soon", None),
        ("٣", None),
        ("9" * 30, None),
    ],
)
def test_only_whole_seconds_count(value: str, seconds: float | None) -> None:
    """An HTTP date or garbage in Retry-After is no wait."""
    assert retry_after_seconds({"Retry-After": value}) == seconds


def failed(code: int, wait: float | None) -> APIError:
    return error_from_status(Status(code=code), retry_after_seconds=wait)


@pytest.mark.parametrize(
    ("error", "read", "wait"),
    [
        (failed(429, 3), True, 3.0),
        (failed(429, 3), False, 3.0),
        (failed(429, None), True, None),
        (failed(503, 3), True, 3.0),
        (failed(500, 3), True, 3.0),
        (failed(504, 3), True, 3.0),
        (failed(503, 3), False, None),
        (failed(500, 3), False, None),
        (failed(504, 3), False, None),
        (failed(503, None), True, None),
        (failed(409, 3), True, None),
        (failed(404, 3), True, None),
        (failed(429, 5000), True, 120.0),
        (ConnectionBroken("reset"), True, 1.0),
        (ConnectionBroken("reset"), False, None),
        (ConnectionRefused("refused"), True, None),
        (DeadlineExceeded("slow"), True, None),
        (BadAnswer("html"), True, None),
    ],
    ids=repr,
)
def test_what_is_repeated_and_when(error: APIError | TransportError, read: bool, wait: float | None) -> None:
    """429 repeats anything, 5xx and a lost answer repeat reads, all else is the caller's."""
    assert wait_before_retry(error, read=read, uniform=0.0) == wait


def test_waits_are_spread_but_never_shorter() -> None:
    """Clients that got the same wait come back at different times, none too early."""
    assert wait_before_retry(failed(429, 10), read=True, uniform=0.5) == pytest.approx(10.5)


# -- reachability


class _Rig:
    """One who waits for up to 30 s."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.stop = threading.Event()
        self.reachability = Reachability(clock=self.clock)
        self.waiter = Background(lambda: self.reachability.wait_for_return(30, self.stop))
        self.clock.wait_for_deadline(30)


def test_the_first_answer_after_a_loss_ends_the_wait() -> None:
    """Whoever made the request."""
    rig = _Rig()
    rig.reachability.lost()
    rig.reachability.answered()
    assert rig.waiter.result() is True


def test_answers_of_a_server_that_was_not_gone_end_no_wait() -> None:
    """Only a return counts, not every answer; the wait ends with its time."""
    rig = _Rig()
    rig.reachability.answered()
    rig.clock.advance(29)
    rig.reachability.answered()
    rig.clock.advance(1)
    assert rig.waiter.result() is False


def test_a_return_before_the_wait_counts_after_the_request_that_failed() -> None:
    """The server may come back between an error and the wait for it: a later request must not wait."""
    reachability = Reachability(clock=FakeClock())
    seen = reachability.lost()
    reachability.answered()
    assert not reachability.wait_for_return(0, threading.Event())
    assert reachability.wait_for_return(30, threading.Event(), seen=seen)


def test_a_request_without_an_answer_says_what_it_saw() -> None:
    """The wait that follows counts from there."""
    rig = Rig(*[ConnectionRefused("refused")] * 2)
    reachability = Reachability(clock=rig.clock)
    reachability.lost()
    reachability.answered()
    client = RESTClient(rig.transport, seams=Seams(clock=rig.clock), reachability=reachability)
    for send, call in ((client.send, WRITE), (client.send, READ)):
        with pytest.raises(ConnectionRefused) as caught:
            send(call)
        assert caught.value.returns_seen == 1


def test_stop_ends_the_wait() -> None:
    """Set, and then wake: no return."""
    rig = _Rig()
    rig.stop.set()
    rig.reachability.wake()
    assert rig.waiter.result() is False


def test_all_who_wait_are_woken() -> None:
    """One answer is enough for any number of them."""
    rig = _Rig()
    others = [Background(lambda: rig.reachability.wait_for_return(20, rig.stop)) for _ in range(3)]
    rig.clock.wait_for_waiters(4)
    rig.reachability.lost()
    rig.reachability.lost()
    rig.reachability.answered()
    assert [waiter.result() for waiter in (rig.waiter, *others)] == [True] * 4


def test_each_attempt_of_a_reconcile_is_a_span_that_the_server_hears_of() -> None:
    """With the status of its answer, or the kind of its failure; a watch has none, as it does not end."""
    transport = ScriptedTransport([answer(429, b"", Retry_After="1"), answer(404)], [ScriptedStream([])])
    client = RESTClient(transport, seams=Seams(clock=FakeClock(moves_itself=True)))
    with traced() as spans, TRACING.tracer.reconcile(Work("reconcile a", {})):
        with pytest.raises(APIError):
            client.send(READ)
        client.open(READ)
    attempts = spans.named("list foos.g")
    sent = [request.headers.get("traceparent", "") for request in transport.sent]
    assert sent == [*(str(own(each)) for each in attempts), ""]
    assert [each.attributes for each in attempts] == [
        {
            "http.request.method": "GET",
            "url.full": "https://test:6443/apis/g/v1/foos",
            "server.address": "test",
            "http.response.status_code": code,
        }
        for code in (429, 404)
    ]
    assert [each.status.description for each in attempts] == ["429", "404"]
