"""kopf: an operator as a process of its own, found by its kubeconfig."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from handloop.apis.crd import custom_resource_definition
from handloop.controller.foo.types import Foo
from handloop.testing.eventually import eventually as until
from handloop.testing.running_sandbox import RefusedError, RunningSandbox

FOO = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos/a"
SECONDS = 40.0
OPERATOR = """
import kopf

@kopf.on.create("samplecontroller.k8s.io", "v1alpha1", "foos")
def created(spec, **_):
    return {"wanted": spec["replicas"]}

@kopf.on.update("samplecontroller.k8s.io", "v1alpha1", "foos")
def updated(spec, patch, **_):
    patch.metadata.annotations["seen"] = str(spec["replicas"])

@kopf.on.delete("samplecontroller.k8s.io", "v1alpha1", "foos")
def deleted(logger, **_):
    logger.info("goodbye")
"""


@contextmanager
def _operator(sandbox: RunningSandbox, folder: Path) -> Iterator[Path]:
    """`kopf run` for as long as the context lasts; yields its log."""
    (folder / "my_operator.py").write_text(OPERATOR, encoding="utf-8")
    log = folder / "log"
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(sandbox.kubeconfig)}
    arguments = ["run", "--standalone", "--namespace=default", str(folder / "my_operator.py")]
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "kopf", *arguments],
            env=environment,
            cwd=folder,
            stderr=stream,
            stdout=stream,
        )
        try:
            yield log
        finally:
            process.terminate()
            process.wait(SECONDS)


def _foo(sandbox: RunningSandbox) -> dict[str, Any]:
    try:
        return sandbox.get(FOO)
    except RefusedError:
        return {}


def _text(log: Path) -> str:
    return log.read_text(encoding="utf-8")


def test_an_operator_handles_a_custom_resource(sandbox: RunningSandbox, tmp_path: Path) -> None:
    """Creation, update and deletion reach its handlers, through a watch that was cut meanwhile, too."""
    definition = custom_resource_definition(Foo)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["status"]["x-kubernetes-preserve-unknown-fields"] = True
    sandbox.apply(definition)
    foo = {
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "kind": "Foo",
        "metadata": {"name": "a", "namespace": "default"},
        "spec": {"deploymentName": "a", "replicas": 1},
    }
    with _operator(sandbox, tmp_path) as log:
        sandbox.apply(foo)
        until(lambda: _foo(sandbox).get("status", {}).get("created"), "created", seconds=SECONDS)
        assert _foo(sandbox)["status"]["created"] == {"wanted": 1}
        assert _foo(sandbox)["metadata"]["finalizers"]
        sandbox.faults.drop_watches("cut", only_open=True)
        sandbox.apply({**foo, "spec": {"deploymentName": "a", "replicas": 3}})
        until(
            lambda: _foo(sandbox)["metadata"].get("annotations", {}).get("seen") == "3",
            "updated",
            seconds=SECONDS,
        )
        sandbox.server.transport().request("DELETE", FOO)
        until(lambda: not _foo(sandbox), "deleted", seconds=SECONDS)
        assert "goodbye" in _text(log)
