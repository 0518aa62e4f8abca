"""The kind AppCluster."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from handloop import APIStruct, Condition, Kind, PrinterColumn, Rule, list_map


class AppClusterSpec(APIStruct):
    """What a user asks for."""

    size: Annotated[int, Meta(ge=0, le=1000)]


class AppClusterStatus(APIStruct):
    """What the controller observes: how many Pods of the AppCluster are ready."""

    observed_generation: int = 0
    ready: Annotated[int, Meta(ge=0)] = 0
    conditions: Annotated[tuple[Condition, ...], list_map("type")] = ()


class AppCluster(Kind, group="demo.demo.io", version="v1"):
    """A set of Pods that run one application. Their label `app` contains the AppCluster's name."""

    crd_rules = (Rule(expression="size(self.metadata.name) <= 63", message="the name exceeds 63 characters"),)
    printer_columns = (
        PrinterColumn(name="Size", type="integer", json_path=".spec.size"),
        PrinterColumn(name="Ready", type="integer", json_path=".status.ready"),
    )

    spec: AppClusterSpec
    status: AppClusterStatus = AppClusterStatus()
