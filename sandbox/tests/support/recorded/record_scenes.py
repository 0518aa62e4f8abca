"""
Play the scenes of sandbox/tests/contract/test_scenes.py on a real kube-apiserver and keep what it answers.

Run as `TEST_KUBECONFIG=... PYTHONPATH=tests:sandbox/tests python -m support.recorded.record_scenes`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.recorded.recordings import keep
from support.recorded.scenes import SCENES
from support.recorded.story_player import StoryServer, digest, play
from support.servers.api_server import APIServer, endpoint_of


def ask(server: StoryServer) -> Iterator[Any]:
    """One line a scene."""
    for name, steps in SCENES.items():
        with server.namespace() as namespace:
            answers = play(server.api, steps, namespace, server.group)
        yield {"scene": name, "answers": [digest(answer) for answer in answers]}


if __name__ == "__main__":
    with (
        APIServer(endpoint_of(Path(os.environ["TEST_KUBECONFIG"])), real=True) as real,
        StoryServer.prepared(real) as found,
    ):
        keep("scenes", ask(found))
