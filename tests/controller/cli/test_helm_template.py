"""Templates of Helm as text: what is an expression, and what only looks like one."""

from __future__ import annotations

import pytest

from handloop.controller.cli.helm_template import HelmTemplate, changed, where


def test_an_expression_may_be_all_of_a_value_or_a_part() -> None:
    """Text that looks like one is shown as it is."""
    template = HelmTemplate("")
    name = template.inline("$.Release.Name")
    made = template.rendered({"name": name, "expr": f'{{job="{name}-metrics"}} {{{{ $labels.x }}}}'})
    assert made == (
        "name: {{ $.Release.Name }}\n"
        """expr: '{job="{{ $.Release.Name }}-metrics"} {{ "{{" }} $labels.x }}'\n"""
    )


def test_lines_are_as_deep_as_their_place() -> None:
    """As the value of a field, as fields among others, and in a list."""
    template = HelmTemplate("")
    fields = template.fields("{{- with $.Values.a }}\n" + template.nindent("toYaml .") + "\n{{- end }}")
    made = template.rendered({"spec": [{"x": 1, **fields, "v": template.lines("- {{ . }}\n- b")}]})
    assert made.splitlines() == [
        "spec:",
        "- x: 1",
        "  {{- with $.Values.a }}",
        "  {{- toYaml . | nindent 2 }}",
        "  {{- end }}",
        "  v:",
        "    - {{ . }}",
        "    - b",
    ]


@pytest.mark.parametrize("text", ["HELM0000E", "HELMX", "HELM0I"])
def test_a_text_like_a_mark_is_a_text(text: str) -> None:
    """The marks are others then."""
    template = HelmTemplate(text)
    assert template.rendered({"a": text, "b": template.inline("c")}) == f"a: {text}\nb: {{{{ c }}}}\n"


def test_an_item_is_in_lines() -> None:
    """Also a text, which a list of words would have beside the others."""
    template = HelmTemplate("")
    assert template.item("--a={{ b") == '- --a={{ "{{" }} b\n'
    assert template.item({"a": 1, "b": 2}) == "- a: 1\n  b: 2\n"


def test_a_condition_is_around_its_lines() -> None:
    """None is no condition."""
    assert where("$.Values.a", "b: 1\n") == "{{- if $.Values.a }}\nb: 1\n{{- end }}\n"
    assert where("", "b: 1\n") == "b: 1\n"


def test_a_change_knows_the_place_of_a_text() -> None:
    """The fields down to it; items have those of their list."""
    seen: list[tuple[str, ...]] = []

    def change(path: tuple[str, ...], text: str) -> str:
        seen.append(path)
        return text.upper()

    document = {"a": {"b": "x"}, "c": ["y", {"d": "z"}], "e": 1}
    assert changed(document, change) == {"a": {"b": "X"}, "c": ["Y", {"d": "Z"}], "e": 1}
    assert seen == [("a", "b"), ("c",), ("c", "d")]
