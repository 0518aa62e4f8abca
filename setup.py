"""A build in a checkout starts empty: otherwise modules of an earlier build are shipped again."""

import shutil

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildAnew(build_py):
    """Removes what an earlier build left."""

    def run(self) -> None:
        """Build."""
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


setup(cmdclass={"build_py": BuildAnew})
