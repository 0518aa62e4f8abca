"""
The description of an operator for the command line: its names, its controllers and what they need.

Decision: One main.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME: Final = re.compile(rf"(?=[a-z]){_LABEL}(\.{_LABEL})*")
_MAX_NAME: Final = 42
"""
The limit is due to the name of the lease's role, which also contains a namespace of up to 63 characters.
"""
_TAKEN: Final = "pod"
"""Not allowed as a name: its variables would begin with `POD_`, but $POD_NAMESPACE has another meaning."""


class SetUpError(Exception):
    """An author's set_up failed. If it raised an error, that error is the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """
    What is known about a controller without running it.

    Args: kinds are the types of the custom kinds that it reconciles and that need CRDs; foreign are
    reconciled types whose CRDs belong to other programs; written are the types of the other kinds that it
    writes; access contains Access objects, the requests that it can send; sample is the path of a manifest
    with an object of one of the kinds; shown is what `kubectl get` should list, or "" to list the kinds.
    """

    name: str
    kinds: tuple[type[Any], ...]
    access: tuple[Any, ...]
    foreign: tuple[type[Any], ...] = ()
    written: tuple[type[Any], ...] = ()
    sample: str = ""
    shown: str = ""

    @property
    def watched(self) -> str:
        """What `kubectl get` should list."""
        return self.shown or ",".join(kind.resource.group_resource for kind in self.kinds)

    def sample_fix(self, options: str = "") -> str:
        """
        Return a command that creates an object to reconcile.

        If there is no sample, the text also names the command that explains the kind's fields.

        Args: options are kubectl options, with a leading space.
        """
        if self.sample and Path(self.sample).exists():
            return f"kubectl apply -f {shlex.quote(shown_path(Path(self.sample)))}{options}"
        first = self.kinds[0].resource
        told = f"a {first.kind}; its fields: kubectl explain {first.group_resource}"
        return f"kubectl apply -f FILE{options}   ({told})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """
    A program with its controllers. Libraries are loaded only when setups, set_up or informer_options is
    called.

    name is used for the lease, its Events, the roles and the user agent. command is what people type to start
    the program. manifests is what they type between command and `crd` or `rbac`. Hints are built from both.
    set_up(manager, names) adds the chosen controllers to a Manager. setups() describes all controllers. names
    are the choices for `--controllers`; without names, the program does not have that flag. workers is the
    default for `--workers`. own_commands are commands that only this operator has, with their help texts.
    version() is the operator's version, or "" if it is unknown. variables is the prefix of environment
    variables; the default is the name. informer_options() returns the Manager's options, or None for the
    defaults. generator is the name in the first line of printed manifests; the default is the operator's
    name.
    """

    name: str
    command: str
    set_up: Callable[[Any, Sequence[str]], object]
    setups: Callable[[], Sequence[Setup]]
    version: Callable[[], str]
    names: tuple[str, ...] = ()
    workers: int = 1
    variables: str = ""
    informer_options: Callable[[], Any] = lambda: None
    manifests: str = ""
    generator: str = ""
    own_commands: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise SetUpError if the name is not valid for a lease, a bundle or an environment variable."""
        if not _NAME.fullmatch(self.name) or len(self.name) > _MAX_NAME or self.name == _TAKEN:
            raise SetUpError(
                f'"{self.name}" is not a valid name for an operator: use a name such as my-operator'
            )

    def chosen(self, names: Sequence[str]) -> tuple[Setup, ...]:
        """Return the controllers with these names, or all of them if the operator offers no choice."""
        return tuple(one for one in self.setups() if not self.names or one.name in names)

    @property
    def prefix(self) -> str:
        """The prefix of the operator's environment variables: `MY_OPERATOR` for my-operator."""
        return self.variables or re.sub("[^A-Z0-9]", "_", self.name.upper())

    @property
    def crd_command(self) -> str:
        """The command that prints the CRDs."""
        return self.printing("crd")

    @property
    def rbac_command(self) -> str:
        """The command that prints the roles."""
        return self.printing("rbac")

    def printing(self, what: str) -> str:
        """Return the command that prints manifests. Args: what is `crd`, `rbac` or the like."""
        return " ".join(word for word in (self.command, self.manifests, what) if word)

    @property
    def user_agent(self) -> str:
        """The user agent, such as `greeter/1.2`. The client appends its own details."""
        version = self.version()
        return f"{self.name}/{version}" if version else self.name


def shown_path(path: Path) -> str:
    """Return a path as users type it: a relative path if the working directory contains it."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def typed_command(started: str, module: str = "") -> str:
    """
    Return the command that started a Python program, so that users can copy hints that contain it.

    Args: started is sys.argv[0]; module is the argument of `python -m`, as found in `__main__.__spec__`, or
    "" for a script.
    """
    path = Path(started)
    if module:
        return f"python -m {module.removesuffix('.__main__')}"
    if path.name == "__main__.py":
        return f"python -m {path.parent.name}"
    return f"python {shlex.quote(started)}" if path.suffix == ".py" else path.stem


def command_of_this_process() -> str:
    """Return the command that started this process, as users type it."""
    spec = getattr(sys.modules.get("__main__"), "__spec__", None)
    return typed_command(sys.argv[0], spec.name if spec else "")
