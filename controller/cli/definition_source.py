"""Reads definitions to compare: from a file, a folder, a git revision, or a cluster."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import yaml

from handloop.apis.grammar.yaml_text import from_yaml
from handloop.client.config import ClientConfig
from handloop.client.transport import HTTPTransport

Definitions = dict[str, Mapping[str, Any]]
"""Definitions by their names, such as `sites.example.org`."""

CLUSTER: Final = "cluster"
_GIT: Final = "git:"
_FOLDER: Final = "manifests/crd"
"""The folder with a project's definitions."""
DEFINITIONS_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_NOT_FOUND: Final = 404
_OK: Final = 200


class SourceError(Exception):
    """A source of definitions cannot be read or contains no definition. The message says why."""


def of_files(place: str) -> Definitions:
    """
    Read the definitions in a file, in a folder's YAML and JSON files, or in `git:REV` or `git:REV:PATH`.

    Raises: SourceError if they cannot be read, or if there are none.
    """
    try:
        texts = _of_git(place.removeprefix(_GIT)) if place.startswith(_GIT) else _of_path(Path(place))
        found = {name: each for text in texts for name, each in _in(text)}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise SourceError(f"{place}: {error}") from error
    except subprocess.CalledProcessError as error:
        raise SourceError(f"{place}: {error.stderr.strip() or error}") from error
    if not found:
        raise SourceError(f"{place} has no CustomResourceDefinition")
    return found


def of_cluster(config: ClientConfig, names: Iterable[str]) -> Definitions:
    """
    Read the named definitions from a cluster.

    Raises: SourceError if an answer is neither 200 nor 404; TransportError if a request gets no response.
    Blocks: while it sends one request per name.
    """
    found: Definitions = {}
    with closing(HTTPTransport(config)) as transport:
        for name in names:
            answer = transport.request("GET", f"{DEFINITIONS_PATH}/{quote(name, safe='')}")
            if answer.status == _OK:
                found[name] = json.loads(answer.body)
            elif answer.status != _NOT_FOUND:
                raise SourceError(f"{name}: the cluster answers {answer.status}: {message_of(answer.body)}")
    return found


def message_of(body: bytes) -> str:
    """Return the message of a Status, or the start of the body if it is not a Status."""
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body.decode(errors="replace")[:200]


def _of_path(path: Path) -> Iterator[str]:
    if not path.is_dir():
        yield path.read_text(encoding="utf-8")
        return
    for each in sorted(path.rglob("*")):
        if each.suffix in (".yaml", ".yml", ".json") and each.is_file():
            yield each.read_text(encoding="utf-8")


def _of_git(place: str) -> Iterator[str]:
    """Raises: CalledProcessError with git's message if git fails; ValueError if place names no revision."""
    revision, _, path = place.partition(":")
    if not revision or revision.startswith("-"):
        raise ValueError("write git:REV, or git:REV:PATH, such as git:v1.0.0")
    names = _git("ls-tree", "-r", "--name-only", "-z", revision, "--", path or _FOLDER).split("\0")
    for name in names:
        if name.endswith((".yaml", ".yml", ".json")):
            yield _git("show", f"{revision}:./{name}")


def _git(*words: str) -> str:
    command = ["git", *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)  # noqa: S603 - git
    return ended.stdout


def _in(text: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the definitions among a text's documents, including the items of a List."""
    documents: Sequence[Any] = from_yaml(text)
    for document in documents:
        items = document.get("items") if isinstance(document, dict) else None
        for each in items if isinstance(items, list) else [document]:
            if isinstance(each, dict) and each.get("kind") == "CustomResourceDefinition":
                name = (each.get("metadata") or {}).get("name")
                if isinstance(name, str):
                    yield name, each
