"""The permissions that the program needs, the commands that grant them, and E09 for those that it lacks."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from handloop.client.access_review import Permission
from handloop.controller.cli.options import FLAGS, Options, spelling
from handloop.controller.cli.problems import EXIT_FORBIDDEN, Problem
from handloop.controller.runtime.rbac.access import Access
from handloop.controller.runtime.rbac.roles import ROLE_NAME, RolePlace, grouped

_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


class Need(NamedTuple):
    """One permission, and the role that grants it. `rbac` prints that role."""

    permission: Permission
    role: RolePlace

    @property
    def what(self) -> str:
        """
        The permission without its namespace.

        Examples: `update foos.samplecontroller.k8s.io/status`, `get leases.coordination.k8s.io "handloop"`.
        """
        verb, resource, _, subresource, name = self.permission
        shown = resource.group_resource + (f"/{subresource}" if subresource else "")
        return f'{verb} {shown} "{name}"' if name else f"{verb} {shown}"

    @property
    def scope(self) -> str:
        """Where the permission applies: `in namespace "demo"` or `at cluster scope`."""
        namespace = self.permission.namespace
        return f'in namespace "{namespace}"' if namespace else "at cluster scope"


def needs(access: Iterable[Access], namespaces: Sequence[str] = (), *, name: str = ROLE_NAME) -> list[Need]:
    """Return one Need for each verb, resource, name and namespace. Args: name is the name of the roles."""
    return [
        Need(Permission(verb, entry.resource, place.namespace or "", entry.subresource, name), place)
        for place, entries in grouped(access, namespaces=namespaces, name=name).items()
        for entry in entries
        for verb in entry.verbs
        for name in entry.names or ("",)
    ]


def missing_permissions(user: str, denied: Sequence[Need], total: int, command: str) -> Problem:
    """
    Return the problem E09, which lists all missing permissions.

    Args: total is the number of permissions that were checked. command prints the roles that grant them.
    """
    first = denied[0]
    listed = ", ".join(
        need.what if need.scope == first.scope else f"{need.what} {need.scope}" for need in denied
    )
    places = dict.fromkeys(need.role for need in denied)
    fixes = [f"{command} | kubectl apply -f -", *(_binding(user, place) for place in places)]
    if user.startswith(_SERVICE_ACCOUNT) and user.endswith(":default"):
        fixes.append("the ServiceAccount is `default`: set serviceAccountName in the Deployment")
    return Problem(
        code="E09",
        exit_code=EXIT_FORBIDDEN,
        what=f'"{user}" may not {first.what} {first.scope}',
        causes=(f"missing {len(denied)} of {total} permissions: {listed}",),
        fixes=tuple(fixes),
    )


def _binding(user: str, place: RolePlace) -> str:
    """Return the command that binds a role to a user."""
    account = user.removeprefix(_SERVICE_ACCOUNT)
    flag = "--user" if account == user else "--serviceaccount"
    subject = f"{flag}={shlex.quote(account)}"
    if place.namespace is None:
        return f"kubectl create clusterrolebinding {place.name} --clusterrole={place.name} {subject}"
    where = f"-n {shlex.quote(place.namespace)} " if place.namespace else ""
    return f"kubectl {where}create rolebinding {place.name} --role={place.name} {subject}"


def rbac_command(options: Options) -> str:
    """Return the command that prints the roles for these options."""
    words, default = [options.operator.rbac_command], Options(operator=options.operator)
    for name, flag in FLAGS.items():
        value = getattr(options, name)
        if "manifests" in flag.commands and value != getattr(default, name):
            words += _typed(name, value)
    return " ".join(words)


def _typed(name: str, value: object) -> list[str]:
    """Return an option as people type it."""
    if name == "namespace":
        return ["-n", shlex.quote(str(value))]
    if isinstance(value, bool):
        return [spelling(name) if value else f"{spelling(name)}=false"]
    words = ",".join(value) if isinstance(value, tuple) else str(value)
    return [f"{spelling(name)}={shlex.quote(words)}"]
