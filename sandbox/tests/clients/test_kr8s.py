"""kr8s."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import kr8s
import pytest
from kr8s.asyncio import Api
from kr8s.asyncio import api as connect
from kr8s.asyncio.objects import ConfigMap

from handloop.testing.running_sandbox import RunningSandbox

# it names the versions it was tried with, and the sandbox is newer
pytestmark = pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning")


@asynccontextmanager
async def _connected(sandbox: RunningSandbox) -> AsyncIterator[Api]:
    """Its API, whose connections it does not close by itself."""
    api = await connect(kubeconfig=str(sandbox.kubeconfig))
    try:
        yield api
    finally:
        await api._session.aclose()


def _config_map(name: str, **data: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": data,
    }


def test_objects_are_created_changed_and_deleted(sandbox: RunningSandbox) -> None:
    """Create, patch, get, list and delete; a missing one is its NotFoundError."""

    async def story() -> None:
        async with _connected(sandbox) as api:
            made = await ConfigMap(_config_map("settings", a="1"), api=api)
            await made.create()
            await made.patch({"data": {"b": "2"}})
            found = await ConfigMap.get("settings", namespace="default", api=api)
            assert dict(found.data) == {"a": "1", "b": "2"}
            names = [item.name async for item in api.get("configmaps", namespace="default")]
            assert "settings" in names
            await found.delete()
            with pytest.raises(kr8s.NotFoundError):
                await ConfigMap.get("settings", namespace="default", api=api)

    asyncio.run(asyncio.wait_for(story(), 30))


def test_a_watch_sees_changes(sandbox: RunningSandbox) -> None:
    """watch() yields them as they come."""

    async def story() -> set[tuple[str, str]]:
        async with _connected(sandbox) as api:
            for name in ("one", "two"):
                await (await ConfigMap(_config_map(name), api=api)).create()
            seen: set[tuple[str, str]] = set()
            async with aclosing(api.watch("configmaps", namespace="default")) as events:
                async for kind, obj in events:
                    seen.add((kind, obj.name))
                    if {("ADDED", "one"), ("ADDED", "two")} <= seen:
                        break
            return seen

    assert ("ADDED", "two") in asyncio.run(asyncio.wait_for(story(), 30))


def test_faults_reach_it(sandbox: RunningSandbox) -> None:
    """An error is its ServerError with the status."""

    async def story() -> int:
        async with _connected(sandbox) as api:
            made = await ConfigMap(_config_map("a"), api=api)
            with sandbox.faults.error(500, verbs=["create"]), pytest.raises(kr8s.ServerError) as refused:
                await made.create()
            return int(refused.value.response.status_code)

    assert asyncio.run(asyncio.wait_for(story(), 30)) == 500
