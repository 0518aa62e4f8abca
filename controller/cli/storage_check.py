"""
Checks how a program affects objects stored in a version other than its own, for example after a rollback.

The server decodes an object in the requested version and stores the result. With the strategy None, every
write, even of the status, erases the fields that the program's version lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from handloop.apis.compatibility.schema_changes import lost_paths
from handloop.apis.meta import Kind
from handloop.apis.resource import Resource
from handloop.apis.versions import is_converted, versions_of
from handloop.client.errors import ClientError
from handloop.client.published_schema import PublishedSchemas, Schema
from handloop.client.resource_client import Client
from handloop.controller.cli.problems import EXIT_NO_CRD, EXIT_OK, Problem

_SHOWN: Final = 8
_WEBHOOK: Final = "Webhook"


def storage_problems(client: Client, kind: type[Kind], storage: str) -> Iterator[Problem]:
    """
    Yield E21 for each stored version that has fields which the program's own version would lose.

    Args: storage is the current storage version, or "" if unknown.
    Blocks: for two requests, and two more for each version. Raises: the errors of Discovery, except those
    about OpenAPI.
    """
    own, discovery = kind.resource, client.discovery()
    strategy = discovery.conversion_strategy(own)
    # An older version than the program's loses no fields, unless it is the storage version.
    harmless = {version.resource.version for version in versions_of(kind)}
    if not is_converted(kind):
        harmless = {own.version, *(harmless - {storage})}
    for version in dict.fromkeys([storage, *discovery.stored_versions(own)]):
        if not version or version in harmless:
            continue
        if strategy == _WEBHOOK:
            yield _needs_webhook(own, version)
            continue
        ours, theirs = (_schema(client, own._replace(version=each)) for each in (own.version, version))
        if ours is None or theirs is None:
            yield _unknown(own, version)
            continue
        unstored = [*lost_paths(ours, theirs)] if version == storage else []
        if (erased := [*lost_paths(theirs, ours)]) or unstored:
            yield _loses(own, version, strategy, erased, unstored)


def _schema(client: Client, resource: Resource) -> Schema | None:
    """Return the schema that the server publishes, or None. The server publishes changes with a delay."""
    try:
        found = PublishedSchemas.fetch(client, resource.group, resource.version).find(resource, {})
    except ClientError:
        return None
    return None if found is None else found.schema


def _loses(
    own: Resource, version: str, strategy: str, erased: Sequence[str], unstored: Sequence[str]
) -> Problem:
    told = [f"each write, even of the status, erases: {_listed(erased)}"] if erased else []
    told += (
        [f"the server drops these fields from this program's writes: {_listed(unstored)}"] if unstored else []
    )
    copied = f"no function converts between {version} and {own.version}"
    unless = "" if strategy else ", unless a webhook does (there is no permission to read the definition)"
    keep = f"kubectl get {own.plural}.{version}.{own.group} -A -o yaml"
    return Problem(
        code="E21",
        exit_code=EXIT_NO_CRD,
        what=_stored_as(own, version),
        causes=(*told, f"{copied} (strategy None){unless}"),
        fixes=(
            f"run the release whose newest version is {version}",
            f"before this program writes, save the objects: {keep}",
        ),
    )


def _unknown(own: Resource, version: str) -> Problem:
    cause = f"each write erases the fields that {own.version} lacks; the server does not say which these are"
    return _warning(own, version, cause, f"run the release whose newest version is {version}")


def _needs_webhook(own: Resource, version: str) -> Problem:
    cause = f"this program does not convert {version}: run the release that does"
    alone = "and make the webhook's Service select only that replica"
    fix = f"keep a replica of the release whose newest version is {version} running, {alone}"
    return _warning(own, version, cause, fix)


def _warning(own: Resource, version: str, cause: str, fix: str) -> Problem:
    return Problem(
        code="E21",
        exit_code=EXIT_OK,
        severity="warning",
        what=_stored_as(own, version),
        causes=(cause,),
        fixes=(fix,),
    )


def _stored_as(own: Resource, version: str) -> str:
    return f"objects of {own.group_resource} may be stored as {version}; the program works with {own.version}"


def _listed(paths: Sequence[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
