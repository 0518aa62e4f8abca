"""
The Pod Security Standards `baseline` and `restricted`, in their latest version.

Every check returns a description of the violation in a pod's spec, or "" if there is none.
Follows: kubernetes k8s.io/pod-security-admission policy. Differs: other versions are treated as the latest;
AppArmor annotations are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from handloop_sandbox.wire.causes import quoted
from handloop_sandbox.wire.field_rules import Object, entries, part

_Find = Callable[[Object], str]
_Exempt = Callable[[Object], bool]

LEVELS: Final = ("privileged", "baseline", "restricted")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CAPABILITIES: Final = _words(
    "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID "
    "SYS_CHROOT"
)
_IP: Final = "net.ipv4."
_SYSCTLS: Final = _words(
    f"kernel.shm_rmid_forced {_IP}ip_local_port_range {_IP}ip_local_reserved_ports "
    f"{_IP}ip_unprivileged_port_start {_IP}ping_group_range {_IP}tcp_fin_timeout {_IP}tcp_keepalive_intvl "
    f"{_IP}tcp_keepalive_probes {_IP}tcp_keepalive_time {_IP}tcp_rmem {_IP}tcp_syncookies {_IP}tcp_wmem"
)
_VOLUMES: Final = _words(
    "configMap csi downwardAPI emptyDir ephemeral image persistentVolumeClaim projected secret"
)
_SELINUX_TYPES: Final = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS: Final = ("postStart", "preStop")


class _Check(NamedTuple):
    """A check: the title of the violation, and a function that returns its details."""

    title: str
    find: _Find


def violations(spec: Object, level: str) -> list[tuple[str, str]]:
    """Return the title and details of each violation of a level in a pod's spec."""
    checks = {"baseline": _BASELINE, "restricted": _RESTRICTED}.get(level, ())
    found = ((check.title, check.find(spec)) for check in checks)
    return [(title, detail) for title, detail in found if detail]


def _containers(spec: Object) -> Iterator[Object]:
    for member in ("initContainers", "containers", "ephemeralContainers"):
        yield from entries(spec, member)


def _security(obj: Object) -> Object:
    return part(obj, "securityContext")


def _names(spec: Object, is_wrong: Callable[[Object], Any]) -> list[str]:
    return [entry.get("name", "") for entry in _containers(spec) if is_wrong(entry)]


def _list(values: Iterable[str]) -> str:
    return ", ".join(map(quoted, values))


def _counted(noun: str, values: Sequence[str]) -> str:
    """`container "a"`, or `containers "a", "b"`."""
    return f"{noun}{'s' if len(values) > 1 else ''} {_list(values)}"


def _who(spec: Object, is_wrong: Callable[[Object], Any]) -> str:
    """Name the pod and containers whose security context is wrong, or return "" if all are right."""
    names = _names(spec, lambda entry: is_wrong(_security(entry)))
    parts = ["pod"] if is_wrong(_security(spec)) else []
    return " and ".join([*parts, *([_counted("container", names)] if names else [])])


def _value(security: Object, member: str) -> Any:
    """Return a security context's field at a path such as `seccompProfile.type`."""
    *path, last = member.split(".")
    return part(security, *path).get(last)


def _is_windows(spec: Object) -> bool:
    return bool(part(spec, "os").get("name") == "windows")


def _has_own_users(spec: Object) -> bool:
    return spec.get("hostUsers") is False


def _never(_spec: Object) -> bool:
    return False


def _must_not(member: str, wrong: Any, told: str, unless: _Exempt = _never) -> _Find:
    """Return a check that no security context of a pod or its containers sets a field to a wrong value."""

    def find(spec: Object) -> str:
        who = "" if unless(spec) else _who(spec, lambda security: _value(security, member) == wrong)
        return f"{who} must not set {told}" if who else ""

    return find


def _each_must(member: str, wrong: Sequence[Any], told: str, unless: _Exempt = _never) -> _Find:
    """Return a check that a field has none of the wrong values in any container's security context."""

    def find(spec: Object) -> str:
        names = _names(spec, lambda entry: _value(_security(entry), member) in wrong)
        return f"{_counted('container', names)} must {told}" if names and not unless(spec) else ""

    return find


def _one_must_set(wrong: _Find, member: str, right: Sequence[Any], told: str, unless: _Exempt) -> _Find:
    """Return the check `wrong`, extended to require that the pod or each container sets the field."""

    def find(spec: Object) -> str:
        silent = _names(spec, lambda entry: _value(_security(entry), member) is None)
        if unless(spec):
            return ""
        if wrong(spec) or not silent or _value(_security(spec), member) in right:
            return wrong(spec)
        return f"pod or {_counted('container', silent)} must set {told}"

    return find


def _added(security: Object) -> list[str]:
    return list(entries(part(security, "capabilities"), "add"))


def _capabilities(allowed: frozenset[str]) -> _Find:
    def find(spec: Object) -> str:
        names = _names(spec, lambda entry: set(_added(_security(entry))) - allowed)
        wrong = {one for entry in _containers(spec) for one in _added(_security(entry))} - allowed
        told = f"must not include {_list(sorted(wrong))} in securityContext.capabilities.add"
        return f"{_counted('container', names)} {told}" if names else ""

    return find


def _dropped_and_added(spec: Object) -> str:
    if _is_windows(spec):
        return ""
    keep = _names(spec, lambda entry: "ALL" not in entries(part(_security(entry), "capabilities"), "drop"))
    drop = f'{_counted("container", keep)} must set securityContext.capabilities.drop=["ALL"]' if keep else ""
    return "; ".join(filter(None, (drop, _capabilities(frozenset({"NET_BIND_SERVICE"}))(spec))))


def _host_namespaces(spec: Object) -> str:
    return ", ".join(f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name))


def _host_paths(spec: Object) -> str:
    names = [entry["name"] for entry in entries(spec, "volumes") if entry.get("hostPath") is not None]
    return _counted("volume", names) if names else ""


def _volume_types(spec: Object) -> str:
    types = {
        volume["name"]: sorted(
            {key for key, value in volume.items() if value is not None} - _VOLUMES - {"name"}
        )
        for volume in entries(spec, "volumes")
    }
    wrong = {name: found[0] for name, found in types.items() if found}
    used = _counted("restricted volume type", sorted(set(wrong.values())))
    return f"{_counted('volume', list(wrong))} {_uses(wrong)} {used}" if wrong else ""


def _uses(users: Iterable[str]) -> str:
    return "use" if len(list(users)) > 1 else "uses"


def _host_ports(spec: Object) -> str:
    ports = {
        entry.get("name", ""): [port["hostPort"] for port in entries(entry, "ports") if port.get("hostPort")]
        for entry in _containers(spec)
    }
    names = [name for name, found in ports.items() if found]
    shown = sorted({str(port) for found in ports.values() for port in found})
    used = f"hostPort{'s' if len(shown) > 1 else ''} {', '.join(shown)}"
    return f"{_counted('container', names)} {_uses(names)} {used}" if names else ""


def _hosts_of(container: Object) -> set[str]:
    actions = [part(container, name) for name in _PROBES]
    actions += [part(container, "lifecycle", name) for name in _HOOKS]
    found = {part(action, kind).get("host", "") for action in actions for kind in ("httpGet", "tcpSocket")}
    return found - {"", None}


def _probed_hosts(spec: Object) -> str:
    names = _names(spec, _hosts_of)
    hosts = sorted({host for entry in _containers(spec) for host in _hosts_of(entry)})
    used = _counted("probe or lifecycle host", hosts)
    return f"{_counted('container', names)} {_uses(names)} {used}" if names else ""


def _selinux(spec: Object) -> str:
    def options(security: Object) -> Object:
        return part(security, "seLinuxOptions")

    def is_wrong(security: Object) -> bool:
        found = options(security)
        return bool(found.get("type", "") not in _SELINUX_TYPES or found.get("user") or found.get("role"))

    who = _who(spec, is_wrong)
    found = [options(_security(entry)) for entry in (spec, *_containers(spec))]
    types = sorted({entry.get("type", "") for entry in found} - set(_SELINUX_TYPES))
    told = [_counted("type", types)] if types else []
    told += [f"{name} may not be set" for name in ("user", "role") if any(entry.get(name) for entry in found)]
    return f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(told)}" if who else ""


def _sysctls(spec: Object) -> str:
    names = [entry.get("name", "") for entry in entries(_security(spec), "sysctls")]
    return ", ".join(name for name in names if name not in _SYSCTLS)


_PROFILE: Final = "seccompProfile.type"
_SECCOMP: Final = f"securityContext.{_PROFILE} to"
_UNCONFINED: Final = _Check("seccompProfile", _must_not(_PROFILE, "Unconfined", f'{_SECCOMP} "Unconfined"'))
_HOST_PATHS: Final = _Check("hostPath volumes", _host_paths)
_OTHER_CAPABILITIES: Final = _Check("non-default capabilities", _capabilities(_CAPABILITIES))
_NO_APP_ARMOR: Final = _must_not(
    "appArmorProfile.type", "Unconfined", 'AppArmor profile type to "Unconfined"'
)
_HOST_PROCESS: Final = "windowsOptions.hostProcess"
_UNMASKED: Final = 'not set securityContext.procMount to "Unmasked"'
_BASELINE: Final = (
    _Check("forbidden AppArmor profile", _NO_APP_ARMOR),
    _OTHER_CAPABILITIES,
    _Check("host namespaces", _host_namespaces),
    _HOST_PATHS,
    _Check("hostPort", _host_ports),
    _Check("probe or lifecycle host", _probed_hosts),
    _Check("privileged", _each_must("privileged", (True,), "not set securityContext.privileged=true")),
    _Check("procMount", _each_must("procMount", ("Unmasked",), _UNMASKED, _has_own_users)),
    _Check("seLinuxOptions", _selinux),
    _UNCONFINED,
    _Check("forbidden sysctls", _sysctls),
    _Check("hostProcess", _must_not(_HOST_PROCESS, True, f"securityContext.{_HOST_PROCESS}=true")),
)
_ESCALATION: Final = "allowPrivilegeEscalation"
_NO_ESCALATION: Final = f"set securityContext.{_ESCALATION}=false"
_NON_ROOT: Final = "securityContext.runAsNonRoot"
_NOT_FALSE: Final = _must_not("runAsNonRoot", False, f"{_NON_ROOT}=false")
_KINDS: Final = ("RuntimeDefault", "Localhost")
_ONE_KIND: Final = f'{_SECCOMP} "RuntimeDefault" or "Localhost"'
_RESTRICTED: Final = (
    *(check for check in _BASELINE if check not in (_UNCONFINED, _HOST_PATHS, _OTHER_CAPABILITIES)),
    _Check(f"{_ESCALATION} != false", _each_must(_ESCALATION, (None, True), _NO_ESCALATION, _is_windows)),
    _Check("unrestricted capabilities", _dropped_and_added),
    _Check("restricted volume types", _volume_types),
    _Check(
        "runAsNonRoot != true",
        _one_must_set(_NOT_FALSE, "runAsNonRoot", (True,), f"{_NON_ROOT}=true", _has_own_users),
    ),
    _Check("runAsUser=0", _must_not("runAsUser", 0, "runAsUser=0", _has_own_users)),
    _Check("seccompProfile", _one_must_set(_UNCONFINED.find, _PROFILE, _KINDS, _ONE_KIND, _is_windows)),
)
