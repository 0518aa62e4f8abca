"""An operator that converts, whose kind says what templates of Helm would read; and its project."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from handloop.apis.meta import Kind
from handloop.controller.cli.dry_set_up import DrySetUp
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.project import Project
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from support.builders.converted_sites import OldSite, OldSpec, Spec

HOSTILE: Final = "{{ fail `no` }} {{- end }} %INDENT% HELM0000E"
"""What a description may say."""


class Site(Kind, group="example.org", version="v1", previous=OldSite):
    __doc__ = HOSTILE
    spec: Spec

    @classmethod
    def from_previous(cls, old: OldSite) -> Site:
        """Renames."""
        return cls(metadata=old.metadata, spec=Spec(replicas=old.spec.size))

    def to_previous(self) -> OldSite:
        """Renames back."""
        return OldSite(metadata=self.metadata, spec=OldSpec(size=self.spec.replicas))


def shop() -> Operator:
    """Named as the plural of what it creates might be."""

    def set_up(manager: Manager) -> None:
        controller_for(manager, "sites").for_(Site).complete(lambda _obj, _context: None)

    dry = DrySetUp([set_up], None)
    return Operator(
        name="sites", command="python -m sites", set_up=dry.set_up, setups=dry.setups, version=lambda: "1.0.0"
    )


def write_project(folder: Path) -> None:
    """Write the project's files into a folder called `sites`."""
    project = Project(folder=folder, name="sites", domain="example.org")
    for _ in project.write_scaffold({}):
        pass
