"""
Scenes: requests about one subject each, on every server, with the answers that a kube-apiserver gave.

The stories beside them are random; these were thought out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.recorded.recordings import recorded
from support.recorded.scenes import SCENES
from support.recorded.story_player import StoryServer, digest, play
from support.servers.api_server import APIServer


@pytest.fixture(scope="module")
def teller(server: APIServer) -> Iterator[StoryServer]:
    """The server of this run, with the custom resource of the scenes."""
    with StoryServer.prepared(server) as found:
        yield found


@pytest.mark.parametrize("line", recorded("scenes"), ids=lambda line: str(line["scene"]))
def test_scenes_end_as_they_did(teller: StoryServer, line: dict[str, Any]) -> None:
    """Every answer of a scene is the recorded one."""
    steps = SCENES[line["scene"]]
    with teller.namespace() as namespace:
        answers = play(teller.api, steps, namespace, teller.group)
    for step, answer, kept in zip(steps, answers, line["answers"], strict=True):
        assert digest(answer) == kept, (step, answer)


def test_every_scene_is_recorded() -> None:
    """No scene goes untold."""
    assert [line["scene"] for line in recorded("scenes")] == list(SCENES)
