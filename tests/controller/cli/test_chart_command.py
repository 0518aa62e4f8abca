"""
`chart` as people type it: the files, and what it refuses.

tests/manifests/test_helm.py shows what helm makes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from handloop.controller.cli.main import run_command
from support.builders.shop import shop, write_project
from support.checks.output import Ended


@pytest.fixture
def chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Runs `chart` in a project."""
    folder = tmp_path / "sites"
    write_project(folder)
    monkeypatch.chdir(folder)

    def run_it(*words: str) -> Ended:
        return Ended(run_command(shop(), ["chart", *words]), *capsys.readouterr())

    return run_it


def files() -> dict[str, str]:
    """What was made, by path."""
    made = Path("manifests/charts")
    paths = (path for path in made.rglob("*") if path.is_file())
    return {str(path.relative_to(made)): path.read_text(encoding="utf-8") for path in paths}


def test_a_second_time_it_writes_the_same(chart: Callable[..., Ended]) -> None:
    """Byte for byte, and it names each file and the commands that install; a template of before goes."""
    ended = chart()
    assert (ended.code, ended.err) == (0, "")
    made = files()
    assert all(f"wrote: manifests/charts/{path}\n" in ended.out for path in made)
    assert (
        "next:\n  helm upgrade --install sites-crds manifests/charts/sites-crds --namespace sites-system"
        in ended.out
    )
    gone, mine = (Path(f"manifests/charts/sites/templates/{name}.yaml") for name in ("gone", "mine"))
    gone.write_text("# made by `sites chart`; do not edit\n", encoding="utf-8")
    mine.write_text("kind: Secret\n", encoding="utf-8")
    assert f"removed: {gone}\n" in chart().out
    assert files() == {**made, "sites/templates/mine.yaml": "kind: Secret\n"}


@pytest.mark.parametrize(
    ("words", "told", "fix"),
    [
        (["--version=1.0"], '"1.0" is not a semantic version', "--version 1.2.3"),
        (["--manifests=elsewhere"], "No such file", ""),
    ],
)
def test_a_mistake_is_reported_with_its_fix(
    chart: Callable[..., Ended], words: list[str], told: str, fix: str
) -> None:
    """And nothing is written."""
    ended = chart(*words)
    assert ended.code == (2 if fix else 1)
    assert told in ended.err
    assert fix in ended.err
    assert not Path("manifests/charts").exists()


def test_it_is_no_chart_of_another_project(chart: Callable[..., Ended]) -> None:
    """The project names its operator; so does a Deployment whose flags the program would refuse."""
    path = Path("pyproject.toml")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('name = "sites"', 'name = "shops"'), encoding="utf-8")
    assert "this is the project of shops, and the program is sites" in chart().err
    path.write_text(text, encoding="utf-8")
    deployment = Path("manifests/manager/deployment.yaml")
    text = deployment.read_text(encoding="utf-8").replace("--workers", "--wrokers")
    deployment.write_text(text, encoding="utf-8")
    assert "the program would refuse the Deployment's args: unknown flag --wrokers" in chart().err
