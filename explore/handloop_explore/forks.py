"""
Plays each plan in a forked process that starts where the plan departs from the undisturbed run.

A fork of this process, called the trunk, plays the undisturbed run again. All its virtual threads are
greenlets of one real thread, so os.fork() in the middle of a run copies everything, including the sandbox,
the operator and the threads. At the call where a plan first strikes, the trunk forks a child. The child
follows the plan to its end, sends the outcome, and ends with os._exit(), so that it does not run the parent's
`finally` blocks, atexit handlers or tests.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from math import inf
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, TypeVar

from handloop_explore.plan import Plan
from handloop_explore.play import Forking
from handloop_explore.played import Played

T = TypeVar("T")

PLAN_SECONDS: Final = 60.0
"""How long a child may play its plan, in wall time. Most plans take a twentieth of a second."""

_HANGING_SECONDS: Final = 5.0
"""How long a process can take, after its deadline, to report what it is doing."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_GC_THRESHOLDS: Final = (50_000, 20, 100)
"""Thresholds that make garbage collections rare, because each process plays only one run."""

PlayTrunk: TypeAlias = Callable[[Forking], object]
"""Plays the undisturbed run, and checks at each of the operator's calls whether a plan starts there."""


class Lost(NamedTuple):
    """Stands in for the result of a plan that produced no result. why: the reason, as text."""

    why: str


def can_fork() -> bool:
    """Return whether this system can fork."""
    return hasattr(os, "fork")


def called_in_fork(
    call: Callable[[], T], *, seconds: float, where: Callable[[FrameType | None], str]
) -> T | Lost | None:
    """
    Run a function in a fork of this process, and return its result, which must be picklable.

    Args: seconds: the limit in wall time; where: returns a description of the running frame when the limit is
    reached.
    Returns: the result; a Lost with the description if the limit is reached; None if the fork ended
    without a result, because the function raised or exited. Raises: KeyboardInterrupt after Ctrl-C.
    """
    sys.stdout.flush()
    reader, writer = Pipe(duplex=False)

    def give_up(_: int, frame: FrameType | None) -> NoReturn:
        writer.send_bytes(pickle.dumps(Lost(where(frame))))
        os._exit(0)

    with _forked() as pid:
        if not pid:
            try:
                signal.signal(signal.SIGALRM, give_up)
                signal.setitimer(signal.ITIMER_REAL, seconds)
                outcome = call()
                signal.setitimer(signal.ITIMER_REAL, 0)
                sys.stdout.flush()
                writer.send_bytes(pickle.dumps(outcome))
            finally:
                os._exit(0)
        writer.close()
        try:
            if not reader.poll(seconds + _HANGING_SECONDS):
                return Lost("it is busy outside Python")
            found: T | Lost = pickle.loads(reader.recv_bytes())  # noqa: S301 - from a child of ours
        except EOFError:
            return None
        else:
            return found
        finally:
            reader.close()


def played_by_forks(
    play: PlayTrunk,
    plans: Sequence[Plan],
    judge: Callable[[Played], Any],
    *,
    processes: int,
    until: float,
    plan_seconds: float = PLAN_SECONDS,
) -> Iterator[tuple[int, Any]]:
    """
    Yield each plan's index and the result of `judge`, in the order in which the plans end.

    Args: processes: how many children play at once. until: the deadline for all plans, on the clock of
    time.monotonic(). plan_seconds: the longest time that a plan can take. judge: called in the child with the
    run; its result must be small and picklable.
    Yields: a Lost instead of the result if the child fails. Closing the iterator ends all processes.
    """
    reader, writer = Pipe(duplex=False)
    with _forked() as pid:
        if not pid:
            reader.close()
            _Trunk(plans, judge, writer, processes, plan_seconds).run(play)
        writer.close()
        missing = set(range(len(plans)))
        try:
            while missing and reader.poll(None if until == inf else max(0.0, until - time.monotonic())):
                index, outcome = pickle.loads(reader.recv_bytes())  # noqa: S301 - from a child of ours
                missing.discard(index)
                yield index, outcome
        except EOFError:
            yield from ((index, Lost("the process that forks the plans ended")) for index in sorted(missing))
        finally:
            reader.close()


class _Trunk:
    """
    The process that plays the undisturbed run, and forks a child for each plan.

    State: _waiting, the plans that have not started, by index; _children, each running child's index and pid,
    by the pipe on which the child will send; _index, in a child, the index of its plan.
    """

    def __init__(
        self,
        plans: Sequence[Plan],
        judge: Callable[[Played], Any],
        out: Connection,
        processes: int,
        plan_seconds: float,
    ) -> None:
        self._waiting = dict(enumerate(plans))
        self._judge = judge
        self._out = out
        self._processes = processes
        self._plan_seconds = plan_seconds
        self._children: dict[Connection, tuple[int, int]] = {}
        self._index: int | None = None

    def run(self, play: PlayTrunk) -> NoReturn:
        """Play the run, and end the process. In a child, the plan's run also ends here."""
        try:
            signal.signal(signal.SIGTERM, self._end)
            gc.freeze()
            gc.set_threshold(*_GC_THRESHOLDS)
            nowhere = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - until the end
            with redirect_stdout(nowhere), redirect_stderr(nowhere):
                play(Forking(self._branch, self._report, self._waiting))
        except BaseException:  # noqa: BLE001 - the process ends here
            self._give_up(traceback.format_exc())
        os._exit(0)

    def _branch(self, begins: Callable[[Plan], object]) -> Plan | None:
        """Fork a child for each plan that starts here. Returns: the plan in a child, None in the trunk."""
        try:
            for index in [index for index, plan in self._waiting.items() if begins(plan)]:
                plan = self._waiting.pop(index)
                if self._is_child_after_fork(index):
                    return plan
            if not self._waiting and self._index is None:
                self._hand_on(0)
                os._exit(0)
        except Exception:  # noqa: BLE001 - a thread of the operator calls this, and would continue
            self._give_up(traceback.format_exc())
        return None

    def _is_child_after_fork(self, index: int) -> bool:
        self._hand_on(self._processes - 1)
        reader, writer = Pipe(duplex=False)
        if _fork(lambda pid: self._children.update({reader: (index, pid)})):
            writer.close()
            return False
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, self._plan_seconds)
        self._out.close()
        self._index, self._out, self._waiting, self._children = index, writer, {}, {}
        return True

    def _report(self, played: Played) -> None:
        """Send the run's outcome. A child then exits without ending its threads, which saves time."""
        if self._index is not None:
            self._send(self._index, self._judge(played))
            os._exit(0)
        for index, plan in self._waiting.items():  # their strikes never happen
            self._send(index, self._judge(played._replace(plan=plan)))
        self._hand_on(0)

    def _send(self, index: int, outcome: Any) -> None:
        self._out.send_bytes(pickle.dumps((index, outcome)))

    def _give_up(self, why: str) -> NoReturn:
        """Report the plans that have no result, wait for the children, and end the process."""
        try:
            for index in self._waiting if self._index is None else [self._index]:
                self._send(index, Lost(why))
            self._hand_on(0)
        finally:
            self._end()

    def _hand_on(self, most: int) -> None:
        """Wait until at most `most` children are left, and forward the outcomes of the others."""
        while len(self._children) > most:
            for reader in wait(list(self._children)):
                assert isinstance(reader, Connection)
                index, pid = self._children[reader]
                try:
                    message = reader.recv_bytes()
                except (EOFError, OSError):
                    message = b""
                # Do this before the wait, so that _end() never kills a process that has already ended.
                del self._children[reader]
                _, status = os.waitpid(pid, 0)
                reader.close()
                if message:
                    self._out.send_bytes(message)
                else:
                    self._send(index, Lost(self._why(os.waitstatus_to_exitcode(status))))

    def _why(self, code: int) -> str:
        if code == -signal.SIGALRM:
            return f"the plan did not end within {self._plan_seconds:g} s of wall time"
        if code < 0:
            return f"{signal.Signals(-code).name} ended the process that played the plan"
        return f"the process that played the plan ended with exit code {code}"

    def _end(self, *_signal: object) -> NoReturn:
        """End the remaining children, and this process."""
        try:
            for _, pid in self._children.values():
                os.kill(pid, signal.SIGKILL)
            for _, pid in self._children.values():
                os.waitpid(pid, 0)
        finally:
            os._exit(1)


@contextmanager
def _forked() -> Iterator[int]:
    """Fork, and yield the pid in the parent and 0 in the child. Leaving the parent's block ends the child."""
    pids: list[int] = []
    try:
        yield _fork(pids.append)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)


def _fork(started: Callable[[int], object]) -> int:
    """
    Call os.fork(), and delay signals until it has returned. The child ignores Ctrl-C.

    Otherwise, a KeyboardInterrupt in an at-fork hook, such as logging's, would be lost. So would a SIGTERM
    that the parent sends while the child still runs its hooks.

    Args: started: called in the parent, with the pid, before any signal arrives.
    """
    came: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    before = {each: signal.signal(each, lambda number, _: came.append(number)) for each in _SIGNALS * is_main}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    pid = -1
    try:
        with warnings.catch_warnings():
            # os.fork() would warn about other threads, but the child does not use their locks.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if pid:
            started(pid)
        else:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in before.items() if pid else ():
            signal.signal(number, handler)
    for one in came if pid else ():
        signal.raise_signal(one)
    return pid
