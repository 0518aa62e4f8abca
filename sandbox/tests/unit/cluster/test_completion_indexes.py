from __future__ import annotations

import pytest

from handloop_sandbox.cluster.completion_indexes import index_of, indexed_pod, parsed, shown


@pytest.mark.parametrize(
    ("indexes", "text"),
    [([], ""), ([3], "3"), ([0, 1], "0,1"), ([0, 1, 2, 5], "0-2,5"), ([1, 4, 5, 6, 7], "1,4-7")],
)
def test_texts(indexes: list[int], text: str) -> None:
    """Three in a row are a range, and each text is read as it was written."""
    assert shown(indexes) == text
    assert parsed(text) == indexes


def test_a_pod_knows_its_index() -> None:
    """In annotation, label, host name and environment, where a variable of that name stays."""
    named = {"name": "JOB_COMPLETION_INDEX", "value": "mine"}
    spec = {"initContainers": [{"name": "a"}], "containers": [{"name": "b", "env": [named]}]}
    pod = indexed_pod({"metadata": {"generateName": "j-7-"}, "spec": spec}, 7)
    assert index_of(pod) == 7
    assert pod["spec"]["hostname"] == "j-7"
    assert pod["metadata"]["labels"] == pod["metadata"]["annotations"]
    (added,) = pod["spec"]["initContainers"][0]["env"]
    assert added["name"] == named["name"]
    assert pod["spec"]["containers"][0]["env"] == [named]
    assert index_of({"metadata": {}}) is None
