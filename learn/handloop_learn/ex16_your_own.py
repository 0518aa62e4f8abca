"""The exercise of chapter 16: the reader's solutions, plugged together, are a controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from handloop import Manager
from handloop_learn.exercise import Exercise, Load, WrongError, expect
from handloop_learn.line_trace import LineTrace
from handloop_learn.own_controller import add_own_foo
from handloop_learn.own_pieces import PARTS, Pieces, own_pieces
from handloop_learn.stage import DEPLOYMENTS, FOOS, Stage
from handloop_learn.waiting import NothingHappenedError, until

_FILES: Final = "\n".join(f'    "{name}": "{part.file}",' for name, part in PARTS.items())
START: Final = f'''\
"""Chapter 16: your own controller. The files of your solutions, beside this one. What is missing is ours."""

PIECES = {{
{_FILES}
}}
'''
FOO: Final = f"{FOOS}/example-foo"
CHILD: Final = f"{DEPLOYMENTS}/example-foo"
PATIENCE_SECONDS: Final = 6.0


class Trial(NamedTuple):
    """
    Something that a controller has to get right: what happens, what must come of it, and whose work that is.

    begin makes it happen; holds says whether it has come.
    """

    happens: str
    comes: str
    parts: tuple[str, ...]
    begin: Callable[[Stage], object]
    holds: Callable[[Stage, Manager], object]


def _available(stage: Stage, replicas: int) -> bool:
    status: dict[str, Any] = stage.send("GET", FOO).get("status", {})
    return bool(status.get("availableReplicas") == replicas)


def _scaled_unseen(stage: Stage) -> None:
    stage.sandbox.faults.drop_watches("reset", only_open=True)
    stage.send("PATCH", FOO, {"spec": {"replicas": 3}})


def _refused(stage: Stage) -> None:
    stage.sandbox.faults.error(500, verbs=["create"], resources=["deployments"], count=2)
    stage.send("DELETE", CHILD)


def _deleted_unseen(stage: Stage) -> None:
    stage.sandbox.faults.expire(only_open=True)
    stage.send("DELETE", FOO)


TRIALS: Final = (
    Trial(
        "a Foo is created",
        "it has its Deployment, and its status says 1",
        tuple(PARTS),
        lambda stage: stage.apply(),
        lambda stage, _manager: _available(stage, 1),
    ),
    Trial(
        "all watches break, and the Foo is scaled to 3 meanwhile",
        "its status says 3",
        ("reflector", "process", "sync"),
        _scaled_unseen,
        lambda stage, _manager: _available(stage, 3),
    ),
    Trial(
        "its Deployment is deleted, and the server refuses two creates",
        "there is another Deployment",
        tuple(PARTS),
        _refused,
        lambda stage, _manager: stage.send("GET", CHILD)["kind"] == "Deployment" and _available(stage, 3),
    ),
    Trial(
        "the log is lost (410), and the Foo is deleted meanwhile",
        "the caches are empty, as the server is",
        ("reflector", "process"),
        _deleted_unseen,
        lambda stage, manager: (
            stage.send("GET", CHILD)["kind"] == "Status"
            and not any(len(informer.indexer) for informer in manager.informers())
        ),
    ),
)


def tried(pieces: Pieces, trace: LineTrace) -> Iterator[Trial]:
    """
    Run the controller of some pieces, and yield each trial that it has passed.

    Raises: WrongError for one that it has not. Blocks: for some seconds.
    """
    add = partial(add_own_foo, workers=2, pieces=pieces)
    with trace, Stage() as stage, stage.running(add) as manager:
        for trial in TRIALS:
            trial.begin(stage)
            try:
                until(lambda trial=trial: trial.holds(stage, manager), "it", seconds=PATIENCE_SECONDS)  # type: ignore[misc]
            except NothingHappenedError as error:
                own = [name for name in trial.parts if name in pieces.files]
                happened = (
                    f"{trial.happens}, and {PATIENCE_SECONDS:g} s later it does not hold that {trial.comes}"
                )
                hint = f"That is the work of: {', '.join(own) or 'ours'}. Check each alone."
                raise WrongError(happened, hint) from error
            yield trial


def check(load: Load) -> Iterator[str]:
    """See Check."""
    module = load()
    unknown = set(module.PIECES) - set(PARTS)
    expect(not unknown, f"there is no part {', '.join(sorted(unknown))}", f"The parts: {', '.join(PARTS)}.")
    pieces = own_pieces(module.PIECES, Path(module.__file__).parent)
    expect(pieces.files, "none of the files exists, so all of it would be ours", "Begin with check 6.")
    yield f"yours: {', '.join(pieces.files)}; ours: {', '.join(pieces.ours) or 'nothing'}"
    trace = LineTrace(pieces.places())
    for trial in tried(pieces, trace):
        yield f"{trial.happens}: {trial.comes}"
    for name, file in pieces.files.items():
        places = [place for place in pieces.places() if place.file == str(file)]
        silent = [str(place.line) for place in places if not trace.hits[place]]
        rest = f"; not yet: line {', '.join(silent)}" if silent else ""
        yield f"{name}: {len(places) - len(silent)} of {len(places)} lines of {file.name} ran{rest}"


EXERCISE: Final = Exercise(
    "name the files of your solutions: the check plugs them together, and runs a Foo.",
    "exercise_16_your_own.py",
    START,
    check,
)
