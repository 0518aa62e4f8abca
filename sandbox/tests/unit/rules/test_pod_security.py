from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.rules.pod_security import violations

_GOOD = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_SELINUX = "set forbidden securityContext.seLinuxOptions"
_CAPS = "securityContext.capabilities"
_ADDED = f'containers "a", "b" must not include "CHOWN" in {_CAPS}.add'
_SECCOMP = "securityContext.seccompProfile.type"
_HOST = "probe or lifecycle host"


def _spec(*security: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A pod's spec with containers a, b and so on."""
    contexts = [{"name": name, "securityContext": one} for name, one in zip("abc", security, strict=False)]
    return {"containers": contexts or [{"name": "a"}], **spec}


def _containers(*containers: dict[str, Any]) -> dict[str, Any]:
    return {
        "containers": [{"name": name, **one} for name, one in zip("abc", containers, strict=False)],
    }


def _without(member: str) -> dict[str, Any]:
    return {name: value for name, value in _GOOD.items() if name != member}


@pytest.mark.parametrize(
    ("spec", "title", "detail"),
    [
        (_spec(hostPID=True, hostNetwork=True), "host namespaces", "hostNetwork=true, hostPID=true"),
        (
            {
                **_spec({"privileged": True}),
                "initContainers": [{"name": "i", "securityContext": {"privileged": True}}],
            },
            "privileged",
            'containers "i", "a" must not set securityContext.privileged=true',
        ),
        (
            _spec({"capabilities": {"add": ["SYS_TIME", "CHOWN"]}}, {"capabilities": {"add": ["ALL"]}}),
            "non-default capabilities",
            'containers "a", "b" must not include "ALL", "SYS_TIME" in securityContext.capabilities.add',
        ),
        (
            _spec(volumes=[{"name": "v", "hostPath": {}}, {"name": "w", "emptyDir": {}}]),
            "hostPath volumes",
            'volume "v"',
        ),
        (
            _containers({"ports": [{"hostPort": 80}, {"hostPort": 81}]}, {"ports": [{"containerPort": 1}]}),
            "hostPort",
            'container "a" uses hostPorts 80, 81',
        ),
        (
            _containers(
                {"livenessProbe": {"httpGet": {"host": "h"}}},
                {"lifecycle": {"preStop": {"tcpSocket": {"host": "g"}}}},
            ),
            _HOST,
            f'containers "a", "b" use {_HOST}s "g", "h"',
        ),
        (
            _spec(
                {"appArmorProfile": {"type": "Unconfined"}},
                securityContext={"appArmorProfile": {"type": "Unconfined"}},
            ),
            "forbidden AppArmor profile",
            'pod and container "a" must not set AppArmor profile type to "Unconfined"',
        ),
        (
            _spec(
                {"seLinuxOptions": {"type": "x", "user": "u"}},
                securityContext={"seLinuxOptions": {"type": "y"}},
            ),
            "seLinuxOptions",
            f'pod and container "a" {_SELINUX}: types "x", "y"; user may not be set',
        ),
        (
            _spec(securityContext={"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_rmem"}]}),
            "forbidden sysctls",
            "kernel.msgmax",
        ),
        (
            _spec({"procMount": "Unmasked"}),
            "procMount",
            'container "a" must not set securityContext.procMount to "Unmasked"',
        ),
        (
            _spec(securityContext={"seccompProfile": {"type": "Unconfined"}}),
            "seccompProfile",
            'pod must not set securityContext.seccompProfile.type to "Unconfined"',
        ),
        (
            _spec({"windowsOptions": {"hostProcess": True}}),
            "hostProcess",
            'container "a" must not set securityContext.windowsOptions.hostProcess=true',
        ),
    ],
)
def test_the_baseline(spec: dict[str, Any], title: str, detail: str) -> None:
    """A violation has a title, and says who does what."""
    assert violations(spec, "baseline") == [(title, detail)]
    assert violations(spec, "privileged") == []


@pytest.mark.parametrize(
    ("spec", "title", "detail"),
    [
        (
            _spec(_without("allowPrivilegeEscalation")),
            "allowPrivilegeEscalation != false",
            'container "a" must set securityContext.allowPrivilegeEscalation=false',
        ),
        (
            _spec(
                {**_GOOD, "capabilities": {"add": ["CHOWN", "NET_BIND_SERVICE"]}},
                {**_GOOD, "capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}},
            ),
            "unrestricted capabilities",
            f'container "a" must set {_CAPS}.drop=["ALL"]; {_ADDED}',
        ),
        (
            _spec(
                _GOOD,
                volumes=[
                    {"name": "v", "nfs": {}},
                    {"name": "w", "hostPath": {}},
                    {"name": "x", "secret": {}},
                ],
            ),
            "restricted volume types",
            'volumes "v", "w" use restricted volume types "hostPath", "nfs"',
        ),
        (
            _spec(_without("runAsNonRoot"), {**_GOOD, "runAsNonRoot": False}),
            "runAsNonRoot != true",
            'container "b" must not set securityContext.runAsNonRoot=false',
        ),
        (
            _spec(_GOOD, _without("runAsNonRoot")),
            "runAsNonRoot != true",
            'pod or container "b" must set securityContext.runAsNonRoot=true',
        ),
        (
            _spec({**_GOOD, "runAsUser": 0}, securityContext={"runAsUser": 0}),
            "runAsUser=0",
            'pod and container "a" must not set runAsUser=0',
        ),
        (
            _spec(_without("seccompProfile"), _without("seccompProfile")),
            "seccompProfile",
            f'pod or containers "a", "b" must set {_SECCOMP} to "RuntimeDefault" or "Localhost"',
        ),
    ],
)
def test_what_restricted_adds(spec: dict[str, Any], title: str, detail: str) -> None:
    """What the baseline says of the same things is left out."""
    assert violations(spec, "restricted") == [(title, detail)]


@pytest.mark.parametrize(
    "spec",
    [
        _spec(_GOOD),
        _spec({**_GOOD, "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}),
        _spec(_without("runAsNonRoot"), securityContext={"runAsNonRoot": True}),
        _spec(_without("seccompProfile"), securityContext={"seccompProfile": {"type": "Localhost"}}),
        _spec({"runAsNonRoot": True}, os={"name": "windows"}),
        _spec({**_without("runAsNonRoot"), "runAsUser": 0}, hostUsers=False),
    ],
)
def test_what_is_restricted_enough(spec: dict[str, Any]) -> None:
    """The pod's word counts for containers without one; other systems and users have rules of their own."""
    assert violations(spec, "restricted") == []
