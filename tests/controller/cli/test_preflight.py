"""The checks before the start, against a sandbox without sockets, or answers in a row."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from handloop.apis.core_v1 import Event
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured
from handloop.client.auth.credentials import StaticCredentials
from handloop.client.config import ClientConfig
from handloop.client.errors import (
    ConfigError,
    ConfigProblem,
    ConnectionRefused,
    CredentialsError,
    DeadlineExceeded,
)
from handloop.client.resource_client import Client
from handloop.controller.cli.declarations import declared_access
from handloop.controller.cli.operator import Setup
from handloop.controller.cli.permissions import needs
from handloop.controller.cli.preflight import Preflight, Report
from handloop.controller.cli.problems import Problem
from handloop.controller.foo.types import Foo
from handloop.controller.program import PROGRAM
from handloop.controller.runtime.rbac.access import Access
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.testing.fake_clock import FakeClock
from handloop_sandbox.requests.request import User
from handloop_sandbox.server import Sandbox
from support.builders.options import new_options
from support.doubles.scripted_transport import ScriptedTransport, answer
from support.rigs.managed_sandbox import allow_foos, post

HOST = "https://10.0.0.1:6443"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ALICE = User("alice", ("system:authenticated",))


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A cluster without a server; alice may do nothing in it."""
    cluster = Sandbox(token="admin", users={"alice": ALICE}, controllers=(), seed=1)
    yield cluster
    cluster.stop()


def install(
    sandbox: Sandbox, *, version: str = "", status: bool = True, served: bool = True, scope: str = ""
) -> None:
    """Install the CRD, or one that differs from the type."""
    definition = custom_resource_definition(Foo)
    definition["spec"]["scope"] = scope or definition["spec"]["scope"]
    first = definition["spec"]["versions"][0]
    first |= {"name": version or first["name"], "served": served}
    if not status:
        del first["subresources"]
    post(sandbox, CRDS, definition)


def check(sandbox: Sandbox, user: str = "admin", namespace: str = "") -> Report:
    """Run the checks as a user."""
    return preflight(client_of(sandbox, user), namespace).check(threading.Event())


def client_of(sandbox: Sandbox, token: str) -> Client:
    """A client without sockets."""
    return Client(sandbox.transport(token=token))  # type: ignore[arg-type] # same shapes, other classes


class Login(StaticCredentials):
    """Credentials that are got by a call."""

    def __init__(self, log_in: Callable[[], object]) -> None:
        super().__init__()
        self._log_in = log_in

    def authorization(self, *_: object) -> str:
        self._log_in()
        return ""


def preflight(
    client: Client,
    namespace: str = "",
    *,
    credentials: StaticCredentials | None = None,
    clock: Clock = REAL_CLOCK,
) -> Preflight:
    """The Foo controller's checks."""
    config = ClientConfig(host=HOST, credentials=credentials or StaticCredentials())
    options = new_options(controllers=("foo",), namespace=namespace)
    return Preflight(client, config, options, Seams(clock=clock))


def token(expires_at: float) -> str:
    """A token with an end."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires_at}).encode()).decode().rstrip("=")
    return f"Bearer e30.{claims}.x"


def scripted(*answers: Any, tries: int = 3) -> tuple[Report, list[float], int]:
    """The report on a server that answers so; also the pauses made, and the requests."""
    clock, transport = FakeClock(moves_itself=True), ScriptedTransport(answers)
    client = Client(transport, seams=Seams(clock=clock))
    expired = StaticCredentials(token(clock.time() - 3 * 3600))
    report = preflight(client, clock=clock, credentials=expired).check(threading.Event(), tries=tries)
    return report, clock.slept, len(transport.sent)


def only(report: Report) -> Problem:
    """The one problem of a report."""
    (problem,) = report.problems
    return problem


def test_all_is_well_for_an_administrator(sandbox: Sandbox) -> None:
    """Server, CRD and permissions: each has its tick, and the banner its facts."""
    install(sandbox)
    report = check(sandbox)
    assert (report.problems, report.exit_code) == ((), 0)
    assert report.summary == "✓ reachable  ✓ CRD foos.samplecontroller.k8s.io  ✓ RBAC 12/12"
    assert report.server_version.startswith("v1.")
    assert report.user == "sandbox-admin"


@pytest.mark.parametrize("account", ["admin", "alice"])
def test_e08_a_crd_that_does_not_serve_the_version(sandbox: Sandbox, account: str) -> None:
    """It is there, so no search is needed; an account that may not read CRDs gets the other message."""
    install(sandbox, served=False)
    report = check(sandbox, account)
    first = report.problems[0]
    assert (first.code, report.exit_code) == ("E08" if account == "admin" else "E07", 6)
    assert "✗ CRD" in report.summary
    if account == "admin":
        assert "foos.samplecontroller.k8s.io has version v1alpha1 with served: false" in first.what


def test_e21_names_what_a_program_that_was_rolled_back_would_erase(sandbox: Sandbox) -> None:
    """Objects are stored in a version that it does not know."""
    definition = custom_resource_definition(Foo)
    (ours,) = definition["spec"]["versions"]
    newer = json.loads(json.dumps({**ours, "name": "v1"}))
    newer["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["note"] = {"type": "string"}
    definition["spec"]["versions"] = [newer, {**ours, "storage": False}]
    post(sandbox, CRDS, definition)
    problem = only(check(sandbox))
    assert (problem.code, check(sandbox).exit_code) == ("E21", 6)
    assert problem.causes[0].endswith("erases: spec.note")


def test_e08_names_a_way_that_the_server_takes(sandbox: Sandbox) -> None:
    """It refuses a CRD without a stored version: both are served until no object is stored in the other."""
    install(sandbox, version="v1beta1")
    client, path = client_of(sandbox, "admin"), f"{CRDS}/foos.samplecontroller.k8s.io"
    ours = custom_resource_definition(Foo)["spec"]["versions"]

    def patch(body: Any, subresource: str = "") -> int:
        transport: Any = sandbox.transport(token="admin")
        headers = {"Content-Type": "application/merge-patch+json"}
        sent = json.dumps(body).encode()
        return int(transport.request("PATCH", path + subresource, headers=headers, body=sent).status)

    problem = check(sandbox).problems[0]
    assert problem.code == check(sandbox, "alice").problems[0].code == "E08"
    assert check(sandbox, "alice").problems[0].fixes == problem.fixes, "who may not read CRDs"
    both, migrate, forget, apply = problem.fixes
    only_ours = {"spec": {"versions": ours}}
    assert patch(only_ours) == 422
    assert "kubectl edit crd foos.samplecontroller.k8s.io, and add the version v1alpha1 that " in both
    assert "with storage: true; v1beta1 stays, with storage: false" in both
    old = {**ours[0], "name": "v1beta1", "storage": False}
    assert patch({"spec": {"versions": [*ours, old]}}) == 200
    assert "kubectl get foos.v1alpha1.samplecontroller.k8s.io -A -o json | kubectl replace -f -" in migrate
    assert client.discovery().stored_versions(Foo.resource) == ("v1beta1", "v1alpha1")
    status = re.search(r"patch crd foos.* --subresource=status --type=merge -p '(.*)'", forget)
    assert status
    assert patch(json.loads(status[1]), "/status") == 200
    assert "crd | kubectl apply -f -" in apply
    assert patch(only_ours) == 200


@pytest.mark.parametrize("stored", [["v1alpha1"], ["v1beta1", "v1alpha1"]])
def test_e08_looks_at_what_is_stored_whatever_is_wrong(sandbox: Sandbox, stored: list[str]) -> None:
    """A CRD that serves our version not, or without a status; with no other one stored it is applied."""
    for options in ({"served": False}, {"status": False}):
        install(sandbox, **options)  # type: ignore[arg-type] # flags
        transport: Any = sandbox.transport(token="admin")
        path, body = f"{CRDS}/foos.samplecontroller.k8s.io", {"status": {"storedVersions": stored}}
        definition = json.loads(transport.request("GET", path).body)
        if "v1beta1" in stored:
            first = definition["spec"]["versions"][0]
            definition["spec"]["versions"].append({**first, "name": "v1beta1", "storage": False})
            assert put(transport, path, definition).status == 200
        assert (
            put(transport, f"{path}/status", json.loads(transport.request("GET", path).body) | body).status
            == 200
        )
        assert len(only(check(sandbox)).fixes) == (4 if "v1beta1" in stored else 1)
        transport.request("DELETE", path)


class Older(Kind, group="samplecontroller.k8s.io", version="v1alpha0", kind="Foo"):
    """A version before Foo's."""


def test_what_may_be_stored_in_an_older_version_is_told(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that stores it anew; who may not read CRDs hears nothing of it."""
    monkeypatch.setattr(Foo, "previous", Older)
    install(sandbox)
    told = [each.subject for each in check(sandbox).findings if each.check == "storage"]
    assert told == []
    transport: Any = sandbox.transport(token="admin")
    path = f"{CRDS}/foos.samplecontroller.k8s.io"
    definition = json.loads(transport.request("GET", path).body)
    definition["status"]["storedVersions"] = ["v1alpha0", "v1alpha1"]
    assert put(transport, f"{path}/status", definition).status == 200
    report = check(sandbox)
    (told_now,) = [each.subject for each in report.findings if each.check == "storage"]
    assert told_now.startswith("foos.samplecontroller.k8s.io: some objects may be stored as v1alpha0; ")
    assert told_now.endswith(" migrate-storage")
    assert report.problems == ()


def put(transport: Any, path: str, body: Any) -> Any:
    """Replace an object."""
    sent = json.dumps(body).encode()
    return transport.request("PUT", path, headers={"Content-Type": "application/json"}, body=sent)


def test_e08_a_crd_of_the_other_scope(sandbox: Sandbox) -> None:
    """Each object would make the controller fail."""
    install(sandbox, scope="Cluster")
    report = check(sandbox)
    assert (report.problems[0].code, report.exit_code) == ("E08", 6)
    assert "has scope Cluster; the controller's type has Namespaced" in report.problems[0].what
    assert "kubectl delete crd foos.samplecontroller.k8s.io" in report.problems[0].fixes[0]


def test_the_printed_role_is_enough(sandbox: Sandbox) -> None:
    """Whoever follows the fix of E09 passes."""
    install(sandbox)
    allow_foos(sandbox, "alice")
    assert check(sandbox, "alice").problems == ()


def test_a_role_of_one_namespace_is_enough_there_and_nowhere_else(sandbox: Sandbox) -> None:
    """With -n the questions are about that namespace."""
    install(sandbox)
    allow_foos(sandbox, "alice", "default")
    assert check(sandbox, "alice", "default").problems == ()
    elsewhere = check(sandbox, "alice")
    assert (only(elsewhere).code, elsewhere.exit_code) == ("E09", 5)
    assert elsewhere.summary.endswith("✗ RBAC 0/12")


def test_e04_tries_three_times_and_reports_it() -> None:
    """Two pauses of two seconds, and the answers' own time, in whole seconds; the last answer counts."""
    clock, refused = FakeClock(moves_itself=True), ConnectionRefused("connection refused")

    class Slow(ScriptedTransport):
        def request(self, *args: Any, **kwargs: Any) -> Any:
            clock.advance(0.9)
            return super().request(*args, **kwargs)

    transport = Slow([DeadlineExceeded("no complete response in 30 s"), refused, refused])
    client = Client(transport, seams=Seams(clock=clock))
    report = preflight(client, clock=clock).check(threading.Event())
    assert (only(report).code, report.exit_code, clock.slept) == ("E04", 4, [2.0, 2.0])
    assert only(report).what == f"cannot reach {HOST}: connection refused (tried 3 times in 7s)"
    assert report.summary == "✗ reachable (E04)"


def test_a_server_that_comes_up_meanwhile_is_no_problem(sandbox: Sandbox) -> None:
    """What failed at first and then answered is not reported."""
    install(sandbox)

    class Late(ScriptedTransport):
        def request(self, *args: Any, **kwargs: Any) -> Any:
            if not self.sent:
                return super().request(*args, **kwargs)
            return sandbox.transport().request(*args, **kwargs)

    clock = FakeClock(moves_itself=True)
    client = Client(Late([ConnectionRefused("refused")]), seams=Seams(clock=clock))
    report = preflight(client, clock=clock).check(threading.Event())
    assert report.problems == ()
    assert clock.slept == [2.0]


def test_a_stop_ends_the_tries() -> None:
    """Nobody who pressed Ctrl-C waits for the remaining tries."""
    stop = threading.Event()

    class Stopping(ScriptedTransport):
        def request(self, *args: Any, **kwargs: Any) -> Any:
            stop.set()
            return super().request(*args, **kwargs)

    clock = FakeClock(moves_itself=True)
    transport = Stopping([ConnectionRefused("refused")] * 3)
    assert only(preflight(Client(transport, seams=Seams(clock=clock)), clock=clock).check(stop)).code == "E04"
    assert len(transport.sent) == 1


def test_e06_a_401_is_final_and_has_the_known_facts() -> None:
    """No second try; the reason comes from the credentials themselves."""
    report, slept, sent = scripted(answer(401, b'{"kind":"Status","code":401,"message":"Unauthorized"}'))
    assert (only(report).code, report.exit_code) == ("E06", 3)
    assert only(report).causes == ("token expired 3 h ago",)
    assert (slept, sent) == ([], 1)


def test_e06_a_missing_login_program_is_final() -> None:
    """It will not be there two seconds later either."""
    error = ConfigError(ConfigProblem.EXEC_PLUGIN, 'exec plugin "x" not found in PATH')
    report, slept, _ = scripted(CredentialsError(error))
    assert (only(report).code, report.exit_code, slept) == ("E06", 3, [])


def test_what_is_known_of_credentials_is_asked_only_when_they_were_refused(sandbox: Sandbox) -> None:
    """An exec plugin is not run for nothing; without a server to ask, the general cause is given."""
    assert "expired" not in str(only(scripted(ConnectionRefused("x"), tries=1)[0]))
    problem = only(preflight(client_of(sandbox, "wrong")).check(threading.Event()))
    assert (problem.code, problem.causes[0]) == (
        "E06",
        "the token has expired or was revoked, or the client certificate belongs to another cluster",
    )


def test_e09_when_nothing_at_all_may_be_asked() -> None:
    """A server that answers 403 to everything is reachable, and its words are passed on."""
    refusal = answer(403, b'{"kind":"Status","code":403,"reason":"Forbidden","message":"who are you"}')
    report, _, sent = scripted(*[refusal] * 4)
    assert (only(report).code, report.exit_code, only(report).causes) == ("E09", 5, ("who are you",))
    assert sent > 1


def test_e04_something_else_listens_there() -> None:
    """A web server is not taken for a cluster without the CRD."""
    report, _, _ = scripted(*[answer(404, b"<html>nginx</html>")] * 8)
    assert only(report).what == f"{HOST} does not answer like a Kubernetes API server"
    assert report.exit_code == 4
    report, slept, _ = scripted(*[answer(200, b"<html>hello</html>")] * 3)
    assert only(report).what == f"{HOST} does not answer like a Kubernetes API server (tried 3 times in 4s)"
    assert slept == [2.0, 2.0]


def test_e04_a_server_in_trouble_is_asked_again() -> None:
    """500 passes: it is tried as often as a server that is not there."""
    broken = answer(500, b'{"kind":"Status","code":500,"reason":"InternalError","message":"etcd is gone"}')
    report, _, sent = scripted(*[broken] * 3)
    assert (only(report).what, sent) == (f"{HOST} is not healthy (tried 3 times in 4s)", 3)
    assert "etcd is gone" in only(report).causes[0]


@pytest.mark.parametrize("answered", range(6))
def test_a_stop_between_two_questions_leaves_the_second_unasked(sandbox: Sandbox, answered: int) -> None:
    """After a stop the rest is not waited for, and a check that was not made is not reported as well."""
    install(sandbox)
    stop, asked = threading.Event(), list[str]()
    transport = sandbox.transport(token="admin")

    class Stopping(ScriptedTransport):
        def request(self, method: str, path: str, **options: Any) -> Any:
            asked.append(path)
            if len(asked) == answered:
                stop.set()
            return transport.request(method, path, **options)

    if not answered:
        stop.set()
    report = preflight(Client(Stopping())).check(stop)
    assert len(asked) == answered
    assert (report.problems, report.stopped, report.exit_code) == ((), True, 1)
    assert [finding.ok for finding in report.findings] == [False]


def test_a_login_has_more_time_than_a_request() -> None:
    """Credentials that need a program, or a person at a browser, are there before a request's time begins."""
    asked: list[str] = []

    class Asked(ScriptedTransport):
        def request(self, method: str, path: str, **options: Any) -> Any:
            asked.append(path)
            return super().request(method, path, **options)

    client = Client(Asked([ConnectionRefused("connection refused")]))
    preflight(client, credentials=Login(lambda: asked.append("login"))).check(threading.Event(), tries=1)
    assert asked == ["login", "/version"]


def test_e06_a_login_that_fails_is_final() -> None:
    """A request does not try it a second time: the user may have closed the browser."""

    def fail() -> None:
        raise ConfigError(ConfigProblem.EXEC_PLUGIN, 'exec plugin "x" failed')

    transport = ScriptedTransport()
    report = preflight(Client(transport), credentials=Login(fail)).check(threading.Event())
    assert (only(report).code, report.exit_code, transport.sent) == ("E06", 3, [])


def test_a_stop_during_the_login_sends_nothing() -> None:
    """The first request is not made either."""
    stop, transport = threading.Event(), ScriptedTransport()
    assert preflight(Client(transport), credentials=Login(stop.set)).check(stop).stopped

    def ended() -> None:
        raise ConfigError(ConfigProblem.EXEC_PLUGIN, "ended, as the program stops")

    report = preflight(Client(transport), credentials=Login(ended)).check(stop)
    assert (report.stopped, report.problems) == (True, ())
    assert transport.sent == []


def test_they_ask_for_all_that_was_declared_where_it_is_watched(sandbox: Sandbox) -> None:
    """Each kind of ours, and each permission in the namespace of -n; the output has no paths."""
    options = new_options(namespace="demo")
    client = Client(sandbox.transport(token="admin"))  # type: ignore[arg-type] # same shapes, other classes
    config = ClientConfig(host="https://10.0.0.1:6443/secret")
    report = Preflight(client, config, options, REAL_SEAMS).check(threading.Event())
    asked = [finding.subject for finding in report.findings if finding.check == "permission"]
    wanted = needs(declared_access(options), ("demo",))
    assert asked == [f"{need.what} {need.scope}" for need in wanted]
    assert 'list foos.samplecontroller.k8s.io in namespace "demo"' in asked
    (server,) = [finding.subject for finding in report.findings if finding.check == "server"]
    assert server.startswith("https://10.0.0.1:6443 (v1.")


def check_of_plain(sandbox: Sandbox, resource: Resource) -> Report:
    """Of a program that has no kind, and lists this one."""
    plain = Setup(name="plain", kinds=(), access=(Access(resource=resource, verbs=("list",)),))
    options = new_options(operator=replace(PROGRAM, setups=lambda: (plain,)), controllers=("plain",))
    client = Client(sandbox.transport(token="admin"))  # type: ignore[arg-type] # same shapes, other classes
    return Preflight(client, ClientConfig(host=HOST), options, REAL_SEAMS).check(threading.Event())


@pytest.mark.parametrize(
    ("used", "code", "what"),
    [
        (Unstructured.of("acid.zalan.do/v1", "postgresql"), "", ""),
        (
            Unstructured.of("acid.zalan.do/v1", "postgresql", plural="postgresqlen"),
            "E07",
            (
                "has no resource postgresqlen.acid.zalan.do/v1: the server calls postgresql postgresqls: "
                'set plural="postgresqls" where the program declares the kind'
            ),
        ),
        (
            Unstructured.of("acid.zalan.do/v2", "postgresql"),
            "E07",
            (
                "has no resource postgresqls.acid.zalan.do/v2: its group serves v1: "
                "name a version that is served"
            ),
        ),
        (
            Unstructured.of("acid.zalan.de/v1", "postgresql"),
            "E07",
            (
                "has no resource postgresqls.acid.zalan.de/v1: the program that defines postgresql "
                "is not installed yet: did you mean postgresqls.acid.zalan.do/v1?"
            ),
        ),
        (
            Unstructured.of("acid.zalan.do/v1", "postgresql", scope="Cluster"),
            "E08",
            (
                "postgresqls.acid.zalan.do/v1 has the scope Namespaced, but the program's type has another "
                "scope: a type without an explicit scope is Namespaced: "
                'set scope="Namespaced" where the program declares the kind'
            ),
        ),
    ],
)
def test_kinds_of_others_are_asked_for_too(
    sandbox: Sandbox, used: type[Unstructured], code: str, what: str
) -> None:
    """Every name that a server takes for a kind is one. What is absent, or is called otherwise, is told."""

    class Postgresql(Kind, group="acid.zalan.do", version="v1", kind="postgresql"):
        """A kind in lower case."""

    post(sandbox, CRDS, custom_resource_definition(Postgresql))
    report = check_of_plain(sandbox, used.resource)
    told = [(one.code, f"{one.what}: {one.causes[0]}: {one.fixes[0]}") for one in report.problems]
    assert [code for code, _ in told] == ([code] if code else [])
    assert all(what in text for _, text in told)


def test_a_program_without_a_kind_of_its_own_needs_no_crd(sandbox: Sandbox) -> None:
    """The checks in the banner are those that were made."""
    report = check_of_plain(sandbox, Event.resource)
    assert report.summary == "✓ reachable  ✓ RBAC 1/1"
