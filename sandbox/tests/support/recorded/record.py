"""
Ask a real kube-apiserver once more for what is in sandbox/tests/recorded.

Run as `TEST_KUBECONFIG=... PYTHONPATH=tests:sandbox/tests python -m support.recorded.record PART`; PART is
kinds, scenes or stories.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.builders.thing import DEFINITION
from support.recorded import apply_cases, default_cases, mutants, object_cases, patch_cases
from support.recorded.recordings import keep
from support.recorded.scenes import SCENES
from support.recorded.stories import SEEDS, SUBJECTS, Step, story
from support.recorded.story_player import StoryServer, digest, play
from support.servers.api_server import APIServer, endpoint_of
from support.servers.real_server import RealServer, real_server


def record_kinds(server: RealServer) -> None:
    """Objects of every kind, and what becomes of changes and patches of them."""
    keep("defaults", default_cases.ask(server))
    keep("creations", mutants.ask_create(server))
    keep("patches", patch_cases.ask(server, seed=1, count=200))
    server.define(DEFINITION)
    for plural in apply_cases.RESOURCES:
        keep(f"apply-{plural}", apply_cases.ask(server, plural, seed=1, stories=25))
    object_cases.create_samples(server)
    try:
        keep("objects", object_cases.ask(server))
        keep("updates", mutants.ask_update(server))
    finally:
        object_cases.delete_samples(server)


def scenes(server: StoryServer) -> Iterator[Any]:
    """One line a scene of test_scenes.py."""
    for name, steps in SCENES.items():
        yield {"scene": name, "answers": _answers(server, steps)}


def stories(server: StoryServer) -> Iterator[Any]:
    """One line a story of test_stories.py."""
    for subject in SUBJECTS:
        for seed in SEEDS:
            yield {"subject": subject, "seed": seed, "answers": _answers(server, story(subject, seed))}


def _answers(server: StoryServer, steps: list[Step]) -> list[Any]:
    with server.namespace() as namespace:
        return [digest(answer) for answer in play(server.api, steps, namespace, server.group)]


if __name__ == "__main__":
    (part,) = sys.argv[1:]
    if part == "kinds":
        with real_server() as found:
            record_kinds(found)
    else:
        with (
            APIServer(endpoint_of(Path(os.environ["TEST_KUBECONFIG"])), real=True) as real,
            StoryServer.prepared(real) as prepared,
        ):
            keep(part, {"scenes": scenes, "stories": stories}[part](prepared))
