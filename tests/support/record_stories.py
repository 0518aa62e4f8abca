"""
Play the stories of tests/contract/test_stories.py on a real kube-apiserver and keep what it answers.

Run as `PYTHONPATH=.:tests TEST_KUBECONFIG=... python -m support.record_stories`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.api_server import APIServer, endpoint_of
from support.recordings import keep
from support.stories import SEEDS, SUBJECTS, story
from support.story_player import StoryServer, digest, play


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
