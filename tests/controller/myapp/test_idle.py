"""MyApps at rest, with all that the program has around them: real informers that resync all the time."""

from __future__ import annotations

import os
from typing import Final

from handloop.apis.apps_v1 import Deployment
from handloop.apis.conditions import is_condition_true
from handloop.apis.crd import custom_resource_definition
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp
from handloop.informers.informer_options import InformerOptions
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually as until
from handloop.testing.fake_clock import FakeClock
from handloop_sandbox.engine import Engine, Stream
from handloop_sandbox.requests.request import Request, Response
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import ManagedSandbox
from support.rigs.myapp_rig import CRDS, NAMESPACE, app
from support.rigs.myapp_scenes import FULL

APPS: Final = int(os.environ.get("IDLE_MYAPPS", "10"))
RESYNCS: Final = 100
RESYNC_SECONDS: Final = 1.0
SETTLING: Final = 5
SECONDS: Final = 50.0


class Requests:
    """Counts what reaches an engine."""

    def __init__(self, engine: Engine) -> None:
        self._handle = engine.handle
        self.writes = 0
        engine.handle = self._pass  # type: ignore[method-assign] # the seam that every request passes

    def _pass(self, request: Request) -> Response | Stream:
        self.writes += request.method != "GET"
        return self._handle(request)


def create_apps(cluster: ManagedSandbox) -> None:
    """MyApps with everything in their specs."""
    cluster.post(CRDS, custom_resource_definition(MyApp))
    for number in range(APPS):
        cluster.post(MyApp.resource.path(namespace=NAMESPACE), app(f"app-{number}", **FULL))


def bring_up(cluster: ManagedSandbox) -> None:
    """Play the Deployment controller: all replicas of each Deployment are ready at once."""
    deployments = cluster.client.resource(Deployment)
    names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    for each in deployments.list().items:
        if each.status.observed_generation != each.metadata.generation:
            status = {
                "observedGeneration": each.metadata.generation,
                **dict.fromkeys(names, each.spec.replicas),
            }
            name = each.metadata.name
            deployments.patch(name, {"status": status}, namespace=NAMESPACE, subresource="status")


def all_ready(cluster: ManagedSandbox, clock: FakeClock) -> bool:
    """Whether every MyApp's status shows it; lets back-offs pass, and Deployments follow their specs."""
    clock.advance(0.1)
    bring_up(cluster)
    found = cluster.client.resource(MyApp).list().items
    return all(is_condition_true(each.status.conditions, "Ready") for each in found)


def resyncs(cluster: ManagedSandbox) -> dict[str, float]:
    """How many reconciles the resyncs of each kind of child have led to."""
    names = {"controller": "myapp"}
    return {
        kind: cluster.metric("handloop_reconcile_causes_total", cause=f"{kind} resynced", **names)
        for kind in ("Deployment", "Service", "HorizontalPodAutoscaler")
    }


def resync(cluster: ManagedSandbox, clock: FakeClock) -> None:
    """Let the resync period pass, and wait until every MyApp has been reconciled because of each child."""
    before = resyncs(cluster)
    clock.advance(RESYNC_SECONDS)
    until(
        lambda: all(count >= before[kind] + APPS for kind, count in resyncs(cluster).items()),
        f"all resynced: {before}",
        seconds=SECONDS,
    )


def settle(cluster: ManagedSandbox, clock: FakeClock, requests: Requests) -> None:
    """Resync until nothing is written any more, but not for ever: Events come after their changes."""
    for _ in range(SETTLING):
        writes = requests.writes
        resync(cluster, clock)
        if requests.writes == writes:
            return


def test_nothing_is_written_in_a_hundred_resyncs() -> None:
    """Each child of every MyApp is looked at again a hundred times: there is no write at all."""
    cluster, clock = ManagedSandbox(), FakeClock()
    create_apps(cluster)
    requests = Requests(cluster.sandbox.engine)
    manager = cluster.manager(
        informer_options=InformerOptions(resync_seconds=RESYNC_SECONDS), seams=Seams(clock=clock)
    )
    controller = add_myapp(manager, workers=2)
    with captured_logs(), cluster.running(manager):
        until(lambda: all_ready(cluster, clock), "all ready", seconds=SECONDS)
        settle(cluster, clock, requests)
        writes, reconciles = requests.writes, controller.statistics().succeeded
        for _ in range(RESYNCS):
            resync(cluster, clock)
        assert requests.writes == writes >= 5 * APPS
        assert controller.statistics().succeeded >= reconciles + RESYNCS * APPS
        assert controller.statistics().unexpected == 0
    own = {"controller": "myapp", "cause": "MyApp updated"}
    assert cluster.metric("handloop_reconcile_causes_total", **own) == 0, "a status of its own has woken it"
