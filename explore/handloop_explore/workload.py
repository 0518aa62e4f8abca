"""The workload of a run, which is a list of steps in which users create, change and delete objects."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, overload

import msgspec

from handloop.apis.crd import custom_resource_definition
from handloop.apis.grammar.yaml_text import from_yaml
from handloop.apis.meta import Kind, encode_hook
from handloop.controller.runtime.sharding.shards import Shards
from handloop.seams.logs import in_words
from handloop_explore.cluster import VirtualCluster
from handloop_explore.ignored import Ignored

Holds: TypeAlias = Callable[[VirtualCluster], object]
"""A function that receives the cluster at the end of a run. It returns a true value if all is well."""

Manifest: TypeAlias = Mapping[str, Any] | Kind | str | Path
"""An object as a dict, as an instance of its kind's class, or as the path of a YAML file."""


@dataclass(frozen=True)
class Step:
    """
    One step of a workload. words: its description; do: a function that carries it out, or None at a
    settled().

    expect: at a settled(), invariants that must hold after the operator has had time to finish. refused: the
    `Kind name` of an object whose deletion the operator is supposed to refuse, or "".
    """

    words: str
    do: Callable[[VirtualCluster], object] | None
    expect: Sequence[Invariant] = ()
    refused: str = ""


@dataclass(frozen=True)
class Workload:
    """
    An operator, and the steps that users take while it runs.

    Args: set_up: adds the operator's controllers to a Manager. steps: carried out one after the other.
    seconds: the virtual time that the operator has after each step. settle_seconds: the virtual time that it
    has at settled() and at the end, where the cluster is compared with that of the undisturbed run.
    remembers: whether the end state may depend on earlier states of the spec, for example because each change
    creates a Job. replicas: how many processes the operator has; if several, only the holder of a Lease
    works. shards: if given, each process works on the slots that it holds instead, and all processes but the
    first join later. deadline_seconds: the longest time that a reconcile can run. ignore: fields to exclude
    from comparisons, such as `secrets:data.password`, or all objects of a kind, such as `jobs`; values that
    depend on chance or time are always excluded. definitions: other programs' CRDs, which are installed at
    the beginning. outside: fakes of systems outside the cluster, whose state outlives the operator's
    processes.
    """

    set_up: Callable[[Any], object]
    steps: Sequence[Step]
    seconds: float = 20.0
    settle_seconds: float = 600.0
    remembers: bool = False
    replicas: int = 1
    shards: Shards | None = None
    deadline_seconds: float = 300.0
    ignore: Sequence[str] = ()
    definitions: Sequence[Manifest] = ()
    outside: Sequence[object] = ()

    def defined(self, kinds: Iterable[type[Kind]]) -> list[dict[str, Any]]:
        """Return the CRDs of some kinds, and the CRDs in `definitions`, one per name."""
        ours = map(custom_resource_definition, kinds)
        found = {one["metadata"]["name"]: one for one in (*ours, *map(document_of, self.definitions))}
        return list(found.values())

    @property
    def depends(self) -> bool:
        """Whether the end state depends on the time at which the operator starts."""
        return self.remembers or any(step.refused for step in self.steps)

    @cached_property
    def ignored(self) -> Sequence[Ignored]:
        """The entries of `ignore`, parsed. Raises: ValueError if an entry is invalid."""
        return [Ignored.parse(one) for one in self.ignore]


@dataclass(frozen=True)
class Invariant:
    """A condition at the end of every run. It is met if holds(cluster) returns a true value."""

    words: str
    holds: Holds


@overload
def invariant(words: Holds, /) -> Invariant: ...


@overload
def invariant(words: str, holds: Holds, /) -> Invariant: ...


def invariant(words: str | Holds, holds: Holds | None = None, /) -> Invariant:
    """
    Return an invariant, which must hold at the end of every run. words_of() describes it by default.

        invariant("a Foo is there", lambda cluster: cluster.find(FOO))

    Raises: TypeError if a description is given without a function.
    """
    if not isinstance(words, str):
        return Invariant(words_of(words), words)
    if holds is None:
        raise TypeError(f"{words}: add a function that checks this on the cluster")
    return Invariant(words, holds)


def words_of(function: Callable[..., object]) -> str:
    """Return a function's description, which is its docstring's first line, its name, or a lambda's place."""
    if documented := (inspect.getdoc(function) or "").partition("\n")[0]:
        return documented
    if function.__name__ == "<lambda>":
        code = function.__code__
        return f"the invariant at {Path(code.co_filename).name}:{code.co_firstlineno}"
    return function.__name__.removeprefix("test_").replace("_", " ")


def broken(invariant: Invariant, cluster: VirtualCluster) -> str:
    """Return why an invariant does not hold, or "" if it holds."""
    try:
        return "" if invariant.holds(cluster) else invariant.words
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - treated as a false value, with its message
        # Use only the first line, because pytest adds further lines to a failed assertion.
        line = next(iter(in_words(error).splitlines()), type(error).__name__)
        return f"{invariant.words}: {line}"


def applied(manifest: Manifest) -> Step:
    """Return a step that creates an object."""
    document = document_of(manifest)
    words = f"create {_words(document)}"
    return Step(words, lambda cluster: cluster.send("POST", cluster.path_of(document, named=False), document))


def changed(manifest: Manifest, patch: Mapping[str, Any]) -> Step:
    """Return a step that changes an object with a merge patch."""
    document = document_of(manifest)
    words = f"change {_words(document)}"
    return Step(words, lambda cluster: cluster.send("PATCH", cluster.path_of(document), patch))


def deleted(manifest: Manifest, *, propagation: str = "Background", refused: bool = False) -> Step:
    """
    Return a step that deletes an object.

    Args: propagation: Background, Foreground or Orphan. refused: whether the operator's finalizer is allowed
    to keep the object until the end. To limit this time, use settled(expect).
    """
    document = document_of(manifest)
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": propagation}
    words = f"delete {_words(document)}"
    step = Step(words, lambda cluster: cluster.send("DELETE", cluster.path_of(document), body))
    return replace(step, refused=_words(document)) if refused else step


def settled(expect: Holds | Invariant | None = None) -> Step:
    """
    Return a step that waits settle_seconds, and then compares the cluster with that of the undisturbed run.

    Args: expect: an invariant that must hold at that time.
    """
    found = () if expect is None else (expect if isinstance(expect, Invariant) else invariant(expect),)
    return Step("wait", None, found)


def document_of(manifest: Manifest) -> dict[str, Any]:
    """Return a copy of a manifest's object, as a dict."""
    if isinstance(manifest, Kind):
        decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(manifest, enc_hook=encode_hook))
        return decoded
    if isinstance(manifest, str | Path):
        return dict(from_yaml(Path(manifest).read_text(encoding="utf-8"))[0])
    return copy.deepcopy(dict(manifest))


def _words(document: Mapping[str, Any]) -> str:
    return f"{document['kind']} {document['metadata']['name']}"
