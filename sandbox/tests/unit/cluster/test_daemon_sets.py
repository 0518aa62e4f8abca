from __future__ import annotations

from support.servers.living_server import APPS, CORE, LivingServer, selecting, template

_SETS = f"{APPS}/daemonsets"


def _nodes(server: LivingServer) -> list[str]:
    return sorted(pod["spec"]["nodeName"] for pod in server.items(f"{CORE}/pods").values())


def test_nodes_come_and_change() -> None:
    """A cordoned node keeps its pod, a tainted one is left out, unless the template tolerates it."""
    server = LivingServer()
    taint = {"key": "mine", "value": "a", "effect": "NoSchedule"}
    server.make("/api/v1/nodes", "tainted", {})
    server.change("/api/v1/nodes/tainted", taints=[taint])
    server.change("/api/v1/nodes/sandbox-0", unschedulable=True)
    server.make(_SETS, "ds", selecting())
    server.wait(1)
    assert _nodes(server) == ["sandbox-0", "sandbox-1"]
    tolerant = template()
    tolerant["spec"]["tolerations"] = [{"key": "mine", "operator": "Equal", "value": "a"}]
    server.change(f"{_SETS}/ds", template=tolerant)
    server.wait(5)
    assert _nodes(server) == ["sandbox-0", "sandbox-1", "tainted"]


def test_a_broken_update_stops_at_its_first_node() -> None:
    """Within maxUnavailable; those that never were available are replaced at once."""
    server = LivingServer(speed=10.0)
    server.make(_SETS, "ds", selecting())
    server.wait(5)
    server.change(f"{_SETS}/ds", template=template("nginx:never-ready"))
    server.wait(5)
    status = server.status(f"{_SETS}/ds")
    assert (status["updatedNumberScheduled"], status["numberAvailable"]) == (1, 1)
    server.change(f"{_SETS}/ds", template=template("nginx:2"))
    server.wait(5)
    assert server.status(f"{_SETS}/ds")["numberAvailable"] == 2


def test_on_delete() -> None:
    """Only pods that somebody deletes get the new template."""
    server = LivingServer()
    server.make(_SETS, "ds", selecting(updateStrategy={"type": "OnDelete"}))
    server.wait(1)
    server.change(f"{_SETS}/ds", template=template("nginx:2"))
    server.wait(1)
    first = next(iter(server.items(f"{CORE}/pods")))
    assert "updatedNumberScheduled" not in server.status(f"{_SETS}/ds")
    server.request("DELETE", f"{CORE}/pods/{first}")
    server.wait(1)
    assert server.status(f"{_SETS}/ds")["updatedNumberScheduled"] == 1
