"""The flags: `.. flags::` lists the flags of an operator's program and of `handloop`, from their parsers."""

from __future__ import annotations

import argparse
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from unittest.mock import patch

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from docs.extensions.face import plain
from handloop.controller.cli.flags import COMMANDS
from handloop.controller.cli.main import run_command
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.options import FLAGS, Options
from handloop.controller.cli.values import duration, format_duration
from handloop.controller.program import PROGRAM

NAME: Final = "greeter"
GREETER: Final = replace(
    PROGRAM, name=NAME, command=f"python {NAME}.py", names=(), workers=1, variables="", own_commands={}
)
HANDLOOP: Final = replace(PROGRAM, command="handloop")
OWN: Final = (
    ("init",),
    ("create", "api"),
    ("create", "controller"),
    ("walkthrough",),
    ("top",),
    ("explore",),
)
"""The commands with flags that exist only in handloop's own program."""


class Flags(SphinxDirective):
    """The flags, each listed under the first command that has it."""

    def run(self) -> list[nodes.Node]:
        """Return a heading for each command, followed by its flags."""
        seen: set[object] = set()
        lines: list[str] = []
        for command in COMMANDS:
            words: tuple[str, ...] = () if command == "run" else (command,)
            lines += _section(GREETER, words, _new(GREETER, words, seen))
        lines += _section(PROGRAM, (), _new(PROGRAM, (), seen))
        for own in OWN:
            lines += _section(HANDLOOP, own, _actions(HANDLOOP, own))
        return self.parse_text_to_nodes(StringList(lines, "flags"), allow_section_headings=True)


def _new(operator: Operator, words: tuple[str, ...], seen: set[object]) -> list[argparse.Action]:
    """Return the flags of a command that no earlier command has."""
    found = {(*each.option_strings, each.help): each for each in _actions(operator, words)}
    new = [action for what, action in found.items() if what not in seen]
    seen.update(found)
    return new


def _actions(operator: Operator, words: tuple[str, ...]) -> list[argparse.Action]:
    """Return the flags of a command's parser, which is intercepted when it is about to print its help."""
    caught: list[argparse.ArgumentParser] = []

    def catch(parser: argparse.ArgumentParser) -> None:
        caught.append(parser)

    with patch.object(argparse.ArgumentParser, "print_help", catch), suppress(SystemExit):
        run_command(operator, [*words, "--help"])
    (parser,) = caught
    return [each for each in parser._actions if each.option_strings and each.dest != "help"]  # noqa: SLF001


def _section(operator: Operator, words: tuple[str, ...], actions: list[argparse.Action]) -> list[str]:
    """Return a heading and an entry for each flag, or nothing if there are no flags."""
    if not actions:
        return []
    title = " ".join((operator.command, *words))
    lines = [f"``{title}``", "-" * (len(title) + 4), "", f".. program:: {title}", ""]
    for action in actions:
        metavar = action.metavar or action.dest.upper()
        shown = {0: "", "?": f" [{metavar}]"}.get(action.nargs, f" {metavar}")
        spellings = ", ".join(f"{each}{shown}" for each in action.option_strings)
        lines += [f".. option:: {spellings}", "", f"   {_text(operator, words, action)}", ""]
    return lines


def _text(operator: Operator, words: tuple[str, ...], action: argparse.Action) -> str:
    """Return a flag's help, default and environment variable, and the other commands that have the flag."""
    text = plain(f"{action.help}.")
    name = action.dest
    if name not in FLAGS or FLAGS[name].metavar != action.metavar:
        return text
    default, variable = _default(operator, name), FLAGS[name].variable(name, operator)
    others = [each for each in FLAGS[name].commands if each not in ("run", *words)]
    facts = [
        f"default ``{default}``" if default else "",
        f"``${variable}``" if variable else "",
        f"also of {', '.join(f'``{each}``' for each in others)}" if others else "",
    ]
    told = "; ".join(fact for fact in facts if fact)
    return f"{text} {told[:1].upper()}{told[1:]}." if told else text


def _default(operator: Operator, name: str) -> str:
    """Return a default in the form in which people type it, or "" if there is none to show."""
    value: Any = getattr(Options(operator=operator), name)
    if FLAGS[name].parse is duration:
        return format_duration(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    return ",".join(value) if isinstance(value, tuple) else str("" if value is None else value)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("flags", Flags)
    return {"parallel_read_safe": True}
