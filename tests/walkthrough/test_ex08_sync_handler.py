from __future__ import annotations

import pytest

from handloop.walkthrough.exercise_catalog import EXERCISES
from support.checks.chapters import judged

RIGHT = """
from handloop.apis.meta import is_controlled_by
from handloop.controller.foo.controller import new_deployment, scale_patch

def sync(name, foos, deployments, server):
    foo = foos.get_by_key(str(name))
    if foo is None:
        return
    deployment = deployments.get_by_key(f"{name.namespace}/{foo.spec.deployment_name}")
    if deployment is None:
        server.create(new_deployment(foo))
    elif not is_controlled_by(deployment, foo):
        raise RuntimeError("it belongs to another")
    elif deployment.spec.replicas != foo.spec.replicas:
        patch = scale_patch(deployment, foo.spec.replicas)
        server.patch(deployment.metadata.name, patch, namespace=name.namespace)
"""
EDGE = RIGHT.replace("def sync", "made = set()\n\ndef sync").replace(
    "    if deployment is None:",
    "    if name in made and deployment is None:\n        return\n    made.add(name)\n"
    "    if deployment is None:",
)
IN_MEMORY = RIGHT.replace("def sync", "sent = {}\n\ndef sync").replace(
    "    elif deployment.spec.replicas != foo.spec.replicas:",
    "    elif sent.get(name) != (foo.spec.replicas, deployment.spec.replicas):\n"
    "        sent[name] = foo.spec.replicas, foo.spec.replicas",
)


def test_a_right_solution() -> None:
    """A level-triggered handler is right in every situation."""
    report = judged(8, RIGHT)
    assert (report.wrong, len(report.right)) == ("", 7)


@pytest.mark.parametrize(
    ("text", "happened", "hint"),
    [
        # as it starts: it creates each time
        (EXERCISES[8].start, "already exists", "Look into the caches"),
        (EDGE, "did not make another", "It acted on the edge"),
        (
            RIGHT.replace("deployment.spec.replicas != foo.spec.replicas", "True"),
            "nothing had changed, and you sent 1",
            "what differs",
        ),
        (
            RIGHT.replace("deployment.spec.replicas != foo.spec.replicas", "False"),
            "wants 3 replicas, its Deployment has 2",
            "Look into the caches",
        ),
        (RIGHT.replace("not is_controlled_by(deployment, foo)", "False"), "all is well", "is_controlled_by"),
        (
            RIGHT.replace("if foo is None:", "if False:"),
            "the Foo is gone, and your sync raised",
            "get_by_key returns None",
        ),
        (IN_MEMORY, "you sent 1 requests", ""),
    ],
)
def test_a_wrong_solution_gets_its_own_hint(text: str, happened: str, hint: str) -> None:
    """What happened, and where to look."""
    report = judged(8, text)
    assert happened in report.wrong
    assert hint in report.hint
