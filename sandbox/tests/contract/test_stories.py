"""
Seeded random requests: the same stories on every server, with the same answers.

A kube-apiserver's answers are kept; STORIES=100 with TEST_KUBECONFIG plays a hundred further stories of
each subject to both servers and compares every word.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handloop_sandbox.server import Sandbox
from support.recorded.recordings import recorded
from support.recorded.stories import SEEDS, SUBJECTS, story
from support.recorded.story_player import StoryServer, digest, play
from support.servers.api_server import APIServer, Endpoint, endpoint_of

MORE = int(os.environ.get("STORIES", "0"))


@pytest.fixture(scope="module")
def teller(server: APIServer) -> Iterator[StoryServer]:
    """The server of this run, with the custom resource of the stories."""
    with StoryServer.prepared(server) as found:
        yield found


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[StoryServer, StoryServer]]:
    """A kube-apiserver and a sandbox."""
    with (
        Sandbox(speed=20.0, seed=1) as sandbox,
        APIServer(endpoint_of(Path(os.environ["TEST_KUBECONFIG"])), real=True) as real,
        APIServer(Endpoint(sandbox.url, sandbox.token), real=False) as ours,
        StoryServer.prepared(real) as theirs,
        StoryServer.prepared(ours) as mine,
    ):
        yield theirs, mine


@pytest.mark.parametrize("line", recorded("stories"), ids=lambda line: f"{line['subject']}-{line['seed']}")
def test_stories_end_as_they_did(teller: StoryServer, line: dict[str, Any]) -> None:
    """Every answer of a recorded story is the recorded one."""
    steps = story(line["subject"], line["seed"])
    with teller.namespace() as namespace:
        answers = play(teller.api, steps, namespace, teller.group)
    for step, answer, kept in zip(steps, answers, line["answers"], strict=True):
        assert digest(answer) == kept, (step, answer)


@pytest.mark.real
@pytest.mark.skipif(not MORE, reason="STORIES says how many further stories to tell")
@pytest.mark.parametrize("seed", range(len(SEEDS), len(SEEDS) + MORE))
@pytest.mark.parametrize("subject", SUBJECTS)
def test_further_stories(both: tuple[StoryServer, StoryServer], subject: str, seed: int) -> None:
    """New stories end alike on the sandbox and on a kube-apiserver."""
    steps = story(subject, seed)
    told = []
    for server in both:
        with server.namespace() as namespace:
            told.append(play(server.api, steps, namespace, server.group))
    for step, expected, answer in zip(steps, *told, strict=True):
        assert answer == expected, step
