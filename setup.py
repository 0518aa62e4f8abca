"""
A build in a checkout starts empty: otherwise modules of an earlier build are shipped again.

Its version tells its content; an sdist has that in its setup.cfg, which wins. The neighbours link to it.
"""

import os
import shutil
import sys
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path.cwd()
"""The folder of the project that is built, of the four."""


class BuildAnew(build_py):
    """Removes what an earlier build left."""

    def run(self) -> None:
        """Build."""
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


def local() -> str:
    """What the build adds to the version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    package = ROOT / project["name"].replace("-", "_")
    top = ROOT if package.name == "handloop" else ROOT.parent
    sys.path.insert(0, str(top))
    try:
        from handloop.controller.cli.version import local_version  # noqa: PLC0415
    except ImportError:
        # a neighbour alone
        return os.environ.get("HANDLOOP_LOCAL_VERSION", "+nogit")
    return local_version(package, top)


setup(cmdclass={"build_py": BuildAnew}, options={"egg_info": {"tag_build": local()}})
