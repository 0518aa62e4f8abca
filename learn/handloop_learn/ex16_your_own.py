"""The exercise of chapter 16: the reader's solutions run together as a controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from handloop import Manager
from handloop_learn.exercise import Exercise, Load, WrongError, expect
from handloop_learn.line_trace import LineTrace
from handloop_learn.own_controller import add_own_foo
from handloop_learn.own_pieces import PARTS, Pieces, own_pieces
from handloop_learn.stage import DEPLOYMENTS, FOOS, Stage
from handloop_learn.waiting import NothingHappenedError, until

_FILES: Final = "\n".join(f'    "{name}": "{part.file}",' for name, part in PARTS.items())
START: Final = f'''\
"""Chapter 16: your own controller, built from the solutions in this folder. Ours replace missing ones."""

PIECES = {{
{_FILES}
}}
'''
FOO: Final = f"{FOOS}/example-foo"
CHILD: Final = f"{DEPLOYMENTS}/example-foo"
PATIENCE_SECONDS: Final = 6.0


class Trial(NamedTuple):
    """
    One test of the controller: a change, and its expected result.

    happens describes the change, and comes the result. begin makes the change. holds returns whether the
    result has occurred.
    """

    happens: str
    comes: str
    begin: Callable[[Stage], object]
    holds: Callable[[Stage, Manager], object]


def _available(stage: Stage, replicas: int) -> bool:
    return bool(stage.send("GET", FOO).get("status", {}).get("availableReplicas") == replicas)


def _is_there(stage: Stage) -> bool:
    return bool(stage.send("GET", CHILD)["kind"] == "Deployment")


def _scaled_unseen(stage: Stage) -> None:
    stage.sandbox.faults.drop_watches("reset", only_open=True)
    stage.send("PATCH", FOO, {"spec": {"replicas": 3}})


def _refused(stage: Stage) -> None:
    stage.sandbox.faults.error(500, verbs=["create"], resources=["deployments"], count=2)
    stage.send("DELETE", CHILD)


def _deleted_unseen(stage: Stage) -> None:
    stage.sandbox.faults.expire(only_open=True)
    stage.send("DELETE", FOO)


def _is_empty(stage: Stage, manager: Manager) -> bool:
    return not _is_there(stage) and not any(len(each.indexer) for each in manager.informers())


TRIALS: Final = (
    Trial(
        "a Foo is created",
        "it has its Deployment, and its status says 1 replica",
        Stage.apply,
        lambda stage, _: _available(stage, 1),
    ),
    Trial(
        "all watches break, and the Foo is scaled to 3 before they reopen",
        "its status says 3 replicas",
        _scaled_unseen,
        lambda stage, _: _available(stage, 3),
    ),
    Trial(
        "its Deployment is deleted, and the next two creates fail",
        "there is a new Deployment",
        _refused,
        lambda stage, _: _is_there(stage) and _available(stage, 3),
    ),
    Trial(
        "the server discards its log (410), and the Foo is deleted before the next watch",
        "the caches are empty, like the server",
        _deleted_unseen,
        _is_empty,
    ),
)


def tried(pieces: Pieces, trace: LineTrace) -> Iterator[Trial]:
    """
    Run a controller made of these pieces, and yield each trial that it passes.

    Raises: WrongError if it does not pass a trial. Blocks: for a few seconds.
    """
    add = partial(add_own_foo, workers=2, pieces=pieces)
    with trace, Stage() as stage, stage.running(add) as manager:
        for trial in TRIALS:
            trial.begin(stage)
            try:
                until(lambda trial=trial: trial.holds(stage, manager), "it", seconds=PATIENCE_SECONDS)  # type: ignore[misc]
            except NothingHappenedError as error:
                happened = (
                    f"{trial.happens}. Expected: {trial.comes}. That did not happen within "
                    f"{PATIENCE_SECONDS:g} s"
                )
                hint = f"Your parts: {', '.join(pieces.files) or 'none'}. Check each one separately."
                raise WrongError(happened, hint) from error
            yield trial


def check(load: Load) -> Iterator[str]:
    """See Check."""
    module = load()
    unknown = set(module.PIECES) - set(PARTS)
    expect(not unknown, f"no part is called {', '.join(sorted(unknown))}", f"The parts: {', '.join(PARTS)}.")
    pieces = own_pieces(module.PIECES, Path(module.__file__).parent)
    expect(pieces.files, "none of the files exists, so every part would be ours", "Start with check 6.")
    yield f"yours: {', '.join(pieces.files)}; ours: {', '.join(pieces.ours) or 'nothing'}"
    trace = LineTrace(pieces.places())
    for trial in tried(pieces, trace):
        yield f"{trial.happens}: {trial.comes}"
    for name, file in pieces.files.items():
        ran = sum(place.file == str(file) for place in trace.hits)
        yield f"{name}: {ran} lines of {file.name} ran. To see which, run chapter 16 in the file's folder"


EXERCISE: Final = Exercise(
    "name the files of your solutions. The check connects them and runs the controller.", START, check
)
