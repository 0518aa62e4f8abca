"""
The API reference: `.. face:: apis` lists handloop.__all__'s names that come from the folder apis, by module.

Docstrings are plain text with sections ("Args: ...", "Raises: ..."). They are shown as they are written: the
only markup in them is `code`, and indented lines and tables keep their shape. The private state of a class
and the members that only the framework calls are left out.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from itertools import groupby
from typing import Any, Final

import msgspec
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import handloop
from handloop import APIStruct, Kind

HOMES: Final[dict[str, str]] = vars(handloop)["_HOME"]
OWN: Final[dict[str, str]] = {
    "BucketRateLimiter": "forget num_requeues when",
    "FilteringResourceEventHandler": "on_add on_update on_delete",
    "ItemExponentialFailureRateLimiter": "when",
    "InformerOptions": "abridged_of",
    "LabelsMatch": "create update delete",
    "LeaderElectionConfig": "of_many validate written_seconds",
    "ListOptions": "query",
    "Manager": "cached_kinds informer_of informers run_beside seconds_to_write watch watch_object why_page",
    "MaxOfRateLimiter": "forget num_requeues when",
    "ResourceEventHandlerFuncs": "on_add",
    "Rule": "schema",
    "SharedIndexInformer": "cache has_died has_listed has_seen list_newest newest_resource_version",
    "Shards": "terms",
    **dict.fromkeys(
        ("AnnotationsChanged", "GenerationChanged", "LabelsChanged", "ResourceVersionChanged"), "aspect"
    ),
}
"""Members that users do not call. Only the framework calls them, or a protocol describes them."""
HANDED_OUT: Final = frozenset(
    "handloop." + name
    for name in (
        "Lister",
        "client.decoding.pages.Undecodable",
        "client.resource_client.ResourceClient",
        "controller.runtime.builder.ControllerBuilder",
        "controller.runtime.caching.multi_namespace_informer.MultiNamespaceInformer",
        "controller.runtime.metrics.controller_metrics.ControllerMetrics",
        "controller.runtime.metrics.controller_metrics.ControllerOwnWrites",
        "controller.runtime.reconciling.controller.Controller",
        "controller.runtime.reconciling.explainer.Explainer",
        "controller.runtime.reconciling.explainer.Explanation",
        "controller.runtime.sources.commands.Commands",
        "controller.runtime.sources.reconcile_queue.Standing",
        "testing.explore.Exploration",
        "testing.explore.Failure",
        "testing.explore.Report",
        "testing.recorded_writes.Recorded",
        "testing.running_operator.RunningOperator",
        "testing.running_sandbox.RunningSandbox",
        "testing.sharing.Sharing",
        "testing.sharing.Written",
    )
)
"""Classes that users do not call, because other objects return their instances."""
_SECTION: Final = re.compile(r"^(Args|Blocks|Fields|Follows|Locks|Raises|Returns|State|Threads):(?=\s|$)")
_STATE: Final = re.compile(r"^(State|Locks)\b[^:\n]*:")
_CODE: Final = re.compile(r"`+([^`]+)`+")
_MARKUP: Final = re.compile(r"([\\*|_<>])")


class Face(SphinxDirective):
    """The public names from one folder."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a heading for each module, followed by the module's names."""
        lines: list[str] = []
        for module, names in groupby(_names_of(self.arguments[0]), key=lambda name: HOMES[name]):
            title = f"handloop.{module}"
            lines += [title, "-" * len(title), ""]
            for name in names:
                lines += _entry(name)
        return self.parse_text_to_nodes(StringList(lines, "handloop"), allow_section_headings=True)


class Views(SphinxDirective):
    """The types of a module, each with its fields: `.. views:: handloop.apis.core_v1`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return an entry for each type: its description, and the names of its fields."""
        lines: list[str] = []
        for name, kind in vars(import_module(self.arguments[0])).items():
            if (
                isinstance(kind, type)
                and issubclass(kind, APIStruct | Kind)
                and kind.__module__ == self.arguments[0]
            ):
                names = [each.name for each in msgspec.structs.fields(kind) if each.name != "api_version"]
                fields = ", ".join(f"``{each}``" for each in names)
                about = plain(" ".join(inspect.cleandoc(kind.__doc__ or "").split()))
                lines += [f"``{name}``", f"   {about} Fields: {fields}.", ""]
        return self.parse_text_to_nodes(StringList(lines, "views"))


def _names_of(folder: str) -> list[str]:
    """Return the public names defined in a folder, ordered by module."""
    return sorted(
        (name for name in HOMES if f"{HOMES[name]}.".startswith(f"{folder}.")),
        key=lambda name: (HOMES[name], name),
    )


def _entry(name: str) -> list[str]:
    """Return the autodoc directive for a name."""
    value = getattr(handloop, name)
    if inspect.isclass(value):
        own = OWN.get(name, "").split()
        if missing := [member for member in own if not hasattr(value, member)]:
            raise AttributeError(f"{name} has no {missing}")
        return [
            f".. autoclass:: handloop.{name}",
            "   :members:",
            f"   :exclude-members: {', '.join(own)}",
            "",
        ]
    if inspect.isroutine(value):
        return [f".. autofunction:: handloop.{name}", ""]
    return [f".. autodata:: handloop.{HOMES[name]}.{name}", "   :no-value:", ""]


def as_written(_app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Turn a plain-text docstring into reStructuredText."""
    text: list[str] = []
    for is_literal, block in groupby(
        without_state(lines), key=lambda line: line.startswith(("    ", "|", "- "))
    ):
        if is_literal:
            text += ["", "::", "", *(f"    {line}" for line in block), ""]
        else:
            for line in block:
                text += ["", plain(line)] if _SECTION.match(line) else [plain(line)]
    lines[:] = text


def without_state(lines: list[str]) -> list[str]:
    """Return a docstring without its sections on private state and locks."""
    shown, is_hidden = [], False
    for line in lines:
        if _STATE.match(line):
            rest = re.search(r"Threads: .*", line)
            is_hidden = rest is None
            shown += [rest[0]] if rest else []
        elif not line.strip() or _SECTION.match(line):
            is_hidden = False
            shown.append(line)
        elif not is_hidden:
            shown.append(line)
    return shown


def is_left_out(_app: Sphinx, _what: str, _name: str, obj: Any, _skip: object, _options: Any) -> bool | None:
    """Leave out members that Python documents: named tuple fields, and what a map inherits from dict."""
    doc = getattr(obj, "__doc__", None) or ""
    is_of_tuple = doc.startswith("Alias for field number")
    return True if is_of_tuple or getattr(obj, "__qualname__", "").endswith("._read_only") else None


def signature(
    _app: Sphinx, what: str, name: str, obj: Any, _options: Any, args: str | None, returns: str | None
) -> tuple[str, str | None] | None:
    """Hide the arguments of protocols, of HANDED_OUT, and of errors with an inherited constructor."""
    if args is None:
        return None
    is_errors = inspect.isclass(obj) and issubclass(obj, BaseException) and "__init__" not in vars(obj)
    is_class = what in ("class", "exception")
    if name in HANDED_OUT or (is_class and (args == "(*args, **kwargs)" or is_errors)):
        return "", returns
    if "=MANAGERS" in args:  # with_options, whose docstring refers to the options
        return "(**options)", returns
    return re.sub(r"Seams\(clock=<.*? of .*?>.*?>\)", "REAL_SEAMS", args), returns


def plain(line: str) -> str:
    """Escape all markup in a line except for `code` and a section's name."""
    parts = [
        f"``{part}``" if is_code else _MARKUP.sub(r"\\\1", part)
        for is_code, part in ((at % 2 == 1, part) for at, part in enumerate(_CODE.split(line)))
    ]
    return _SECTION.sub(r"**\1:**", "".join(parts))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    app.add_directive("face", Face)
    app.add_directive("views", Views)
    app.connect("autodoc-process-docstring", as_written)
    app.connect("autodoc-process-signature", signature)
    app.connect("autodoc-skip-member", is_left_out)
    return {"parallel_read_safe": True}
