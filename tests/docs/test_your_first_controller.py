"""docs/your-first-controller.md, block by block."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import handloop
from handloop.apis.core_v1 import Event
from handloop.client.errors import NotFound
from handloop.controller.runtime.builder import ControllerBuilder
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.controller import Controller
from handloop.informers.informer_options import InformerOptions
from handloop.testing.eventually import eventually
from support.checks.docs_page import blocks_of, module_of, run_python
from support.rigs.managed_sandbox import ManagedSandbox

BLOCKS = blocks_of("your-first-controller.md")
GREETINGS = "/apis/example.org/v1/namespaces/default/greetings"


@pytest.fixture
def greeter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the page, saved and imported as a reader would."""
    return module_of("your-first-controller.md", "greeter.py", tmp_path, monkeypatch)


def installed(greeter: ModuleType, capsys: pytest.CaptureFixture[str]) -> ManagedSandbox:
    """A cluster that has taken the definition which the page prints."""
    _python, _file, *words = BLOCKS["crd"].partition(" |")[0].split()
    with pytest.raises(SystemExit) as ended:
        handloop.main(greeter.set_up, name="greeter", argv=words)
    assert ended.value.code == 0
    cluster = ManagedSandbox(lifelike=True)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    cluster.post(path, yaml.safe_load(capsys.readouterr().out))
    return cluster


@contextmanager
def at_work(greeter: ModuleType, cluster: ManagedSandbox) -> Iterator[Controller]:
    """The page's controller at work on resyncs each second, for as long as the context lasts."""
    manager: Manager = cluster.manager(informer_options=InformerOptions(resync_seconds=1))
    greeter.set_up(manager)
    (controller,) = (each for each in manager.runnables().values() if isinstance(each, Controller))
    with cluster.running(manager):
        yield controller


def text_of(cluster: ManagedSandbox, greeter: ModuleType) -> str | None:
    """The text that the ConfigMap holds; None without a ConfigMap. Lets the garbage collector work."""
    cluster.sandbox.tick()
    try:
        config_map: Any = cluster.client.resource(greeter.ConfigMap).get("world", namespace="default")
    except NotFound:
        return None
    text: str = config_map.data["text"]
    return text


def test_it_works_as_the_page_claims(greeter: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Created, changed and repaired within an instant, and no write more than needed."""
    cluster = installed(greeter, capsys)
    greetings = cluster.client.resource(greeter.Greeting)
    config_maps = cluster.client.resource(greeter.ConfigMap)

    def observed(generation: int) -> bool:
        found = greetings.get("world", namespace="default")
        return bool(found.status.observed_generation == generation)

    with at_work(greeter, cluster) as controller:
        cluster.post(GREETINGS, yaml.safe_load(BLOCKS["greeting"]))
        eventually(lambda: text_of(cluster, greeter) == "Hello, World!", "greeted")
        # a change between its two writes would be a Conflict, and another try
        eventually(lambda: observed(1), "its status")
        greetings.patch("world", {"spec": {"name": "you"}}, namespace="default")
        eventually(lambda: text_of(cluster, greeter) == "Hello, you!", "changed")
        eventually(lambda: observed(2), "its status")
        config_maps.delete("world", namespace="default")
        eventually(lambda: text_of(cluster, greeter) == "Hello, you!", "repaired")
        version = config_maps.get("world", namespace="default").metadata.resource_version
        before = controller.statistics().succeeded
        eventually(lambda: controller.statistics().succeeded > before + 2, "resynced")
        assert config_maps.get("world", namespace="default").metadata.resource_version == version
        greetings.delete("world", namespace="default")
        eventually(lambda: text_of(cluster, greeter) is None, "gone with its owner")
    assert controller.statistics().failed == 0


def greeting(name: str, *finalizers: str) -> dict[str, Any]:
    """The page's Greeting under another name, held by finalizers."""
    document: dict[str, Any] = yaml.safe_load(BLOCKS["greeting"])
    return document | {"metadata": {"name": name, "namespace": "default", "finalizers": list(finalizers)}}


def test_it_does_not_fight_a_deletion(greeter: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """In a foreground deletion the ConfigMap goes first, and is not made anew while its Greeting is there."""
    cluster = installed(greeter, capsys)
    greetings = cluster.client.resource(greeter.Greeting)
    with at_work(greeter, cluster) as controller:
        cluster.post(GREETINGS, greeting("world", "example.org/held"))
        eventually(lambda: text_of(cluster, greeter) == "Hello, World!", "greeted")
        greetings.delete("world", namespace="default", propagation_policy="Foreground")
        eventually(lambda: text_of(cluster, greeter) is None, "its ConfigMap gone")
        before = controller.statistics().succeeded
        eventually(lambda: controller.statistics().succeeded > before + 2, "resynced")
        assert greetings.get("world", namespace="default").metadata.deletion_timestamp is not None
        with pytest.raises(NotFound):
            cluster.client.resource(greeter.ConfigMap).get("world", namespace="default")


def test_it_does_not_take_a_foreign_object(greeter: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """A ConfigMap that was there before stays as it is, for any Greeting of its name."""
    cluster = installed(greeter, capsys)
    config_maps = cluster.client.resource(greeter.ConfigMap)
    theirs = config_maps.get("kube-root-ca.crt", namespace="default")
    with at_work(greeter, cluster) as controller:
        cluster.post(GREETINGS, greeting("kube-root-ca.crt"))
        eventually(lambda: controller.statistics().failed > 1, "reconciled")
        assert config_maps.get("kube-root-ca.crt", namespace="default") == theirs
        events = cluster.client.resource(Event)
        eventually(lambda: "NameTaken" in [each.reason for each in events.list("default").items], "told")
    assert controller.statistics().unexpected == 0


def test_what_it_points_at_exists() -> None:
    """The words of the last part are those of the face and of the builder."""
    assert {"LabelsMatch", "GenerationChanged", "TerminalError"} <= set(handloop.__all__)
    options = inspect.signature(ControllerBuilder.with_options).parameters
    assert {"max_retries", "max_concurrent_reconciles"} <= options.keys()


def test_it_is_twenty_lines() -> None:
    """Without imports and empty lines, as the page claims; and its output is a program."""
    lines = [line for line in BLOCKS["greeter.py"].splitlines() if line.strip()]
    imports = {
        n for i in ast.parse(BLOCKS["greeter.py"]).body[:2] for n in range(i.lineno, (i.end_lineno or 0) + 1)
    }
    assert len(lines) - len(imports) <= 20


def test_the_program_starts_by_itself(tmp_path: Path) -> None:
    """Run as a script, without a cluster, it ends with the words of the configuration's error."""
    (tmp_path / "greeter.py").write_text(BLOCKS["greeter.py"], encoding="utf-8")
    ended = run_python(tmp_path, "greeter.py")
    assert ended.returncode == 3
    assert "error: no cluster configuration found" in ended.stderr
    assert "fix: python greeter.py --sandbox   (no cluster needed)" in ended.stderr
