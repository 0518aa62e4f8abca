"""Pods, and what serves or bounds them, that a server refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from support.builders.misfits import Misfit, Object

_CONTAINER: Final[Object] = {"name": "a", "image": "a"}


def _pod(*complaints: str, **spec: Any) -> Misfit:
    content = {"spec": {"containers": [_CONTAINER], **spec}}
    return Misfit("v1", "Pod", "pods", content, [f"spec.{complaint}" for complaint in complaints])


def _volume(complaint: str, **source: Any) -> Misfit:
    return _pod(f"volumes[0].{complaint}", volumes=[{"name": "v", **source}])


def _context(*complaints: str, **context: Any) -> Misfit:
    return _pod(*(f"securityContext.{complaint}" for complaint in complaints), securityContext=context)


def _container(complaint: str, **members: Any) -> Misfit:
    return _pod(f"containers[0].{complaint}", containers=[{**_CONTAINER, **members}])


def _node(complaint: str, term: Object) -> Misfit:
    needed = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = {"nodeAffinity": {needed: {"nodeSelectorTerms": [term]}}}
    return _pod(f"affinity.nodeAffinity.{needed}.nodeSelectorTerms[0].{complaint}", affinity=affinity)


def _schedule(schedule: str, complaint: str, **spec: Any) -> Misfit:
    pod = {"spec": {"restartPolicy": "Never", "containers": [_CONTAINER]}}
    content = {"spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": pod}}, **spec}}
    return Misfit("batch/v1", "CronJob", "cronjobs", content, [complaint])


def _bad_schedule(schedule: str, words: str) -> Misfit:
    return _schedule(schedule, f'spec.schedule: Invalid value: "{schedule}": {words}')


def _quota(*complaints: str, **spec: Any) -> Misfit:
    return Misfit("v1", "ResourceQuota", "resourcequotas", {"spec": spec}, list(complaints))


def _slice(*complaints: str, **members: Any) -> Misfit:
    content = {"addressType": "IPv4", "endpoints": [], **members}
    return Misfit("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", content, list(complaints))


def _address(address: str, complaint: str, kind: str = "IPv4") -> Misfit:
    where = f"endpoints[0].addresses{complaint}"
    return _slice(where, addressType=kind, endpoints=[{"addresses": [address]}])


def _volumes() -> Iterator[Misfit]:
    yield _volume("hostPath: Forbidden: may not specify more than", emptyDir={}, hostPath={"path": "/a"})
    yield _volume("hostPath.type: Unsupported value", hostPath={"path": "/a", "type": "x"})
    yield _volume('nfs.path: Invalid value: "a": must be an absolute path', nfs={"server": "s", "path": "a"})
    yield _volume("persistentDisk.pdName: Required", gcePersistentDisk={})
    yield _volume("csi.driver: Required", csi={})
    yield _volume("fc.lun: Required", fc={"targetWWNs": ["a"]})
    yield _volume("emptyDir.sizeLimit: Forbidden", emptyDir={"sizeLimit": "-1"})
    yield _volume("configMap.defaultMode: Invalid value: 512", configMap={"name": "a", "defaultMode": 512})
    item = {"key": "a", "path": "../b"}
    yield _volume("secret.items[0].path: Invalid", secret={"secretName": "a", "items": [item]})
    yield _volume("downwardAPI: Required value: one of fieldRef", downwardAPI={"items": [{"path": "a"}]})
    short = {"serviceAccountToken": {"path": "a", "expirationSeconds": 5}}
    yield _volume(
        "projected.sources[0].serviceAccountToken.expirationSeconds: Invalid", projected={"sources": [short]}
    )
    spec = {"accessModes": ["x"], "resources": {"requests": {"storage": "1Gi"}}}
    yield _volume(
        "ephemeral.volumeClaimTemplate.spec.accessModes: Unsupported",
        ephemeral={"volumeClaimTemplate": {"spec": spec}},
    )


def _settings() -> Iterator[Misfit]:
    yield _context("seccompProfile.type: Unsupported", seccompProfile={"type": "x"})
    yield _context("seccompProfile.localhostProfile: Required", seccompProfile={"type": "Localhost"})
    yield _context("appArmorProfile.type: Required", appArmorProfile={})
    yield _context("fsGroupChangePolicy: Unsupported", fsGroupChangePolicy="x")
    yield _context("supplementalGroups[0]: Invalid value: -1", supplementalGroups=[-1])
    yield _context("sysctls[0].name: Invalid", sysctls=[{"name": "a b", "value": "x"}])
    context = {"allowPrivilegeEscalation": False, "capabilities": {"add": ["CAP_SYS_ADMIN"]}}
    yield _container(
        'securityContext: Invalid value: {"Capabilities":{"Add":["CAP_SYS_ADMIN"],"Drop":null},',
        securityContext=context,
    )
    yield _container("securityContext.procMount: Unsupported", securityContext={"procMount": "x"})
    yield _container("volumeDevices[0].name: Not found", volumeDevices=[{"name": "v", "devicePath": "/d"}])
    yield _pod("dnsConfig: Required", dnsPolicy="None")
    yield _pod("hostAliases[0].ip: Invalid", hostAliases=[{"ip": "x"}])
    yield _pod("schedulingGates[1]: Duplicate", schedulingGates=[{"name": "a"}, {"name": "a"}])
    yield _pod("os: Unsupported", os={"name": "x"})
    yield _pod("hostNetwork: Forbidden", hostNetwork=True, hostUsers=False)
    empty = {"key": "a", "operator": "In"}
    yield _node("matchExpressions[0].values: Required", {"matchExpressions": [empty]})
    name = {"key": "x", "operator": "In", "values": ["a"]}
    yield _node("matchFields[0].key: Invalid", {"matchFields": [name]})


def _others() -> Iterator[Misfit]:
    yield _bad_schedule("60 * * * *", "end of range (60) above maximum (59): 60")
    yield _bad_schedule("* * * * *x", "failed to parse int from *x: strconv.Atoi")
    yield _bad_schedule("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1")
    yield _bad_schedule("*/0 * * * *", "step of range should be a positive number: */0")
    yield _bad_schedule("TZ=UTC * * * * *", "cannot use TZ or CRON_TZ in schedule")
    yield _schedule("@hourly", 'spec.timeZone: Invalid value: "nowhere"', timeZone="nowhere")
    yield _quota('spec.scopes: Invalid value: ["x"]: unsupported scope', scopes=["x"])
    yield _quota("spec.scopes: Invalid", scopes=["BestEffort"], hard={"cpu": "1"})
    yield _quota("spec.hard[x]: Invalid", "spec.hard[x]: Invalid", hard={"x": "1"})
    yield _quota('spec.hard[pods]: Invalid value: "1500m": must be an integer', hard={"pods": "1.5"})
    term = {"scopeName": "PriorityClass", "operator": "In"}
    yield _quota(
        "spec.scopeSelector.matchExpressions.values: Required", scopeSelector={"matchExpressions": [term]}
    )
    yield _slice("addressType: Unsupported", addressType="x")
    yield _slice("endpoints[0].addresses: Required", endpoints=[{"addresses": []}])
    yield _address("127.0.0.1", '[0]: Invalid value: "127.0.0.1": may not be in the loopback range')
    yield _address("::2", ': Invalid value: "::2": must be an IPv4 address')
    yield _address("a", '[0]: Invalid value: "a": should be a domain', "FQDN")
    yield _slice("ports[1].name: Duplicate", ports=[{"port": 1}, {"port": 2}])
    subset = {"ports": [{"port": 1}]}
    yield Misfit("v1", "Endpoints", "endpoints", {"subsets": [subset]}, ["subsets[0]: Required"])


POD_MISFITS: Final = (*_volumes(), *_settings(), *_others())
