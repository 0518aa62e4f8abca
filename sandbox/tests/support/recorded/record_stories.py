"""
Play the stories of sandbox/tests/contract/test_stories.py on a real kube-apiserver and keep what it answers.

Run as `TEST_KUBECONFIG=... PYTHONPATH=tests:sandbox/tests python -m support.recorded.record_stories`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.recorded.recordings import keep
from support.recorded.stories import SEEDS, SUBJECTS, story
from support.recorded.story_player import StoryServer, digest, play
from support.servers.api_server import APIServer, endpoint_of


def ask(server: StoryServer) -> Iterator[Any]:
    """One line a story."""
    for subject in SUBJECTS:
        for seed in SEEDS:
            with server.namespace() as namespace:
                answers = play(server.api, story(subject, seed), namespace, server.group)
            yield {"subject": subject, "seed": seed, "answers": [digest(answer) for answer in answers]}


if __name__ == "__main__":
    with (
        APIServer(endpoint_of(Path(os.environ["TEST_KUBECONFIG"])), real=True) as real,
        StoryServer.prepared(real) as found,
    ):
        keep("stories", ask(found))
