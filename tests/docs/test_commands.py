"""
Each command of the pages that people and assistants begin with runs: here, in another test, or in a workflow.

The pages are README, AGENTS.md and RELEASING.md, and the README and AGENTS.md of a project. A command is what
stands in a block or as code in a sentence; a new one without a row fails.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from handloop.controller.cli.project import Project
from handloop.testing.eventually import eventually
from support.rigs.environment import make_environment

ROOT: Final = Path(__file__).parents[2]
WORKFLOWS: Final = ROOT / ".github/workflows"
SECONDS: Final = 120.0
COMMAND: Final = re.compile(
    r"(?:make|python3?|pip|kubectl|handloop|git|export|helm|docker|cosign|gh|\.|\.venv/bin/\w+) \S|make$"
)
KUBECONFIG: Final = "export KUBECONFIG=.sandbox/kubeconfig"
EXPLORE: Final = "handloop explore my_operator.KIND.reconciler:set_up --apply manifests/samples/KIND.yaml"
IMAGE: Final = "registry.example/handloop:1"
FREE_PORTS: Final = ("METRICS_BIND_ADDRESS", "HEALTH_PROBE_BIND_ADDRESS")


class Run(NamedTuple):
    """
    The command runs here.

    says stands in its output; typed is put in its place and after adds words, to keep it short or apart from
    the machine; it serves until the end of the page, or ends with code.
    """

    says: str = ""
    typed: str = ""
    after: str = ""
    serves: bool = False
    code: int = 0


class Elsewhere(NamedTuple):
    """Another test runs it: its file and function."""

    path: str
    name: str


class Step(NamedTuple):
    """A workflow runs it with each change, or as often as it says: its file, and what stands there."""

    workflow: str
    words: tuple[str, ...]


class Not(NamedTuple):
    """It cannot run in a test."""

    reason: str


Rows = Mapping[str, Run | Elsewhere | Step | Not]

SCAFFOLD: Final = "tests/controller/cli/test_scaffold_command.py"
PROJECT: Final = "tests/controller/cli/test_project.py"
INIT: Final = Elsewhere(SCAFFOLD, "test_each_prints_what_to_type_next")
UPDATE: Final = Elsewhere(
    "tests/controller/cli/test_project_update.py", "test_the_oldest_becomes_what_init_writes_now"
)
CHECKS: Final = Elsewhere(PROJECT, "test_its_own_checks_pass")
TOLD: Final = Elsewhere(PROJECT, "test_what_it_tells_assistants_works")
CHARTS: Final = Elsewhere(PROJECT, "test_its_charts_and_plugins_are_of_its_own_files")
BUNDLE: Final = Elsewhere(PROJECT, "test_its_bundle_is_of_its_own_files")
LINT: Final = Step("ci.yaml", ("make lint",))
TESTS: Final = Step("ci.yaml", ("make test",))
NO_INDEX: Final = "it asks a package index"

README: Final[Rows] = {
    "make see": Elsewhere("learn/tests/docs/test_recorded_page.py", "test_one_command_opens_the_page"),
    "make walkthrough": Run("Chapter 3: ", after=" ARGS='3 --no-pause'"),
    "handloop init": INIT,
    "handloop explore": Elsewhere("tests/test_package.py", "test_the_projects_work_in_any_combination"),
    "make test": TESTS,
    "make run": Run("sandbox ready", serves=True),
    KUBECONFIG: Run(),
    "kubectl apply -f manifests/samples/foo.yaml": Run("foo.samplecontroller.k8s.io/example-foo created"),
    "kubectl get foo,deployment": Run(
        "NAME                          READY   UP-TO-DATE   AVAILABLE   AGE\n",
        typed="kubectl wait --for=create deployment/example-foo && kubectl get foo,deployment",
    ),
    "make -C sandbox run": Run("kubeconfig", serves=True),
    "pip install . ./sandbox ./explore": Run(
        after=" --quiet --no-index --no-deps --no-build-isolation --target=../installed"
    ),
    ". .venv/bin/activate": Run(),
    "python -m ...": Run("usage: python -m controller", typed="python -m controller --help"),
    "python -m controller top": Run("connected to", serves=True),
    "python -m controller manifests crd | kubectl apply -f -": Run("myapps.example.com"),
    "python -m controller --kubeconfig ~/.kube/config": Run("Started workers", serves=True),
    f"make image deploy IMG={IMAGE}": Run("deployment.apps/handloop created", after=" DOCKER=true"),
    "kubectl apply -f manifests/install.yaml": Run("deployment.apps/handloop configured"),
    "make chart": Run("manifests/charts"),
}

AGENTS: Final[Rows] = {
    "make install-dev": Step("ci.yaml", ("make install-dev",)),
    "make lint": LINT,
    "make test": TESTS,
    "handloop init": INIT,
    ".venv/bin/python -m pytest -q tests/workqueue": Run(" passed"),
    ".venv/bin/ruff check controller/foo": Run("All checks passed!"),
    ".venv/bin/python -m controller manifests crd": Run("name: foos.samplecontroller.k8s.io"),
    ".venv/bin/python -m controller doctor --help": Run("doctor"),
    "make show ROW=G07": Run("G07  "),
    "make test TESTS=tests/informers": Run(" passed", after="/test_keys.py WORKERS=0"),
    "make manifests": Run(),
    "make build-installer": Run(),
    "python -m tools.generate_kinds": Elsewhere(
        "tests/kinds/test_round_trip.py", "test_the_modules_are_those_that_the_server_describes"
    ),
    "python -m tools.steps": Run(),
    "python -m tools.snippets": Run(),
    "python -m tools.chapter_pages": Run(after=" 9"),
    "make page": Run(),
    "make lock": Step("locks.yaml", ("make lock",)),
    "make explore PLANS=300": Run(" passed", after=""" PYTEST_ARGS='-k "pairs_triples and foo and life"'"""),
}

RELEASING: Final[Rows] = {
    "make test lint": Step("ci.yaml", ("make test", "make lint")),
    "make distributions VERSION=1.2.3": Run(),
    "git tag v1.2.3 && git push origin v1.2.3": Run(),
}

OPERATOR: Final[Rows] = {
    "handloop init": INIT,
    "handloop create": Elsewhere(PROJECT, "test_a_second_run_keeps_edits"),
    "handloop create api": Elsewhere(PROJECT, "test_a_second_run_keeps_edits"),
    "handloop update": UPDATE,
    "make": Elsewhere("tests/controller/cli/test_project_install.py", "test_make_takes_the_wheel"),
    "make PYTHON=python3 ...": CHECKS,
    "make test": CHECKS,
    "make lint": CHECKS,
    "make bundle IMG=... REPLACES=...": BUNDLE,
    "make chart IMG=...": CHARTS,
    "make lock": Not(NO_INDEX),
    "handloop create api --group web --version v1 --kind Site": Run("my_operator/site/types.py"),
    "handloop create controller --for apps/v1/Deployment": Run("manifests/samples/deployment.yaml"),
    EXPLORE: TOLD,
    "make format": Run(),
    "make manifests": Run(),
    "make run": Run("sandbox ready", serves=True),
    KUBECONFIG: Run(),
    "make install": Run("sites.web.example.com"),
    "kubectl apply -f manifests/samples": Run("site.web.example.com/site-sample created"),
    "make image IMG=...": Run(after=" DOCKER=true"),
    "make deploy IMG=...": Run("successfully rolled out"),
    "python -m my_operator": Run("Starting workers", serves=True),
    "python -m my_operator --help": Run("usage: python -m my_operator"),
    "python -m my_operator doctor": Run("sites.web.example.com"),
    "make plugins": Run(after=" PLUGINS=../bin"),
    "kubectl my_operator doctor": Run("sites.web.example.com"),
    "kubectl my_operator plan": Run("nothing"),
    "kubectl my_operator why NAMESPACE/NAME": Run("Site default/site-sample", after=" --address HOST:PORT"),
}

OF_ASSISTANTS: Final[Rows] = {
    "make lint": CHECKS,
    "make test": CHECKS,
    "make manifests": TOLD,
    "make chart": TOLD,
    f"{EXPLORE} --budget 10s": TOLD,
    "handloop create": Elsewhere(PROJECT, "test_a_second_run_keeps_edits"),
    "handloop create version": Elsewhere(SCAFFOLD, "test_a_kind_gets_versions_one_after_the_other"),
    "handloop update": UPDATE,
    "make bundle": BUNDLE,
    "make lock": Not(NO_INDEX),
    "make crd-diff OLD=git:TAG": Run("no change"),
    "make run": Elsewhere(PROJECT, "test_its_program_runs_on_the_sandbox"),
    "python -m my_operator why NAMESPACE/NAME --address HOST:PORT": Run("Site default/site-sample"),
}


def commands(text: str) -> list[str]:
    """Those of a page, in its order: lines of blocks but for Python's, and code in sentences."""
    lines: list[str] = []
    for language, block in re.findall(r"^```(\w*)[^\n]*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        lines += block.splitlines() if language != "python" else ()
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    lines += re.findall(r"^    (.*)$", prose, re.MULTILINE)
    prose = re.sub(r"^    .*$", "", prose, flags=re.MULTILINE)
    found = [one for line in lines for one in re.split(r" +# |; or |, or ", line.removeprefix("$ "))]
    found += [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]
    return list(dict.fromkeys(one.strip() for one in found if COMMAND.match(one.strip())))


class Terminal:
    """
    Types commands in one folder, with our tools in the PATH; what is exported or activated stays.

    State: _before is that; _ends stops what serves.
    """

    def __init__(self, folder: Path, ends: ExitStack, **environment: str) -> None:
        self._folder = folder
        self._ends = ends
        self._before = ""
        self._environment = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")},
            **{
                f"{name}_{port}": "127.0.0.1:0" for name in ("HANDLOOP", "MY_OPERATOR") for port in FREE_PORTS
            },
            "MY_OPERATOR_SANDBOX_SPEED": "20",
            "HOME": str(folder.parent),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "PYTHONDONTWRITEBYTECODE": "1",
            **environment,
        }

    def type(self, command: str, row: Run) -> None:
        """Run a command. Raises: AssertionError when it fails, or says something else."""
        typed = row.typed
        if command.startswith(("export ", ". ")):
            self._before += f"{typed}\n"
        if row.serves:
            self._ends.enter_context(self._serving(typed, row.says))
            return
        ended = subprocess.run(
            ["sh", "-c", self._before + typed],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert ended.returncode == row.code, f"{typed}\n{ended.stdout}"
        assert row.says in ended.stdout, f"{typed}\n{ended.stdout}"

    @contextmanager
    def _serving(self, typed: str, says: str) -> Iterator[None]:
        """It runs, and has said that it is ready; at the end Ctrl-C ends it."""
        written = self._folder.parent / f"{len(list(self._folder.parent.iterdir()))}.log"
        with (
            written.open("wb") as log,
            subprocess.Popen(
                ["sh", "-c", self._before + typed],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for all that it started
            ) as process,
        ):
            try:
                eventually(
                    lambda: says in written.read_text("utf-8") or process.poll() is not None,
                    f"ready: {typed}",
                    seconds=SECONDS,
                )
                assert process.poll() is None, f"{typed}\n{written.read_text('utf-8')}"
                yield
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGINT)
                process.wait(SECONDS)


@pytest.fixture
def ends() -> Iterator[ExitStack]:
    """Ends what serves, the last first."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of this one, with an environment in .venv as make would install it."""
    made = tmp_path / "handloop"
    left = (
        ".git",
        ".venv*",
        "build",
        "__pycache__",
        ".*_cache",
        ".sandbox",
        ".hypothesis",
        "charts",
        "*.egg-info",
    )
    shutil.copytree(ROOT, made, symlinks=True, ignore=shutil.ignore_patterns(*left))
    bin_ = make_environment(made / ".venv")
    for name in ("ruff", "mypy"):
        (bin_ / name).symlink_to(Path(sys.executable).with_name(name))
    write_program(bin_ / "pip", '"$(dirname "$0")/python" -m pip')
    for name in (".installed", ".installed-dev"):
        (made / ".venv" / name).touch()
    return made


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A new project, and handloop and its Python beside it, in a folder named bin."""
    made = Project.new(tmp_path / "my-operator", "example.com")
    list(made.write())
    (tmp_path / "bin").mkdir()
    for name in ("python", "python3"):
        write_program(tmp_path / "bin" / name, shlex.quote(sys.executable))
    write_program(tmp_path / "bin/handloop", f"{shlex.quote(sys.executable)} -m handloop")
    return made.folder


def write_program(path: Path, command: str) -> None:
    """A program that runs a command with its own arguments."""
    path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def kubectl() -> Path:
    """The stock kubectl's folder."""
    found = os.environ.get("KUBECTL") or shutil.which("kubectl")
    if not found:
        pytest.skip("no kubectl: set KUBECTL or install it in PATH")
    return Path(found).parent


def text_of(path: str) -> str:
    """A page of this repository, or of a new project."""
    if not path.startswith("project/"):
        return (ROOT / path).read_text(encoding="utf-8")
    template = ROOT / f"controller/cli/templates/{path}.tmpl"
    names = {"%{package}": "my_operator", "%{name}": "my-operator", "%{domain}": "example.com"}
    return re.sub(r"%\{\w+\}", lambda name: names[name[0]], template.read_text(encoding="utf-8"))


PAGES: Final[Mapping[str, Rows]] = {
    "README.md": README,
    "AGENTS.md": AGENTS,
    "RELEASING.md": RELEASING,
    "project/README.md": OPERATOR,
    "project/AGENTS.md": OF_ASSISTANTS,
}


@pytest.mark.parametrize("page", PAGES)
def test_each_command_has_a_row(page: str) -> None:
    """And each row a command; the tests and the steps of workflows that rows name are there."""
    rows = PAGES[page]
    assert set(commands(text_of(page))) == set(rows)
    for command, row in rows.items():
        if isinstance(row, Elsewhere):
            source = (ROOT / row.path).read_text(encoding="utf-8")
            assert f"\ndef {row.name}(" in source, command
        elif isinstance(row, Step):
            text = (WORKFLOWS / row.workflow).read_text(encoding="utf-8")
            assert all(re.search(rf"run: {words}$", text, re.MULTILINE) for words in row.words), command


def play(terminal: Terminal, rows: Rows, replaced: Mapping[str, str] = {}) -> None:
    """Type each command that runs here, in the order of its rows."""
    for command, row in rows.items():
        if isinstance(row, Run):
            typed = f"{row.typed or command}{row.after}"
            for word, value in replaced.items():
                typed = typed.replace(word, value)
            terminal.type(command, row._replace(typed=typed))


@pytest.mark.kubectl
def test_the_readme_works(checkout: Path, ends: ExitStack) -> None:
    """From the clone to a cluster; where it says ~/.kube/config, that leads to the sandbox."""
    (checkout.parent / ".kube").mkdir()
    (checkout.parent / ".kube/config").symlink_to(checkout / ".sandbox/kubeconfig")
    path = os.pathsep.join((str(checkout / ".venv/bin"), str(kubectl()), os.environ["PATH"]))
    play(Terminal(checkout, ends, PATH=path), README)


@pytest.mark.kubectl
def test_what_assistants_are_told_works(checkout: Path, ends: ExitStack) -> None:
    """What writes files writes those that are kept."""
    path = os.pathsep.join((str(checkout / ".venv/bin"), str(kubectl()), os.environ["PATH"]))
    play(Terminal(checkout, ends, PATH=path), AGENTS)
    for folder in ("manifests", "learn/docs", "docs/internals"):
        for written in (checkout / folder).rglob("*.*"):
            assert (
                written.is_dir()
                or written.read_bytes() == (ROOT / written.relative_to(checkout)).read_bytes()
            )


def test_a_release_is_as_the_page_says(checkout: Path, ends: ExitStack) -> None:
    """The version is set as it says; another one is refused."""
    git = "git -c user.name=a -c user.email=a@example.com"
    terminal = Terminal(
        checkout, ends, PATH=os.pathsep.join((str(checkout / ".venv/bin"), os.environ["PATH"]))
    )
    terminal.type("", Run(typed="git init --quiet --bare ../origin && git init --quiet"))
    terminal.type(
        "", Run(typed=f"git remote add origin ../origin && {git} commit --quiet --allow-empty -m a")
    )
    command = "make distributions VERSION=1.2.3"
    terminal.type("", Run("the version in . is not 1.2.3", typed=command, code=2))
    for folder in (".", "sandbox", "explore", "learn"):
        path = checkout / folder / "pyproject.toml"
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r'^version = ".*"$', 'version = "1.2.3"', text, flags=re.MULTILINE), "utf-8")
    play(terminal, RELEASING)
    built = {path.name for path in (checkout / "build/distributions").iterdir()}
    assert {"handloop-1.2.3-py3-none-any.whl", "handloop-1.2.3.tar.gz"} <= built
    assert len(built) == 8
    terminal.type("", Run("refs/tags/v1.2.3", typed="git ls-remote --tags origin"))


REPLACED: Final = {
    "HOST:PORT": """$(sed -n 's/.*metrics="\\([^"]*\\)".*/\\1/p' ../*.log | head -1)""",
    "KIND": "site",
    "TAG": "v1.0.0",
    "IMG=...": "IMG=registry.example/my-operator:1",
    "NAMESPACE/NAME": "default/site-sample",
}


@pytest.mark.kubectl
def test_the_pages_of_a_project_work(project: Path, ends: ExitStack) -> None:
    """From the new project to a cluster, which is the sandbox."""
    path = os.pathsep.join((str(project.parent / "bin"), str(kubectl()), os.environ["PATH"]))
    terminal = Terminal(project, ends, PATH=path, PYTHONPATH=str(ROOT), MAKEFLAGS="PYTHON=python3")
    play(terminal, OPERATOR, REPLACED)
    git = "git -c user.name=a -c user.email=a@example.com"
    terminal.type(
        "", Run(typed=f"git init --quiet && git add . && {git} commit --quiet -m a && git tag v1.0.0")
    )
    play(terminal, OF_ASSISTANTS, REPLACED)
