from __future__ import annotations

from typing import Any

import pytest

from support.servers.local_server import LocalServer, Reply

_P = "pod-security.kubernetes.io"
_PODS = "/api/v1/namespaces/n/pods"
_CONTAINERS = [{"name": "c", "image": "x"}]
_NETWORK = "host namespaces (hostNetwork=true)"


def _labelled(server: LocalServer, **labels: str) -> Reply:
    full = {f"{_P}/{name.replace('_', '-')}": value for name, value in labels.items()}
    return server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "n", "labels": full}})


def _pod(server: LocalServer, name: str = "p", **spec: Any) -> Reply:
    body = {"metadata": {"name": name}, "spec": {"containers": _CONTAINERS, **spec}}
    return server.request("POST", _PODS, body)


def _warnings(reply: Reply) -> list[str]:
    return [value for name, value in reply.headers if name == "Warning"]


@pytest.mark.parametrize(
    ("labels", "refused", "warned"),
    [
        ({"enforce": "baseline"}, "baseline:latest", ""),
        ({"enforce": "baseline", "enforce_version": "v1.30"}, "baseline:v1.30", ""),
        ({"warn": "baseline"}, "", "baseline:latest"),
        ({"audit": "baseline"}, "", ""),
        ({"enforce": "privileged"}, "", ""),
    ],
)
def test_labels_choose_the_level(
    server: LocalServer, labels: dict[str, str], refused: str, warned: str
) -> None:
    """Of a pod that is refused nobody is warned; audit has no effect."""
    _labelled(server, **labels)
    answer = _pod(server, hostNetwork=True)
    told = f'299 - "would violate PodSecurity \\"{warned}\\": {_NETWORK}"'
    assert _warnings(answer) == ([told] if warned else [])
    assert answer.status == (403 if refused else 201)
    if refused:
        assert answer.message == f'pods "p" is forbidden: violates PodSecurity "{refused}": {_NETWORK}'


def test_a_change_that_does_not_matter_is_not_looked_at(server: LocalServer) -> None:
    """Labels, a deadline and the status of a pod that was there before its namespace became strict."""
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    pod = _pod(server, hostNetwork=True).body
    server.request(
        "PATCH",
        "/api/v1/namespaces/n",
        {"metadata": {"labels": {f"{_P}/enforce": "baseline"}}},
        content_type="application/merge-patch+json",
    )
    pod["metadata"]["labels"] = {"a": "b"}
    pod["spec"]["activeDeadlineSeconds"] = 5
    pod = server.request("PUT", f"{_PODS}/p", pod).body
    assert server.request("PUT", f"{_PODS}/p/status", pod).status == 200
    pod["spec"]["containers"][0]["image"] = "y"
    assert server.request("PUT", f"{_PODS}/p", pod).status == 403


def test_a_stricter_namespace_names_the_pods_that_are_there(server: LocalServer) -> None:
    """Those alike together, and none for a level that is no stricter."""
    _labelled(server)
    for name in ("a", "b", "c"):
        _pod(server, name, hostNetwork=True)
    _pod(server, "d", hostPID=True, volumes=[{"name": "v", "hostPath": {"path": "/"}}])
    _pod(server, "e")

    def enforced(level: str) -> list[str]:
        patch = {"metadata": {"labels": {f"{_P}/enforce": level}}}
        answer = server.request(
            "PATCH", "/api/v1/namespaces/n", patch, content_type="application/merge-patch+json"
        )
        return [text.removeprefix('299 - "').removesuffix('"') for text in _warnings(answer)]

    where = 'existing pods in namespace \\"n\\" violate the new PodSecurity enforce level'
    assert enforced("baseline") == [
        f'{where} \\"baseline:latest\\"',
        "a (and 2 other pods): host namespaces",
        "d: host namespaces, hostPath volumes",
    ]
    assert enforced("privileged") == enforced("privileged") == []


def test_wrong_labels(server: LocalServer) -> None:
    """Levels and versions are few."""
    answer = _labelled(server, enforce_version="1.30", warn="strict")
    assert [cause["message"] for cause in answer.body["details"]["causes"]] == [
        'Invalid value: "1.30": must be "latest" or "v1.x"',
        'Invalid value: "strict": must be one of privileged, baseline, restricted',
    ]
