"""
An exploration, which its author calls in a test or uses as a test's decorator.

    explore(Workload(set_up, [applied(SITE), deleted(SITE)]), plans=500).check()

    @explore(Workload(set_up, [applied(SITE)]))
    def test_a_site_has_its_deployment(cluster):
        assert cluster.find(DEPLOYMENT)
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from handloop_explore.cluster import VirtualCluster
from handloop_explore.explorer import run_plans
from handloop_explore.report import Report
from handloop_explore.workload import Invariant, Workload, words_of

COMMAND_LINE: Final = ("plans", "seed", "replay")
"""Options that pytest's command line also has, such as --explore-plans."""

_CLUSTER: Final = "cluster"
_REQUEST: Final = "request"


def explore(workload: Workload, **options: Any) -> Exploration:
    """
    Return an exploration, which plays its plans when report(), check() or the decorated test is called.

    Args: options: arguments of handloop_explore.explorer.run_plans, such as plans, seed and replay.
    """
    return Exploration(workload, options)


def explore_in_test(request: Any, workload: Workload, **options: Any) -> Exploration:
    """
    Return an exploration for a pytest test. Options on pytest's command line override `options`.

    Args: request: pytest's `request` fixture.
    """
    asked = {name: request.config.getoption(f"--explore-{name}", None) for name in COMMAND_LINE}
    given = {name: value for name, value in asked.items() if value is not None}
    return Exploration(workload, {**options, **given}, f"pytest {shlex.quote(request.node.nodeid)}")


class Exploration:
    """A workload, with the options for exploring it."""

    def __init__(self, workload: Workload, options: dict[str, Any], command: str = "") -> None:
        """Args: command: a command to which --explore-replay PLAN can be added, or "" if there is none."""
        self._workload = workload
        self._options = options
        self._command = command

    def report(self) -> Report:
        """Play the plans. Raises: the same errors as run_plans. Blocks: as long as run_plans."""
        return run_plans(self._workload, **self._options)

    def check(self) -> None:
        """
        Play the plans, and raise an error if any of them fails.

        Raises: AssertionError with the report's text, and a command that replays each failed plan;
        KeyboardInterrupt if Ctrl-C ended the exploration before a plan failed.
        """
        __tracebackhide__ = True
        report = self.report()
        if report.failures:
            raise AssertionError(report.text(self._command, "--explore-replay"))
        if report.is_interrupted:
            raise KeyboardInterrupt

    def __call__(self, test: Callable[..., object]) -> Callable[..., None]:
        """
        Decorate a pytest test whose body checks an invariant, which its docstring or name states.

        Args: test: called at the end of each run, with the run's cluster as the argument `cluster`. Its other
        arguments are fixtures, which are shared by all runs of the exploration.
        """
        signature = inspect.signature(test)
        if _CLUSTER not in signature.parameters:
            raise TypeError(
                f"{test.__name__} has no argument {_CLUSTER!r}; write def {test.__name__}({_CLUSTER})"
            )

        @wraps(test)
        def explored(*arguments: Any, **fixtures: Any) -> None:
            __tracebackhide__ = True
            wanted = {name: fixtures[name] for name in fixtures.keys() & signature.parameters.keys()}

            def holds(cluster: VirtualCluster) -> bool:
                test(*arguments, **wanted, **{_CLUSTER: cluster})
                return True

            invariants = (*self._options.get("invariants", ()), Invariant(words_of(test), holds))
            options = {**self._options, "invariants": invariants}
            explore_in_test(fixtures[_REQUEST], self._workload, **options).check()

        # pytest reads a test's signature to find the fixtures that it needs.
        explored.__signature__ = _in_pytest(signature)  # type: ignore[attr-defined]
        return explored


def _in_pytest(signature: inspect.Signature) -> inspect.Signature:
    """Return a test's signature, with pytest's `request` in place of `cluster`."""
    fixtures = [one for name, one in signature.parameters.items() if name not in (_CLUSTER, _REQUEST)]
    request = inspect.Parameter(_REQUEST, inspect.Parameter.KEYWORD_ONLY)
    return signature.replace(parameters=[*fixtures, request])
