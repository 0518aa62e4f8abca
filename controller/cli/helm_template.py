"""
Turns manifests into Helm templates: YAML in which some values are expressions.

A manifest's own text stays text, even if it looks like an expression. An example is `{{ $labels.name }}` in
an alert.

Follows: helm.sh/helm/v4 pkg/engine, text/template.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from handloop.apis.grammar.yaml_text import to_yaml

_MARK: Final = "HELM"


class HelmTemplate:
    """
    Builds Helm templates. In a document, a mark stands for an expression until the document is rendered.

    Args: text contains all documents, so that marks can be chosen that do not occur in the documents.
    """

    def __init__(self, text: str) -> None:
        mark = _MARK
        while mark in text:
            mark += "X"
        self._marks: dict[str, str] = {}
        self._mark = mark
        self._values: set[str] = set()
        self._found = re.compile(rf"{mark}[0-9]{{4}}E")
        self._indent = re.compile(rf"{mark}([0-9])I")

    def inline(self, expression: str) -> str:
        """Return a mark for an expression that is part of a scalar, such as `.Release.Namespace`."""
        return self._marked("{{ " + expression + " }}")

    def lines(self, text: str) -> str:
        """Return a mark for a field's value. When rendered, the text becomes the value, on its own lines."""
        mark = self._marked(text)
        self._values.add(mark)
        return mark

    def fields(self, text: str) -> dict[str, None]:
        """
        Return a mark for fields of a mapping.

        When rendered, the mark is replaced by the text: the fields, or an expression that produces them.
        """
        return {self._marked(text): None}

    def rendered(self, document: Any) -> str:
        """Return the document as a template."""
        text = to_yaml(document, in_ascii=False).replace("{{", '{{ "{{" }}')
        lines = [each for line in text.splitlines() for each in self._expanded(line)]
        return "".join(f"{line}\n" for line in lines)

    def nindent(self, expression: str, deeper: int = 0) -> str:
        """Return an expression for several lines, indented by `deeper` columns more than its mark."""
        return f"{{{{- {expression} | nindent {self._mark}{deeper}I }}}}"

    def item(self, value: Any) -> str:
        """Return the lines of a list item."""
        if isinstance(value, str):
            return "- " + self.rendered({"a": value}).removeprefix("a: ")
        return self.rendered([value])

    def _marked(self, text: str) -> str:
        mark = f"{self._mark}{len(self._marks):04}E"
        self._marks[mark] = text
        return mark

    def _expanded(self, line: str) -> Iterable[str]:
        """
        Return a line with its marks replaced.

        A mark for a whole value or field can become several lines.
        """
        whole = re.fullmatch(rf"( *(?:- )*)(?:([^\s].*): )?({self._found.pattern})(: null)?", line)
        if whole is None or not (whole[4] or whole[3] in self._values):
            return [self._found.sub(self._expression, line)]
        indent = " " * len(whole[1])
        text = self._marks[whole[3]]
        if whole[2] is None:
            return self._block(text, indent)
        return [f"{whole[1]}{whole[2]}:", *self._block(text, f"{indent}  ")]

    def _block(self, text: str, indent: str) -> list[str]:
        text = self._indent.sub(lambda found: str(len(indent) + int(found[1])), text)
        return [self._found.sub(self._expression, indent + line) for line in text.splitlines()]

    def _expression(self, match: re.Match[str]) -> str:
        return self._marks[match[0]]


def where(condition: str, text: str) -> str:
    """Enclose lines in a Helm `if`, unless the condition is ""."""
    return f"{{{{- if {condition} }}}}\n{text.rstrip()}\n{{{{- end }}}}\n" if condition else text


def changed(document: Any, change: Callable[[tuple[str, ...], str], str], path: tuple[str, ...] = ()) -> Any:
    """
    Return a copy of a document in which change has replaced every string.

    Args: change receives the path of field names that leads to a string, and the string. It returns the new
    string.
    """
    match document:
        case Mapping():
            return {name: changed(value, change, (*path, str(name))) for name, value in document.items()}
        case list():
            return [changed(value, change, path) for value in document]
        case str():
            return change(path, document)
    return document
