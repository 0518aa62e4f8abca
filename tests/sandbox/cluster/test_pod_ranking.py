from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.cluster.pod_ranking import DELETION_COST, doomed

_OLD, _NEW = "2023-01-01T00:00:00Z", "2023-01-02T00:00:00Z"


def _pod(
    name: str,
    *,
    node: str = "n",
    phase: str = "Running",
    ready: str = _OLD,
    cost: str = "",
    restarts: int = 0,
    created: str = _OLD,
) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": ready or _OLD}
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": created,
            "annotations": {DELETION_COST: cost} if cost else {},
        },
        "spec": {"nodeName": node} if node else {},
        "status": {
            "phase": phase,
            "conditions": [condition],
            "containerStatuses": [{"restartCount": restarts}],
        },
    }


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        (_pod("a", node=""), _pod("b", phase="Pending")),
        (_pod("a", phase="Pending"), _pod("b", phase="Unknown")),
        (_pod("a", phase="Unknown"), _pod("b")),
        (_pod("a", ready=""), _pod("b")),
        (_pod("a", cost="-5"), _pod("b")),
        (_pod("a"), _pod("b", cost="5")),
        (_pod("a", cost="rubbish", created=_NEW), _pod("b")),
        (_pod("a", restarts=2), _pod("b", restarts=1)),
        (_pod("a", ready=_NEW), _pod("b")),
        (_pod("a", created=_NEW), _pod("b")),
        (_pod("a"), _pod("b")),
    ],
)
def test_least_valuable_pod_goes_first(goes: dict[str, Any], stays: dict[str, Any]) -> None:
    """
    Unassigned, pending, unready, cheap, restarted and young pods go before others.

    Follows TestSortingActivePodsWithRanks.
    """
    for pods in ([goes, stays], [stays, goes]):
        assert [pod["metadata"]["name"] for pod in doomed(pods, 1, pods)] == ["a"]


def test_crowded_nodes_lose_pods_first() -> None:
    """Of two equal pods the one with more relatives on its node goes, those of other ReplicaSets included."""
    lonely, crowded = _pod("a", node="one"), _pod("b", node="two")
    related = [lonely, crowded, _pod("other", node="two")]
    assert doomed([lonely, crowded], 1, related) == [crowded]


def test_count_limits_the_number() -> None:
    """As many pods go as asked for, in the order of their value."""
    pods = [_pod("a"), _pod("b", ready=""), _pod("c", node="")]
    assert [pod["metadata"]["name"] for pod in doomed(pods, 2, pods)] == ["c", "b"]
    assert doomed(pods, 0, pods) == []
