"""
Reads, checks and merges kubeconfig files as kubectl does.

For clusters, users and contexts, the first file that defines a name provides its whole entry. The current
context comes from the first file that sets one. Relative paths are resolved against their file's folder.
Follows: client-go tools/clientcmd/loader.go @32ce75a7d, differs: it names the line of an error, keeps YAML
scalars as the strings that were typed (a context called `no` is `no`), reads at most 1 MiB, and waits for a
pipe for at most a minute.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

import msgspec
import yaml

from handloop.apis.decoders import converted
from handloop.client.auth.bounded_file import read_bounded
from handloop.client.errors import ConfigError, ConfigProblem

PIPE_SECONDS: Final = 60.0
"""The limit is long because the program in `<(...)` may wait for a person to log in."""
_DEPTH_LIMIT: Final = 50
_PATHS: Final = ("certificate_authority", "client_certificate", "client_key", "token_file")
_RESOLVED_TAGS: Final = ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Loads maps, lists, strings and null. Any other plain scalar stays a string."""

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag in _RESOLVED_TAGS]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


class _Section(msgspec.Struct, frozen=True, rename="kebab"):
    """A part of a kubeconfig. The file has its keys in kebab-case."""


class Cluster(_Section, frozen=True):
    """
    An API server's address, and how to trust it.

    The `*_data` fields are base64; flags are the strings true and false.
    """

    server: str = ""
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    insecure_skip_tls_verify: str = ""
    tls_server_name: str = ""
    proxy_url: str = ""
    disable_compression: str = ""


class User(_Section, frozen=True):
    """A user's credentials. exec and auth_provider are stored as they are in the file."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    username: str = ""
    password: str = ""
    exec: dict[str, Any] | None = None
    auth_provider: dict[str, Any] | None = None
    act_as: str = msgspec.field(default="", name="as")
    act_as_uid: str = msgspec.field(default="", name="as-uid")
    act_as_groups: list[str] = msgspec.field(default_factory=list, name="as-groups")
    act_as_extra: dict[str, list[str]] = msgspec.field(default_factory=dict, name="as-user-extra")

    def __repr__(self) -> str:
        return "User(...)"


class Context(_Section, frozen=True):
    """A cluster, a user and a namespace, by name."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class Kubeconfig(msgspec.Struct, frozen=True):
    """
    One kubeconfig file, or several merged ones.

    cluster_texts maps each cluster's name to the text of its file; user_files maps each user's name to the
    path of its file.
    """

    current_context: str = ""
    clusters: Mapping[str, Cluster] = {}
    users: Mapping[str, User] = {}
    contexts: Mapping[str, Context] = {}
    cluster_texts: Mapping[str, str] = {}
    user_files: Mapping[str, str] = {}
    files: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing is configured."""
        return not (self.current_context or self.clusters or self.users or self.contexts)

    def __repr__(self) -> str:
        return f"Kubeconfig(files={self.files})"


def read_kubeconfig(path: str, *, required: bool = True, stop: threading.Event | None = None) -> Kubeconfig:
    """
    Load one file or pipe.

    Args: if required is false, a missing or empty file counts as an empty configuration.
    Raises: ConfigError that names the file and the line or field.
    Blocks: if path is a pipe, until its end, for at most a minute. stop ends the wait.
    """
    text = _read(path, required=required, stop=stop or threading.Event())
    document = _parse(path, text)
    if document is None:
        if required:
            raise _unreadable(path, "is empty")
        return Kubeconfig(files=(path,) if text is not None else ())
    if not isinstance(document, dict):
        raise _malformed(path, f"expected a map at the top, got {_shape(document)}")
    if (document.get("kind") or "Config") != "Config":
        raise _malformed(path, f"this is a {document['kind']}, not a kubeconfig")
    return _resolve(path, document, text or "")


def raw_cluster(text: str, name: str) -> Any:
    """Return a cluster's entry with its YAML types, for an exec plugin. text is the content of the file."""
    words, typed = yaml.load(text, Loader=_Loader), yaml.safe_load(text)  # noqa: S506 - a safe loader with fewer types
    names = [entry["name"] for entry in words["clusters"]]
    return typed["clusters"][names.index(name)]["cluster"]


def merge(configs: Iterable[Kubeconfig]) -> Kubeconfig:
    """Merge files. If several files set the same value, the first file wins."""
    merged = Kubeconfig()
    for config in configs:
        merged = Kubeconfig(
            current_context=merged.current_context or config.current_context,
            clusters={**config.clusters, **merged.clusters},
            users={**config.users, **merged.users},
            contexts={**config.contexts, **merged.contexts},
            cluster_texts={**config.cluster_texts, **merged.cluster_texts},
            user_files={**config.user_files, **merged.user_files},
            files=merged.files + config.files,
        )
    return merged


def _read(path: str, *, required: bool, stop: threading.Event) -> str | None:
    try:
        content = read_bounded(path, seconds=PIPE_SECONDS, stop=stop)
    except FileNotFoundError:
        if not required:
            return None
        raise _unreadable(path, "no such file") from None
    except OSError as error:
        words = error.strerror or str(error)
        late = isinstance(error, TimeoutError)
        fix = f"end the program that writes to {path}, or save its output in a file first" if late else ""
        raise _unreadable(path, words[:1].lower() + words[1:], fix=fix) from error
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _malformed(path, f"not UTF-8 text (byte {error.start})") from error


def _parse(path: str, text: str | None) -> Any:
    if text is None:
        return None
    try:
        _require_shallow(path, text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader with fewer types
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _malformed(path, error.problem or "not YAML", line=mark.line + 1 if mark else None) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise _malformed(path, str(error).splitlines()[0] if str(error) else "not YAML") from error


def _require_shallow(path: str, text: str) -> None:
    """Check how deeply a file is nested before loading it: the fast YAML reader recurses without limit."""
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEPTH_LIMIT:
                raise _malformed(path, f"nested more than {_DEPTH_LIMIT} levels deep")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _resolve(path: str, document: dict[str, Any], text: str) -> Kubeconfig:
    clusters = _named(path, document, "clusters", "cluster")
    users = _named(path, document, "users", "user")
    contexts = _named(path, document, "contexts", "context")
    return Kubeconfig(
        current_context=_scalar(path, document, "current-context"),
        clusters=_sections(path, "clusters", clusters, Cluster),
        users=_sections(path, "users", users, User),
        contexts=_sections(path, "contexts", contexts, Context),
        cluster_texts=dict.fromkeys(clusters, text),
        user_files=dict.fromkeys(users, path),
        files=(path,),
    )


def _named(path: str, document: dict[str, Any], plural: str, singular: str) -> dict[str, dict[str, Any]]:
    entries = document.get(plural) or []
    if not isinstance(entries, list):
        raise _malformed(path, f"{plural}: expected a list, got {_shape(entries)}")
    found: dict[str, dict[str, Any]] = {}
    for index, entry in enumerate(entries):
        where = f"{plural}[{index}]"
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
            raise _malformed(path, f"{where}: expected a map with a name")
        body = entry.get(singular) or {}
        if not isinstance(body, dict):
            raise _malformed(path, f"{where}.{singular}: expected a map, got {_shape(body)}")
        if entry["name"] in found:
            raise _malformed(path, f'{where}: the name "{entry["name"]}" is used twice')
        found[entry["name"]] = body
    return found


def _sections(path: str, plural: str, entries: dict[str, dict[str, Any]], kind: Any) -> dict[str, Any]:
    folder = Path(path).absolute().parent
    return {
        name: _with_paths(_convert(path, f"{plural}[{name}]", entry, kind), folder)
        for name, entry in entries.items()
    }


def _convert(path: str, where: str, entry: dict[str, Any], kind: Any) -> Any:
    filled = {key: value for key, value in entry.items() if value is not None}
    try:
        return converted(filled, kind)
    except msgspec.ValidationError as error:
        words, _, place = str(error).replace(" | null", "").partition(" - at `$")
        raise _malformed(path, f"{where}{place.rstrip('`')}: {words[:1].lower()}{words[1:]}") from error


def _with_paths(section: Any, folder: Path) -> Any:
    given = {field: getattr(section, field, "") for field in _PATHS}
    changes = {field: os.path.normpath(folder / value) for field, value in given.items() if value}
    return msgspec.structs.replace(section, **changes)


def _scalar(path: str, document: dict[str, Any], key: str) -> str:
    value = document.get(key) or ""
    if not isinstance(value, str):
        raise _malformed(path, f"{key}: expected a name, got {_shape(value)}")
    return value


def _shape(value: object) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a map"
    return "a single value"


def _malformed(path: str, cause: str, *, line: int | None = None) -> ConfigError:
    where = f"line {line}: {cause}" if line is not None else cause
    return ConfigError(
        ConfigProblem.MALFORMED,
        f"kubeconfig {path} is not valid",
        cause=where,
        fix=f"correct it, or check it with: kubectl config view --kubeconfig {path}",
        path=path,
        line=line,
    )


def _unreadable(path: str, cause: str, *, fix: str = "") -> ConfigError:
    fix = fix or _usual_slip(path)
    return ConfigError(ConfigProblem.UNREADABLE, f"kubeconfig {path}", cause=cause, fix=fix, path=path)


def _usual_slip(path: str) -> str:
    if path.startswith("~"):
        whole = os.path.expanduser(path)  # noqa: PTH111 - Path's raises for a user who does not exist
        return f'the shell did not expand "~": write {"the whole path" if whole == path else whole}'
    if os.pathsep in path and not Path(path).exists():
        return "--kubeconfig takes one file; a list belongs in $KUBECONFIG"
    return f"check the path: ls -l {path}"
