"""
Checks, while a program runs, whether the definitions on the server fit the program's types.

If a definition does not fit, the log, `/readyz` and a metric say so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Self

from prometheus_client import CollectorRegistry

from handloop.client.resource_client import Client
from handloop.controller.cli.declarations import declared_kinds, written_kinds
from handloop.controller.cli.fit_check import Fit, looked_at
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import Problem
from handloop.controller.runtime.metrics.definition_metrics import DefinitionMetrics
from handloop.controller.runtime.serving.health import Well
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable, outliving

log = get_logger("controller")

AGAIN_SECONDS: Final = 60.0
"""The pause between checks while a definition does not fit or is unknown, instead of LATER_SECONDS."""
LATER_SECONDS: Final = 600.0
_STOP_SECONDS: Final = 0.5


class FitWatch:
    """
    Checks the served definitions in the background while the program starts, and again later.

    The program's own kinds are checked every time, because their definitions may change. Other programs'
    kinds are checked only until they fit.

    State: _fits is the last result, or None before the first one; the thread `definitions` writes it, under
    _lock. _told contains the problems already reported; only that thread uses it. Threads: `definitions` runs
    inside the `with` block; any thread can read.
    """

    def __init__(
        self,
        client: Client,
        options: Options,
        say: Callable[[Problem], object],
        registry: CollectorRegistry,
        seams: Seams,
    ) -> None:
        self._client = client
        self._options = options
        self._say = say
        self._seams = seams
        self._ended = threading.Event()
        self._thread: Joinable | None = None
        self._lock = new_lock("FitWatch._lock", 95)
        self._fits: list[Fit] | None = None
        self._told: dict[str, str] = {}
        self._metrics = DefinitionMetrics(registry)

    def __enter__(self) -> Self:
        self._thread = self._seams.spawn("definitions", self._run)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        assert self._thread is not None
        self._thread.join(_STOP_SECONDS)

    def check(self) -> Well | None:
        """
        Return the text that `/readyz` shows about the definitions, or None if they all fit.

        A program whose definitions do not fit stays ready, and works as well as it can.
        """
        with self._lock:
            fits = self._fits
        if fits is None:
            return Well("not looked at yet")
        told = [f"{fit.resource} does not fit: {fit.places} (E20)" for fit in fits if fit.misfits]
        told += [f"{fit.resource} is not known: {fit.unknown}" for fit in fits if fit.unknown]
        return Well("; ".join(told)) if told else None

    def _run(self) -> None:
        pause = 0.0
        while not self._seams.clock.sleep(pause, self._ended):
            with outliving(log, "The definitions could not be checked"):
                self._look()
            pause = LATER_SECONDS if self.check() is None else AGAIN_SECONDS

    def _look(self) -> None:
        before = {fit.kind: fit for fit in self._fits or ()}
        others = written_kinds(self._options)
        settled = [fit for kind in others if (fit := before.get(kind)) and not (fit.misfits or fit.unknown)]
        left = [kind for kind in others if kind not in {fit.kind for fit in settled}]
        ours = declared_kinds(self._options)
        fits = looked_at(self._client, ours, left, self._seams.clock, self._ended)
        if self._ended.is_set():
            return
        with self._lock:
            self._fits = [*fits, *settled]
        for fit in fits:
            self._tell(fit)

    def _tell(self, fit: Fit) -> None:
        name, problem = str(fit.resource), fit.problem(self._options.operator)
        self._metrics.found(name, None if fit.unknown else len(fit.misfits))
        if fit.unknown:
            log.debug("Cannot tell whether the definition fits", v=2, kind=name, reason=fit.unknown)
            return
        if fit.newer:
            log.debug(
                "The definition has fields that the type lacks", v=2, kind=name, fields=", ".join(fit.newer)
            )
        said, text = self._told.pop(name, ""), str(problem or "")
        if problem is not None:
            self._told[name] = text
            if text != said:
                self._say(problem)
        elif said:
            log.info("The definition fits now", kind=name)
