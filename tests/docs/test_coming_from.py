"""docs/coming-from.md: the names in its tables exist, there and here."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from typing import Any

import kopf

import handloop
from handloop.apis.meta import Kind
from handloop.client.resource_client import ResourceClient
from handloop.controller.runtime.builder import ControllerBuilder
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from support.checks.docs_page import DOCS
from support.checks.rows import check_rows

PAGE = (DOCS / "coming-from.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (?!-)(.*?) \| (.*) \|$", PAGE, re.MULTILINE)
# whose methods the page names without them
OURS: tuple[type[Any], ...] = (ControllerBuilder, MultiNamespaceInformer, ResourceClient, Kind)


def words(cells: Iterator[str]) -> set[str]:
    """The words in backticks."""
    return {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


def resolved(root: Any, path: str) -> Any:
    """The attribute at a dotted path."""
    return reduce(getattr, path.split("."), root)


def test_its_names_of_kopf_exist() -> None:
    """Every kopf name of the tables."""
    names = [
        word.removeprefix("kopf.") for word in words(there for there, _ in ROWS) if word.startswith("kopf.")
    ]
    assert len(names) > 15
    assert [name for name in names if resolved(kopf, name) is None] == []


def test_its_names_of_the_official_client_exist() -> None:
    """And the page names it."""
    check_rows(
        (
            "client.ApiException",
            "client.CustomObjectsApi",
            "client.CoreV1Api.list_namespaced_pod",
            "client.CoreV1Api.read_namespaced_pod",
            "client.V1ObjectMeta",
            "client.V1Pod",
            "config.load_incluster_config",
            "config.load_kube_config",
            "dynamic.DynamicClient",
            "leaderelection.leaderelection.LeaderElection",
            "stream.stream",
            "utils.create_from_yaml",
            "watch.Watch.stream",
        ),
        exists_and_is_named,
    )


def exists_and_is_named(path: str) -> None:
    module, _, name = path.partition(".")
    import_module("kubernetes.leaderelection.leaderelection")
    assert callable(resolved(import_module(f"kubernetes.{module}"), name))
    assert path.rsplit(".", maxsplit=1)[-1] in PAGE


def test_its_names_of_handloop_exist() -> None:
    """A name stands in the face, or is a method of a class of it, a builder, cache, client or kind."""
    names = [
        word for word in words(here for _, here in ROWS) if re.fullmatch(r"[A-Za-z_]+(\.[a-z_]+)?", word)
    ]
    methods = {name for kind in OURS for name, _ in inspect.getmembers(kind)}
    face = [name for name in names if name.partition(".")[0] in handloop.__all__]
    assert len(face) > 30
    for name in face:
        assert resolved(handloop, name) is not None
    others = {"kubectl", "run", "registry", "printer_columns", "manager.registry"}
    assert set(names) - set(face) - methods - others == set()
