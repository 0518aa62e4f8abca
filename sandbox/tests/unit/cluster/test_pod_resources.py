from __future__ import annotations

from typing import Any

from handloop_sandbox.cluster.pod_resources import added, of_pod


def _container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": cpu}}, **more}


def test_an_init_container_counts_where_it_asks_for_more() -> None:
    """It runs alone, but for the restartable ones before it, which go on beside all others."""
    usual = [_container("100m"), _container("200m")]
    assert of_pod({"containers": usual}).requests == {"cpu": "300m"}
    assert of_pod({"containers": usual, "initContainers": [_container("250m")]}).requests == {"cpu": "300m"}
    first = [_container("50m", restartPolicy="Always"), _container("400m")]
    assert of_pod({"containers": usual, "initContainers": first}).requests == {"cpu": "450m"}
    assert of_pod({"containers": usual, "initContainers": first[:1]}).requests == {"cpu": "350m"}


def test_the_pod_as_a_whole_has_the_last_word() -> None:
    """What a pod asks for itself stands for its containers."""
    spec = {"containers": [_container("100m")], "resources": {"requests": {"cpu": "2"}}}
    assert of_pod(spec).requests == {"cpu": "2"}


def test_a_sum_is_spelled_as_its_first_amount() -> None:
    """Binary suffixes stay binary, zero says nothing."""
    assert added([{"m": "64Mi"}, {"m": "1G"}, {"c": "1"}]) == {"m": "1067108864", "c": "1"}
    assert added([{"m": "0"}, {"m": "1Gi"}]) == {"m": "1Gi"}
    assert added([{"m": "512Mi"}, {"m": "512Mi"}]) == {"m": "1Gi"}
