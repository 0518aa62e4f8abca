"""The fixture `operator` as a test sees it: an author's set_up on a sandbox, and the checks at its end."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from handloop.apis.converter import conversions_of
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.config import load_config
from handloop.controller.cli.dry_set_up import has_own_definition, needs_definition
from handloop.controller.runtime.assembly import WRITE_REFUSED
from handloop.controller.runtime.children.owner_references import NAME_TAKEN
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.controller import Controller
from handloop.controller.runtime.sources.informer_source import INVALID_OBJECT, NOT_INDEXED
from handloop.informers.keys import object_name
from handloop.seams.seams import Seams
from handloop.testing.eventually import SECONDS, eventually
from handloop.testing.kstatus import kstatus
from handloop.testing.manager_thread import ManagerThread
from handloop.testing.quiet import assert_quiet
from handloop.testing.request_attributes import RequestAttributes
from handloop.testing.running_sandbox import RunningSandbox
from handloop.testing.shared_clock import SharedClock
from handloop_sandbox.clock import SettableClock

USER_AGENT: Final = "operator-under-test"
_LEAK_SECONDS: Final = SECONDS
_LOOK_SECONDS: Final = 0.05
_OWN_REASONS: Final = (NAME_TAKEN, WRITE_REFUSED, NOT_INDEXED, INVALID_OBJECT)
"""The reasons of Events that a second run writes again if their cause persists."""
_OF_ONE_TRY: Final = re.compile(r""" (reconcileID|causes)=('[^']*'|"[^"]*")| failures=\d+""")


class RunningOperator:
    """
    A manager for one set_up, over HTTP and on its own thread.

    Fields: manager is set_up's manager; namespaces are the watched namespaces, or () for all of them.
    Threads: used on the test's thread. The manager's thread is called `operator`.
    """

    def __init__(
        self,
        sandbox: RunningSandbox,
        set_up: Callable[[Manager], object],
        *,
        namespaces: Sequence[str] = (),
        clock: SettableClock | None = None,
        **options: Any,
    ) -> None:
        """
        Call set_up, and apply the CRDs of the reconciled kinds, except those that the test's CRDs serve.

        Args: clock is sandbox.clock if the operator's time must advance with the server's; None means real
        time. options are Manager's options.
        Raises: AssertionError if another program's CRD defines a reconciled kind, but the sandbox lacks it.
        """
        config = load_config(kubeconfig=str(sandbox.kubeconfig))
        if clock is not None:
            options["seams"] = Seams(clock=SharedClock(clock))
            clock.listen(self._reconcile_again)
        self.namespaces = tuple(namespaces)
        self.manager = Manager.from_config(config, name=USER_AGENT, namespaces=namespaces, **options)
        self._sandbox = sandbox
        self._running = ManagerThread(self.manager, "operator")
        self._skipped = len(sandbox.asked(USER_AGENT))
        set_up(self.manager)
        kinds = [kind for kind in self.manager.reconciled_kinds() if needs_definition(kind)]
        for own in filter(has_own_definition, kinds):
            self._define(own)
        for foreign in (kind.resource for kind in kinds if not has_own_definition(kind)):
            served = sandbox.client.discovery().resources(foreign.group, foreign.version)
            assert served, (
                f"the sandbox does not serve {foreign}, which another program defines; "
                "call sandbox.apply(...) with that program's CRD before the operator starts"
            )

    def _define(self, kind: type[Kind]) -> None:
        """
        Apply a type's CRD, unless a CRD of the test already serves the type.

        The test's CRD stays, because it may have further versions and objects.
        """
        resource, defined = kind.resource, self._sandbox.defined
        name = f"{resource.plural}.{resource.group}"
        served = self._sandbox.client.discovery().resources(resource.group, resource.version)
        if name in defined or served is None or served.find(resource.plural) is None:
            self._sandbox.conversions |= conversions_of([kind])
            self._sandbox.apply(custom_resource_definition(kind))
            defined.add(name)

    def asked(self) -> list[RequestAttributes]:
        """Return the requests for resources so far, oldest first."""
        return self._sandbox.asked(USER_AGENT)[self._skipped :]

    def writes(self) -> list[RequestAttributes]:
        """Return the requests that may have caused a change."""
        return [one for one in self.asked() if one.writes]

    def start(self) -> None:
        """
        Start the manager. Raises: the error with which the manager has ended, if any. Blocks: until the
        manager's caches are filled.
        """
        self._sandbox.explanations.append(self._drops)
        self._running.start()
        eventually(lambda: self._running.has_ended() or self._is_ready(), "ready, the operator")
        if self._running.error is not None:
            raise self._running.error

    def stop(self) -> None:
        """Stop the manager. Raises: the same errors as Manager.run. Blocks: until the manager has ended."""
        self._sandbox.explanations.remove(self._drops)
        self._running.end()

    def assert_quiet(self) -> None:
        """Call handloop.testing.assert_quiet. Also fail if the manager has slowed down a hot loop."""
        assert_quiet(self)
        writes = [str(write) for write in self.writes()]
        slowed = any(count for _, count in self._counts("hot_loops", "controller"))
        assert not slowed, f"not quiet: {len(writes)} writes in a hot loop, the last of them {writes[-1]}"

    def untold(self) -> list[str]:
        """
        Return objects that kstatus calls Current although their last reconcile failed or raised WaitError.

        Kinds whose status has no observed_generation are left out. Blocks: for a moment if objects are found,
        because they are checked again.
        """
        found = self._untold_now()
        if found:
            threading.Event().wait(_LOOK_SECONDS)
            found = [each for each in self._untold_now() if each in found]
        return found

    def _untold_now(self) -> list[str]:
        return [
            f"{obj.resource.kind} {object_name(obj)}"
            for controller in self._controllers()
            for obj in self._reporting(controller)
            if kstatus(obj).state == "Current" and controller.queue.comes_back(object_name(obj))
        ]

    def _controllers(self) -> list[Controller]:
        return [each for each in self.manager.runnables().values() if isinstance(each, Controller)]

    def _reporting(self, controller: Controller) -> list[Any]:
        """Return those of a controller's objects whose status has an observed generation."""
        kinds = [each for each in self.manager.reconciled_kinds() if has_own_definition(each)]
        found = [
            obj
            for kind in kinds
            if kind.resource.kind == controller.kind
            for obj in self._sandbox.client.resource(kind).list().items
        ]
        return [obj for obj in found if hasattr(getattr(obj, "status", None), "observed_generation")]

    def _reconcile_again(self) -> None:
        """Repeat running reconciles, because one that read the old time may ask for its retry too late."""
        for controller in self._controllers():
            controller.reconcile_again("the clock was moved")

    def _drops(self) -> str:
        """Return a note on the events that predicates dropped, one of which may explain why a wait failed."""
        told = ", ".join(f"{cause} ({count:g})" for cause, count in self._counts("dropped_events", "cause"))
        return f"predicates dropped watch events: {told}" if told else ""

    def _counts(self, counter: str, label: str) -> list[tuple[str, float]]:
        """Return the values of one of our counters, each paired with the value of the given label."""
        samples = [each for family in self.manager.registry.collect() for each in family.samples]
        name = f"handloop_{counter}_total"
        return [(each.labels[label], each.value) for each in samples if each.name == name]

    def _is_ready(self) -> bool:
        # Wait for a controller's workers too. Otherwise a controller that is still starting would time out
        # when the test moves the clock.
        alone = self.manager.elector is None and not self.manager.replica.is_divided
        waits = alone and not all(one.statistics().workers for one in self._controllers())
        return not (waits or any(check() for check in self.manager.readiness_checks().values()))


@contextmanager
def running_operator(
    sandbox: RunningSandbox,
    set_up: Callable[[Manager], object],
    *,
    namespaces: Sequence[str] = (),
    expected_errors: str | None = None,
    **options: Any,
) -> Iterator[RunningOperator]:
    """
    Run a set_up for the duration of the block, and then check its behavior.

    The checks are: the operator becomes quiet; no ERROR line was logged; kstatus calls no object Current if
    its last reconcile failed or raised WaitError; a second run of set_up writes only handloop's own Events,
    such as NameTaken; neither run left a thread behind. Faults are cleared before the checks.

    Args: set_up is the function for handloop.controller.cli.main, and is called twice. expected_errors is a
    regular expression for the allowed ERROR lines; None allows no errors. options are RunningOperator's clock
    and Manager's options.
    Raises: AssertionError for a check that fails; any error from Manager.run.
    """
    before = set(threading.enumerate())
    with _ErrorLines() as errors:
        with _run_of(sandbox, set_up, namespaces, options) as operator:
            yield operator
            sandbox.faults.clear()
            operator.assert_quiet()
            untold = operator.untold()
        told = _events_of_authors(sandbox)
        with _run_of(sandbox, set_up, namespaces, options) as again:
            again.assert_quiet()
        has_told = _events_of_authors(sandbox) != told
    lines = [line for line in errors.lines if expected_errors is None or not re.search(expected_errors, line)]
    assert not lines, (
        "the operator logged errors:\n"
        + "\n".join(_each_once(lines))
        + "\nA test of failures must name them: operator(set_up, expected_errors=...)"
    )
    assert not untold, (
        f"Current for kstatus, but its last reconcile failed, or waits: {', '.join(untold)}\n"
        'Tell it before you raise: context.set_conditions(...) with Ready="False", or with Reconciling="True"'
    )
    writes = [str(write) for write in again.writes() if has_told or write.resource != "events"]
    assert not writes, f"nothing had changed, but a second run wrote: {', '.join(writes)}"
    leaked = sorted(thread.name for thread in _left_of(set(threading.enumerate()) - before))
    assert not leaked, f"threads outlived the operator: {', '.join(leaked)}"


def _events_of_authors(sandbox: RunningSandbox) -> set[tuple[str, str]]:
    """Return the UIDs and versions of the Events that authors' code wrote, rather than handloop itself."""
    return {
        (event["metadata"]["uid"], event["metadata"]["resourceVersion"])
        for event in sandbox.get("/api/v1/events")["items"]
        if event["reason"] not in _OWN_REASONS
    }


def _each_once(lines: Sequence[str]) -> list[str]:
    """Return each error's first line. Lines that differ only where _OF_ONE_TRY matches are of one error."""
    first: dict[str, str] = {}
    for line in lines:
        first.setdefault(_OF_ONE_TRY.sub("", line), line)
    return list(first.values())


@contextmanager
def _run_of(
    sandbox: RunningSandbox, set_up: Callable[[Manager], object], namespaces: Sequence[str], options: Any
) -> Iterator[RunningOperator]:
    operator = RunningOperator(sandbox, set_up, namespaces=namespaces, **options)
    try:
        operator.start()
        yield operator
    finally:
        operator.stop()


def _left_of(threads: set[threading.Thread]) -> set[threading.Thread]:
    """Return the new threads that are still alive after a while. Blocks: for at most _LEAK_SECONDS."""
    ends_at = time.monotonic() + _LEAK_SECONDS
    for thread in threads:
        thread.join(max(0.0, ends_at - time.monotonic()))
    return {thread for thread in threads if thread.is_alive()}


class _ErrorLines(logging.Handler):
    """Collects the ERROR lines under `handloop` during its `with` block. Threads: any thread can log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Store a line. logging holds the handler's lock during this call."""
        self.lines.append(f"{record.name}: {record.getMessage()}")

    def __enter__(self) -> _ErrorLines:
        logging.getLogger("handloop").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("handloop").removeHandler(self)
