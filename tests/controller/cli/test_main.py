"""From words to an exit code; of long commands also their log, signals, and unexpected errors."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, Counter

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import ObjectMeta
from handloop.client.config import load_config
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.main import execute, main, run_command
from handloop.controller.cli.version import exact_version
from handloop.controller.foo.types import Foo
from handloop.controller.program import PROGRAM
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.informers.keys import ObjectName
from handloop.testing.eventually import eventually as until
from support.builders.options import new_options
from support.checks.output import Ended, WatchedText
from support.checks.signals import terminate
from support.checks.threads import Background
from support.rigs.greeter import Greeter, Greeting, set_up
from support.rigs.program import NO_SERVERS
from support.servers.cluster import CRDS, SandboxCluster, token_kubeconfig
from support.servers.service_account import create_account, token_of

ROOT = Path(__file__).parents[3]


def test_a_mistake_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, one line with the fault and one with the fix; nothing on stdout."""
    assert run_command(PROGRAM, ["--wokers", "3"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "error: unknown flag --wokers; did you mean --workers?",
        "  fix: python -m controller --help",
    ]


@pytest.mark.parametrize("name", ["Greeter", "../greeter", "3scale", "a..b", "a" * 43, "pod", ""])
def test_a_name_that_nothing_takes_is_refused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It becomes that of a lease, of roles and of files; with "pod", $POD_NAMESPACE would speak."""
    with pytest.raises(SystemExit) as ended:
        main(set_up, name=name, argv=["crd"])
    assert ended.value.code == 1
    assert (
        capsys.readouterr().err
        == f'error: "{name}" is not a valid name for an operator: use a name such as my-operator\n'
    )


@pytest.mark.parametrize("missing", ["aiohttp", "handloop_sandbox"])
@pytest.mark.parametrize("argv", [["--sandbox"], ["sandbox"], ["sandbox", "--help"]])
def test_without_its_extra_the_sandbox_is_one_pip_install_away(
    argv: list[str], missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An image has neither the folder nor its libraries: a usage error, and no traceback."""
    monkeypatch.setitem(sys.modules, missing, None)
    assert run_command(PROGRAM, argv) == 2
    assert capsys.readouterr() == (
        "",
        'error: the sandbox is not installed\n  fix: pip install "handloop[sandbox]"\n',
    )


@pytest.mark.parametrize("missing", ["aiohttp", "handloop_sandbox"])
def test_the_other_commands_need_no_extra(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their help, and what they print, are there without it."""
    monkeypatch.setitem(sys.modules, missing, None)
    assert run_command(PROGRAM, ["version"]) == run_command(PROGRAM, ["manifests", "crd"]) == 0
    with pytest.raises(SystemExit) as caught:
        run_command(PROGRAM, ["--help"])
    assert caught.value.code == 0
    assert "--sandbox" in capsys.readouterr().out


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_log_whose_reader_has_gone_changes_nothing(tmp_path: Path, unbuffered: str) -> None:
    """After `2>&1 | head` the process is stopped by one signal, and its exit code is 0."""
    argv = ["sandbox", "--sandbox-kubeconfig", str(tmp_path / "k"), "--sandbox-port=0", "--log-format=text"]
    program = subprocess.Popen(
        [sys.executable, "-m", "controller", *argv],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stderr=subprocess.PIPE,
    )
    with program:
        try:
            lines = program.stderr
            assert lines is not None
            Background(lambda: next(line for line in lines if b"sandbox ready" in line)).result()
            lines.close()
            program.send_signal(signal.SIGTERM)
            assert program.wait(20) == 0
        finally:
            program.kill()


def test_a_closed_log_leaves_nothing_to_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who closed it took care of it."""
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("sys.stderr", closed)
    assert run_command(PROGRAM, ["version"]) == 0


def loaded_by(code: str) -> set[str]:
    """The modules that are loaded when some code prints them, in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ}, capture_output=True, text=True, check=True
    )
    return set(ended.stdout.splitlines()[-1].split())


COMMAND = """
import sys
before = set(sys.modules)
from handloop.controller.cli.main import run_command
from handloop.controller.program import PROGRAM
run_command(PROGRAM, {argv})
print(*set(sys.modules) - before)
"""
FIRST_REQUEST = """
import os, sys
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.main import run_command
from handloop.controller.program import PROGRAM

def first(*_, **__):
    print(*sys.modules, flush=True)
    os._exit(0)

HTTPTransport.request = first
servers = ["--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=0"]
run_command(PROGRAM, ["--master=http://127.0.0.1:1", *servers])
"""


def test_a_version_needs_no_library() -> None:
    """Neither logging nor types nor a client: of handloop a few files, of others none."""
    loaded = loaded_by(COMMAND.format(argv=["version"]))
    assert {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names == {"handloop"}
    folders = {".".join(name.split(".")[:3]) for name in loaded if name.count(".") > 1}
    assert {name for name in folders if name.startswith("handloop")} == {
        "handloop.apis.grammar",
        "handloop.controller.cli",
        "handloop.controller.program",
        "handloop.controller.runtime",
    }


def test_manifests_need_no_client() -> None:
    """They come from the types and the declared access: no transport, no log."""
    loaded = loaded_by(COMMAND.format(argv=["manifests", "rbac"]))
    assert "handloop.controller.foo.types" in loaded
    assert not loaded & {"handloop.client", "handloop.informers", "urllib3", "structlog", "prometheus_client"}
    assert not loaded & {"handloop.controller.foo.controller", "handloop.controller.myapp.reconciler"}


def test_the_first_request_waits_for_no_controller() -> None:
    """What only works after the checks is loaded after them: informers, controllers, manager, events."""
    loaded = loaded_by(FIRST_REQUEST)
    assert {name for name in loaded if name.startswith("handloop.informers.")} == {"handloop.informers.keys"}
    later = (
        "handloop.controller.foo.controller",
        "handloop.controller.myapp.reconciler",
        "handloop.controller.runtime.election.leader_election",
        "handloop.controller.runtime.events",
        "handloop.controller.runtime.manager",
        "handloop_sandbox",
    )
    assert not [name for name in loaded if name.startswith(later)]
    assert not loaded & {"kubernetes", "aiohttp", "cachetools"}


RUN = "handloop.controller.cli.run.run"


def fail(*_: object) -> int:
    """A bug, with the words of others, which make no line, and which no terminal obeys."""
    raise ValueError("a bug\x1b[2J\nfix: x")


@pytest.mark.parametrize("verbosity", [0, 3])
def test_a_bug_is_two_lines_below_level_4(monkeypatch: pytest.MonkeyPatch, verbosity: int) -> None:
    """Exit code 1, no traceback, and how to get one."""
    monkeypatch.setattr(RUN, fail)
    err = io.StringIO()
    assert execute(new_options(verbosity=verbosity), io.StringIO(), err) == 1
    assert err.getvalue() == (
        "error: a bug\\u001b[2J\\nfix: x\n  fix: run again with -v 4 for the traceback\n"
    )


def test_a_bug_shows_its_traceback_from_level_4_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raised, so that the interpreter prints it and exits with 1."""
    monkeypatch.setattr(RUN, fail)
    with pytest.raises(ValueError, match="a bug"):
        execute(new_options(verbosity=4), io.StringIO(), io.StringIO())


@pytest.mark.parametrize("verbosity", [0, 4])
def test_a_bug_is_one_object_where_logs_are_json(monkeypatch: pytest.MonkeyPatch, verbosity: int) -> None:
    """With --log-format=json there is no other line, and from level 4 on the traceback is a part of it."""
    monkeypatch.setattr(RUN, fail)
    err = io.StringIO()
    assert execute(new_options(verbosity=verbosity, log_format="json"), io.StringIO(), err) == 1
    (line,) = (json.loads(line) for line in err.getvalue().splitlines())
    assert (line["level"], line["msg"]) == ("error", "a bug\x1b[2J\nfix: x")
    assert line["fix"] == "run again with -v 4 for the traceback"
    assert ("ValueError: a bug" in line.get("stack", "")) is (verbosity >= 4)


def test_signals_stop_it_and_change_the_level(tmp_path: Path) -> None:
    """SIGUSR1 one level up, SIGTERM the end: both are logged, and the exit code is 0."""
    text = WatchedText()
    options = new_options(command="sandbox", sandbox_kubeconfig=str(tmp_path / "k"), log_format="json")

    def send() -> None:
        text.wait_for("sandbox ready")
        os.kill(os.getpid(), signal.SIGUSR1)
        text.wait_for("Log level changed")
        os.kill(os.getpid(), signal.SIGTERM)

    sender = Background(send)
    assert execute(options, io.StringIO(), text) == 0
    sender.result()
    lines = [json.loads(line) for line in text.text().splitlines() if line.startswith("{")]
    assert [(line["msg"], line.get("verbosity"), line.get("signal")) for line in lines] == [
        ("Log level changed", 1, None),
        ("Received signal, shutting down", None, "SIGTERM"),
    ]


@pytest.fixture
def greeter(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """Somebody's program, started as `python greeter.py` with some words."""
    monkeypatch.setattr("handloop.controller.cli.main.command_of_this_process", lambda: "python greeter.py")

    def run_it(*argv: str, set_up: Any = set_up, **more: Any) -> Ended:
        with pytest.raises(SystemExit) as caught:
            main(set_up, name="greeter", argv=argv, **more)
        assert isinstance(caught.value.code, int)
        return Ended(caught.value.code, *capsys.readouterr())

    return run_it


def test_a_program_prints_its_own_definitions(greeter: Callable[..., Ended]) -> None:
    """`crd`: of the kinds that its controllers reconcile, not of a ConfigMap. `manifests crd` is the same."""
    ended = greeter("crd")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("# made by `greeter crd`; do not edit\n")
    definition = yaml.safe_load(ended.out)
    assert definition["metadata"]["name"] == "greetings.m.example.com"
    assert greeter("manifests", "crd") == ended


def test_a_program_prints_the_definitions_that_it_names(greeter: Callable[..., Ended]) -> None:
    """kinds= is the list; then a set_up without a kind of its own has definitions, too."""
    names = [one["metadata"]["name"] for one in yaml.safe_load_all(greeter("crd", kinds=[Foo, Greeting]).out)]
    assert names == ["foos.samplecontroller.k8s.io", "greetings.m.example.com"]


def test_a_program_prints_its_own_roles(greeter: Callable[..., Ended]) -> None:
    """`rbac`: under its name, for what its controllers declare, and no more."""
    ended = greeter("rbac")
    role = yaml.safe_load(ended.out)
    assert (ended.code, ended.err, role["metadata"]["name"]) == (0, "", "greeter")
    assert {name: rule["verbs"] for rule in role["rules"] for name in rule["resources"]} == {
        "greetings": ["get", "list", "watch"],
        "configmaps": ["get", "list", "patch", "watch"],
        "greetings/finalizers": ["update"],
        "namespaces": ["list", "watch"],
        "events": ["create", "patch"],
    }
    lease = list(yaml.safe_load_all(greeter("rbac", "--leader-elect").out))[1]
    assert lease["metadata"]["name"] == "greeter-leader-election"
    assert [rule["resourceNames"] for rule in lease["rules"] if "resourceNames" in rule] == [["greeter"]]


def test_a_program_prints_its_own_version(greeter: Callable[..., Ended]) -> None:
    """And that of handloop."""
    assert greeter("version", version="1.2").out.startswith(
        f"greeter 1.2 (handloop {exact_version()}, python "
    )
    facts = json.loads(greeter("version", "-o", "json").out)
    assert (facts["greeter"], facts["handloop"]) == ("", exact_version())


def test_the_help_of_a_program_is_its_own(greeter: Callable[..., Ended]) -> None:
    """Its commands as they are typed; a single controller is no choice."""
    shown = greeter("--help").out
    assert "python greeter.py crd | kubectl apply -f -" in shown
    assert "--controllers" not in shown
    assert "foo" not in shown
    ended = greeter("--controllers=greeter")
    assert (ended.code, ended.err.splitlines()[1]) == (2, "  fix: python greeter.py --help")


def test_several_set_ups_can_be_chosen(greeter: Callable[..., Ended]) -> None:
    """By the names of their controllers; each is asked for what it needs alone."""

    def second(manager: Manager) -> None:
        set_up(manager, name="second")

    two = [set_up, second]
    assert ", of greeter, second;" in " ".join(greeter("--help", set_up=two).out.split())
    assert greeter("rbac", "--controllers=second", set_up=two).code == 0
    ended = greeter("rbac", "--controllers=scond", set_up=two)
    assert 'unknown controller "scond"; did you mean second?' in ended.err


def test_a_metric_of_the_default_registry_is_named(greeter: Callable[..., Ended]) -> None:
    """A set-up is called more than once, and the library's words do not say so."""
    registry = CollectorRegistry()

    def wrong(_manager: Manager) -> None:
        for _ in range(2):
            Counter("greetings_of_a_test", "Made twice", registry=registry)

    ended = greeter("crd", set_up=wrong)
    assert ended.err.endswith(
        "; set_up is called more than once: give the metric registry=manager.registry\n"
    )


@pytest.mark.parametrize("argv", [["crd"], ["doctor"], ["--sandbox", "--sandbox-kubeconfig=k"]])
def test_a_mistake_in_a_set_up_shows_its_place(
    greeter: Callable[..., Ended], argv: list[str], bare: SandboxCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the author's code: a traceback, one line, exit code 1."""
    monkeypatch.chdir(bare.kubeconfig.parent)

    def wrong(_manager: Manager) -> None:
        raise KeyError("missing")

    monkeypatch.setenv("KUBECONFIG", str(bare.kubeconfig))
    ended = greeter(*argv, set_up=wrong)
    assert ended.code == 1
    assert ended.err.endswith("error: set_up failed: KeyError('missing')\n")
    assert "in wrong" in ended.err


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda _manager: None, "set_up added no controller"),
        (lambda manager: manager.client.resource(Foo).list(), "set_up sent GET /apis/samplecontroller"),
        (lambda manager: manager.client.resource(Foo).watch(), "set_up sent GET /apis/samplecontroller"),
    ],
)
def test_a_set_up_puts_parts_together(greeter: Callable[..., Ended], wrong: object, said: str) -> None:
    """Without a controller, and with requests, it is refused before anything is asked of a server."""
    ended = greeter("rbac", set_up=wrong)
    assert ended.code == 1
    assert said in ended.err


@pytest.fixture
def alice(bare: SandboxCluster, tmp_path: Path) -> str:
    """The kubeconfig of an account without any role, on a sandbox without definitions."""
    create_account(bare, "alice")
    return str(token_kubeconfig(bare, token_of(bare, "alice"), tmp_path / "alice.kubeconfig"))


def test_the_fixes_of_a_program_are_its_own(greeter: Callable[..., Ended], alice: str) -> None:
    """Typed in, they install its definitions and its roles."""
    ended = greeter("doctor", "--kubeconfig", alice)
    assert ended.code == 6
    assert "fix: python greeter.py crd | kubectl apply -f -   (the" in ended.out
    assert "fix: python greeter.py rbac | kubectl apply -f -\n" in ended.out
    binding = "create clusterrolebinding greeter --clusterrole=greeter --serviceaccount=default:alice"
    assert binding in ended.out


def test_a_list_that_fails_names_the_program(
    greeter: Callable[..., Ended], alice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the log, while it waits; SIGTERM ends it with 0, as every program."""
    text = WatchedText()

    def stop_it() -> None:
        try:
            text.wait_for("Failed to list.*configmaps")
        finally:
            terminate()

    monkeypatch.setattr("sys.stderr", text)
    stopping = Background(stop_it)
    ended = greeter("--kubeconfig", alice, *NO_SERVERS, "--preflight=off", "--log-format=klog")
    stopping.result()
    assert ended.code == 0
    assert '"Starting greeter"' in text.text()
    assert "`python greeter.py rbac | kubectl apply -f -`" in text.text()


def test_a_program_works_on_a_sandbox_of_its_own(
    greeter: Callable[..., Ended], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--sandbox`: its kind is installed, what to type next is its own, and its reconciler is called."""
    text, seen = WatchedText(), Greeter()

    def greet_and_stop() -> None:
        try:
            text.wait_for("Starting workers")
            with closing(HTTPTransport(load_config(kubeconfig=str(tmp_path / "k")))) as transport:
                greeting = Greeting(metadata=ObjectMeta(name="world", namespace="default"))
                Client(transport).resource(Greeting).create(greeting)
            until(lambda: seen.seen, "reconciled", seconds=20.0)
        finally:
            terminate()

    monkeypatch.setattr("sys.stderr", text)
    stopping = Background(greet_and_stop)
    words = ("--sandbox-kubeconfig", str(tmp_path / "k"), "--debug-listen=0", "--log-format=klog")
    sample = tmp_path / "sample.yaml"
    sample.touch()
    trying = greeter("--sandbox", *words, set_up=lambda manager: set_up(manager, seen), sample=sample)
    assert trying.code == 0
    stopping.result()
    assert f"  kubectl apply -f {sample}\n  kubectl get greetings.m.example.com -w\n" in text.text()
    assert "warning" not in text.text()
    assert seen.seen == [ObjectName("default", "world")]


def test_a_wrong_group_is_reported(greeter: Callable[..., Ended], bare: SandboxCluster) -> None:
    """`doctor` names the group that has the kind."""

    class Misspelt(Greeting, group="m.example.co", version="v1", kind="Greeting"):
        """A letter is missing."""

    def wrong(manager: Manager) -> None:
        controller_for(manager, "greeter").for_(Misspelt).complete_by_name(Greeter())

    bare.create(CRDS, custom_resource_definition(Greeting))
    ended = greeter("doctor", "--kubeconfig", str(bare.kubeconfig), set_up=wrong)
    assert ended.code == 6
    assert "fix: did you mean greetings.m.example.com/v1? if so, the type has the wrong group" in ended.out


def run_with(closed: str, *words: str, folder: Path) -> subprocess.Popen[bytes]:
    """The program, started by a shell that closes some of its streams."""
    program = [sys.executable, "-m", "controller", *words]
    shell = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *program]
    return subprocess.Popen(shell, cwd=ROOT, env={"HOME": str(folder)}, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("closed", ["2>&-", ">&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["version"], 0),
        (["--wokers=3"], 2),
        (["--kubeconfig=/nowhere"], 3),
        (["errors", "E99"], 2),
        (["explore", "nothing_here.py"], 2),
        (["init", "/dev/null/x"], 2),
    ],
    ids=str,
)
def test_streams_that_are_closed_change_no_exit_code(
    closed: str, words: list[str], code: int, tmp_path: Path
) -> None:
    """Some supervisors start a program without them; what is written there is lost."""
    assert run_with(closed, *words, folder=tmp_path).wait(30) == code


def test_a_program_without_streams_works_until_a_signal(tmp_path: Path) -> None:
    """Its connections have other numbers than the streams, so no foreign text gets into one."""
    path = tmp_path / "kubeconfig"
    words = ("--sandbox", f"--sandbox-kubeconfig={path}", *NO_SERVERS)
    with run_with("<&- >&- 2>&-", *words, folder=tmp_path) as program:
        until(path.exists, "the sandbox's kubeconfig")
        leads_to = {str(Path(f"/proc/{program.pid}/fd/{number}").readlink()) for number in range(3)}
        program.terminate()
        assert (leads_to, program.wait(30)) == ({os.devnull}, 0)
