"""A project as `handloop init` and `handloop create api` make it: its own checks, its program, and edits."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from handloop.apis.grammar.yaml_text import is_plain
from handloop.client.config import load_config
from handloop.client.errors import NotFound
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.project import IMPORT_MARK, SET_UP_MARK, Project, ProjectError, module_of
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing.eventually import eventually as until

ROOT: Final = Path(__file__).parents[3]
TEMPLATES: Final = ROOT / "controller/cli/templates"
API: Final = {"group": "web", "version": "v1"}
SITES: Final = "/apis/web.example.com/v1/namespaces/default/sites"
MAKE: Final = ("make", "--silent", f"PYTHON={sys.executable}")
JSON: Final = {"Content-Type": "application/json"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An operator of two kinds; the one that was added later sorts first."""
    made = Project.new(tmp_path / "my-operator", "example.com")
    list(made.write())
    for kind in ("Site", "HTTPRoutePolicy"):
        list(made.add_api(**API, kind=kind))
    return made


def environment() -> dict[str, str]:
    """An environment in which the checkout stands in for an installed handloop."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COVERAGE"))}
    once = {"MYPY_CACHE_DIR": os.devnull}  # its cache would not be read
    # an installed one has an entry point, also with `pip install -e .`, and pytest takes no plugin twice
    installed = metadata.entry_points(group="pytest11", name="handloop")
    plugin = {} if installed else {"PYTEST_PLUGINS": "handloop.pytest_plugin"}
    return kept | once | plugin | {"PYTHONPATH": str(ROOT)}


def ran(project: Project, *command: str) -> str:
    """The output of a command that succeeds in the project."""
    ended = subprocess.run(
        command,
        cwd=project.folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def manifests_of(project: Project, *paths: str) -> list[dict[str, Any]]:
    """The objects in files below manifests/."""
    files = [project.folder / "manifests" / path for path in paths]
    return [found for file in files for found in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


def test_its_own_checks_pass(project: Project) -> None:
    """
    Ruff, mypy --strict, and its tests, which run all controllers on the sandbox.

    Two kinds and one without namespaces; built-in kinds of another module than the child's, of the same, and
    without namespaces.
    """
    list(project.add_api(**API, kind="Team", scope="Cluster"))
    for api_version, kind in (("apps/v1", "Deployment"), ("v1", "Secret"), ("v1", "Namespace")):
        list(project.add_controller(api_version, kind))
    ran(project, *MAKE, "lint")
    assert "9 passed" in ran(project, *MAKE, "test")


@pytest.mark.nightly
def test_every_built_in_kind_that_is_offered_works(tmp_path: Path) -> None:
    """The project's checks pass with a controller for each."""
    project = Project.new(tmp_path / "my-operator", "example.com")
    list(project.write())
    objects = yaml.safe_load_all((TEMPLATES / "objects.yaml").read_text(encoding="utf-8"))
    names = [(each["apiVersion"], each["kind"]) for each in objects]
    for name in names:
        list(project.add_controller(*name))
    ran(project, *MAKE, "lint")
    assert f"{len(names)} passed" in ran(project, *MAKE, "test")


def test_without_a_kind_it_names_what_to_type(tmp_path: Path) -> None:
    """`make run` right after init."""
    project = Project.new(tmp_path / "my-operator", "example.com")
    list(project.write())
    command = (sys.executable, "-m", "my_operator", "--sandbox")
    ended = subprocess.run(
        command, cwd=project.folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "handloop create api --group web --version v1 --kind Site" in ended.stderr


def resources_of(project: Project, folder: str) -> Iterator[dict[str, Any]]:
    """What kustomize makes of a folder without patches."""
    (listed,) = manifests_of(project, f"{folder}/kustomization.yaml")
    for path in listed["resources"]:
        place = os.path.normpath(f"{folder}/{path}")
        yield from manifests_of(project, place) if place.endswith(".yaml") else resources_of(project, place)


def test_it_has_the_manifests_of_the_repository(project: Project) -> None:
    """File by file, under its own name; for those that are made of the code it has its own."""
    ran(project, *MAKE, "manifests")
    made, ours = (
        {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        for folder in (project.folder / "manifests", ROOT / "manifests")
    )
    ours = {path for path in ours if not path.startswith(("samples", "bundle", "charts", "install.yaml"))}
    assert {path for path in made if not path.startswith("samples")} == ours
    for path in ours:
        text = (ROOT / "manifests" / path).read_text(encoding="utf-8")
        if not text.startswith("# made by "):
            own = (project.folder / "manifests" / path).read_text(encoding="utf-8")
            assert own.replace("my-operator", "handloop").replace("MyOperator", "Handloop") == text, path


def test_its_manifests_belong_together(project: Project) -> None:
    """Each listed file is there once make has run; names of accounts, roles and namespaces are the same."""
    ran(project, *MAKE, "manifests")
    assert ran(project, sys.executable, "-m", "my_operator", "crd") == (
        project.folder / "manifests/crd/crds.yaml"
    ).read_text(encoding="utf-8")
    objects = list(resources_of(project, "."))
    names = {(each["kind"], each["metadata"]["name"], each["metadata"].get("namespace")) for each in objects}
    bindings = [each for each in objects if each["kind"].endswith("RoleBinding")]
    for binding in bindings:
        reference, (subject,) = binding["roleRef"], binding["subjects"]
        assert (reference["kind"], reference["name"], binding["metadata"].get("namespace")) in names
        assert (subject["kind"], subject["name"], subject["namespace"]) in names
    assert len(bindings) == 4
    kinds = {each["kind"] for each in objects}
    assert {"PodDisruptionBudget", "Service", "ServiceAccount"} <= kinds
    people = {
        "site-viewer",
        "site-editor",
        "httproutepolicy-viewer",
        "httproutepolicy-editor",
        "metrics-reader",
    }
    assert {f"my-operator-{role}" for role in people} <= {each["metadata"]["name"] for each in objects}
    (deployment,) = [each for each in objects if each["kind"] == "Deployment"]
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    namespace = deployment["metadata"]["namespace"]
    assert {("ServiceAccount", account, namespace), ("Namespace", namespace, None)} <= names
    assert {each[1] for each in names if each[0] == "CustomResourceDefinition"} == {
        "sites.web.example.com",
        "httproutepolicies.web.example.com",
    }


def test_its_roles_follow_the_flags_of_its_deployment(project: Project) -> None:
    """Shards in place of leader election are one line of the Deployment; the bindings stay as they are."""
    path = project.folder / "manifests/manager/deployment.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("- --leader-elect\n", "- --shards=16\n"), encoding="utf-8")
    ran(project, *MAKE, "manifests")
    _, leases, reviews = manifests_of(project, "rbac/role.yaml")
    assert reviews["metadata"] == {"name": "my-operator-metrics-auth"}
    assert manifests_of(project, "shards/role.yaml") == manifests_of(project, "rbac/role.yaml")
    assert leases["metadata"] == {"name": "my-operator-leader-election", "namespace": "my-operator-system"}
    assert "list" in leases["rules"][0]["verbs"]


def test_its_bundle_is_of_its_own_files(project: Project) -> None:
    """`make bundle`: the version of pyproject.toml, both kinds, and a sample of each."""
    ran(project, *MAKE, "bundle", "IMG=example.org/my-operator:1", "REPLACES=0.0.9")
    (made,) = manifests_of(project, "bundle/manifests/my-operator.clusterserviceversion.yaml")
    assert (made["metadata"]["name"], made["spec"]["replaces"]) == (
        "my-operator.v0.1.0",
        "my-operator.v0.0.9",
    )
    examples = json.loads(made["metadata"]["annotations"]["alm-examples"])
    owned = made["spec"]["customresourcedefinitions"]["owned"]
    kinds = {"HTTPRoutePolicy", "Site"}
    assert {each["kind"] for each in examples} == {each["kind"] for each in owned} == kinds
    (image,) = made["spec"]["relatedImages"]
    assert image["image"] == "example.org/my-operator:1"


def test_its_charts_and_plugins_are_of_its_own_files(project: Project, tmp_path: Path) -> None:
    """`make chart` has both kinds; `make plugins` gives kubectl three commands that run this program."""
    ran(project, *MAKE, "chart", "IMG=example.org/my-operator:1")
    (values,) = manifests_of(project, "charts/my-operator/values.yaml")
    assert values["image"]["repository"] == "example.org/my-operator"
    kinds = {path.stem for path in (project.folder / "manifests/charts/my-operator-crds/templates").iterdir()}
    assert kinds == {"web.example.com_sites", "web.example.com_httproutepolicies"}
    ran(project, *MAKE, "plugins", f"PLUGINS={tmp_path / 'plugins'}")
    assert {path.name for path in (tmp_path / "plugins").iterdir()} == {
        f"kubectl-my_operator-{word}" for word in ("doctor", "plan", "why")
    }
    assert "my_operator plan [-h]" in ran(
        project, str(tmp_path / "plugins/kubectl-my_operator-plan"), "--help"
    )


def test_what_it_tells_assistants_works(project: Project) -> None:
    """Each command of AGENTS.md; lint and test are test_its_own_checks_pass."""
    text = (project.folder / "AGENTS.md").read_text(encoding="utf-8").replace("KIND", "site")
    commands = [
        line
        for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    assert commands[:2] == ["make lint", "make test"]
    for command in commands[2:]:
        first, *rest = shlex.split(command)
        ran(project, *(MAKE if first == "make" else (sys.executable, "-m", "handloop")), *rest)
    paths = re.findall(r"`(my_operator/[^`]+|tests|wheels|manifests/[^`]+)`", text)
    missing = {path for path in paths if not (project.folder / path).exists()}
    assert missing <= {"manifests/bundle", "wheels"}


def test_its_program_runs_on_the_sandbox(project: Project) -> None:
    """`make run` is this: an object that a user creates is reconciled, and SIGINT ends it in order."""
    kubeconfig = project.folder / ".sandbox/kubeconfig"
    command = (sys.executable, "-m", "my_operator", "--sandbox", "--debug-listen=0")
    assert ran(project, *command[:3], "version").startswith("my-operator 0.1.0 (")
    with subprocess.Popen(command, cwd=project.folder, env=environment(), stderr=subprocess.PIPE) as running:
        try:
            until(kubeconfig.exists, "served", seconds=60)
            transport = HTTPTransport(load_config(kubeconfig=str(kubeconfig)))
            (sample,) = manifests_of(project, "samples/site.yaml")
            created = transport.request("POST", SITES, headers=JSON, body=json.dumps(sample).encode())
            assert created.status == 201, created.body
            until(lambda: message(Client(transport)) == "hello", "reconciled", seconds=60)
            transport.close()
        finally:
            running.send_signal(signal.SIGINT)
            said = running.communicate(timeout=60)[1].decode()
    assert running.returncode == 0, said
    assert 'version="0.1.0"' in said


def message(client: Client) -> str | None:
    """The content of the sample's ConfigMap."""
    try:
        return client.resource(ConfigMap).get("site-sample", namespace="default").data["message"]
    except NotFound:
        return None


def test_its_image_is_made_of_what_may_be_copied(project: Project) -> None:
    """The recipe runs the package as the Deployment's user; .dockerignore lets the package through."""
    recipe = (project.folder / "Dockerfile").read_text(encoding="utf-8")
    (deployment,) = [each for each in manifests_of(project, "manager/deployment.yaml") if "spec" in each]
    security = deployment["spec"]["template"]["spec"]["securityContext"]
    assert f"\nUSER {security['runAsUser']}:{security['runAsGroup']}\n" in recipe
    (entry,) = re.findall(r"^ENTRYPOINT (.*)$", recipe, re.MULTILINE)
    assert yaml.safe_load(entry)[1:] == ["-m", "my_operator"]
    assert "!my_operator\n" in (project.folder / ".dockerignore").read_text(encoding="utf-8")


def test_only_a_path_leads_to_handloop(project: Project) -> None:
    """No requirement names it, or the owner of that name in an index would be asked."""
    text = (project.folder / "pyproject.toml").read_text(encoding="utf-8")
    wanted = tomllib.loads(text)["project"]
    named = [*wanted["dependencies"], *wanted["optional-dependencies"]["dev"]]
    assert not [requirement for requirement in named if requirement.startswith("handloop")]
    own, explore, learn, sandbox = (
        f"./wheels/{one.name}" for one in sorted((project.folder / "wheels").iterdir())
    )
    for name, paths in (
        ("requirements.in", [f"{own}[tls]"]),
        ("requirements-dev.in", [f"{own}[sandbox,explore,learn,tls]", sandbox, explore, learn]),
    ):
        lines = (project.folder / name).read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if line[0] != "#"] == paths


def contents(project: Project) -> dict[Path, bytes]:
    """Every file."""
    return {path: path.read_bytes() for path in project.folder.rglob("*") if path.is_file()}


def test_a_second_run_keeps_edits(project: Project) -> None:
    """It names the files that it kept, and makes missing ones anew; untouched files are not named."""
    for path in ("Makefile", "my_operator/site/reconciler.py"):
        with (project.folder / path).open("a", encoding="utf-8") as file:
            file.write("# edited\n")
    before = contents(project)
    (project.folder / ".gitignore").unlink()
    at = project.folder
    *files, note = project.write()
    assert files == [
        f"wrote: {at / '.gitignore'}",
        f"kept: {at / 'Makefile'}",
        f"kept: {at / 'my_operator/controllers.py'}",
    ]
    assert note.startswith("note: the wheels are the running handloop")
    assert list(project.add_api(**API, kind="Site")) == [f"kept: {at / 'my_operator/site/reconciler.py'}"]
    assert contents(project) == before


@pytest.mark.parametrize("same_name", [True, False])
def test_wheels_of_another_build_are_kept_and_named(project: Project, same_name: bool) -> None:
    """By name and by content; nothing of this build comes beside them, and the note has the way over."""
    wheels = project.folder / "wheels"
    (own,) = wheels.glob("handloop-*.whl")
    older = own if same_name else own.rename(wheels / "handloop-0.1.0-py3-none-any.whl")
    older.write_bytes(b"another build")
    for name in ("requirements.in", "requirements-dev.in"):
        path = project.folder / name
        path.write_text(path.read_text(encoding="utf-8").replace(own.name, older.name), encoding="utf-8")
    before = contents(project)
    *_, note = project.write()
    assert contents(project) == before
    assert f"  theirs: {older.name}\n  runs:   {own.name}\n" in note
    assert "rm -r wheels requirements.in requirements-dev.in, and repeat here:\n" in note
    assert f"handloop init {project.folder} --domain example.com" in note
    shutil.rmtree(wheels)
    for name in ("requirements.in", "requirements-dev.in"):
        (project.folder / name).unlink()
    *_, note = project.write()
    assert note.startswith("note: the wheels are the running handloop")
    assert own.exists()


@pytest.mark.parametrize("end", ["", f"{SET_UP_MARK}\n{IMPORT_MARK}\n"])
def test_without_its_marks_nothing_is_added(end: str, project: Project) -> None:
    """The line has the text to add by hand. Marks in another order do not count."""
    path = project.folder / "my_operator/controllers.py"
    text = path.read_text(encoding="utf-8")
    edited = text.replace(IMPORT_MARK, "").replace(f"{SET_UP_MARK}\n", "" if end else SET_UP_MARK) + end
    path.write_text(edited, encoding="utf-8")
    *_, last = project.add_api(**API, kind="Page")
    assert "add these yourself: from my_operator.page.reconciler import set_up as page" in last
    assert path.read_text(encoding="utf-8") == edited


@pytest.mark.parametrize(
    ("name", "domain", "said"),
    [
        ("My_Operator", "example.com", '"My_Operator" is not a valid name for an operator'),
        ("my-operator", "example", '"example" is not a valid name for a domain'),
        ("my-operator", "apps.k8s.io", "Kubernetes' own"),
        ("json", "example.com", "json is a name that Python"),
    ],
)
def test_names_are_checked_first(name: str, domain: str, said: str, tmp_path: Path) -> None:
    """Before anything is written."""
    with pytest.raises(ProjectError, match=re.escape(said)):
        Project.new(tmp_path / name, domain)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("group", "version", "kind", "said"),
    [
        ("web", "v1", "None", "None is a name that Python"),
        ("web", "v1", "Path", "Path is a name that Python or handloop uses"),
        ("web", "v1", "Tuple", "Tuple is a name that Python"),
        ("web", "v1", "Controllers", "Controllers is a name that Python"),
        ("web", "v1", "S" * 60, f'"{"S" * 60}" is not a valid name for a kind'),
        ("Web", "v1", "Page", '"Web" is not a valid name for a group'),
        ("web", "1", "Page", '"1" is not a valid name for a version'),
        ("web", "v1", "page", '"page" is not a valid name for a kind'),
        ("web", "v1", "Class", "Class is a name that Python"),
        ("web", "v1", "ConfigMap", "ConfigMap is a name that Python or handloop uses"),
        ("shop", "v1", "Site", 'has no class Site with group="shop.example.com", version="v1"'),
    ],
)
def test_kinds_are_checked_first(group: str, version: str, kind: str, said: str, project: Project) -> None:
    """Nothing is written for a name that does not work, nor for a second kind of one name."""
    before = contents(project)
    with pytest.raises(ProjectError, match=re.escape(said)):
        list(project.add_api(group=group, version=version, kind=kind))
    assert contents(project) == before


def test_another_folder_is_no_project(project: Project, tmp_path: Path) -> None:
    """Without pyproject.toml, with a foreign one, and with one of another domain."""
    with pytest.raises(ProjectError, match=r"has no pyproject\.toml"):
        Project.at(tmp_path)
    with pytest.raises(
        ProjectError, match=r"already contains the project my-operator with the domain example\.com"
    ):
        Project.new(project.folder, "example.org")
    for text, said in (("[project]\n", "without name and domain"), ("[", "cannot be read")):
        (project.folder / "pyproject.toml").write_text(text, encoding="utf-8")
        with pytest.raises(ProjectError, match=said):
            Project.new(project.folder, "example.com")


@pytest.mark.parametrize(
    ("name", "domain", "said"),
    [
        ('"../../evil"', '"example.com"', '"../../evil" is not a valid name for an operator'),
        ('"/evil"', '"example.com"', '"/evil" is not a valid name for an operator'),
        ("3", '"example.com"', '"3" is not a valid name for an operator'),
        ('["a"]', '"example.com"', "is not a valid name for an operator"),
        ('"good"', "'example.com\"): evil('", "is not a valid name for a domain"),
        ('"good"', "1", '"1" is not a valid name for a domain'),
        ('"good"', f'"{"a." * 64}com"', "is not a valid name for a domain"),
    ],
)
def test_the_names_of_a_project_are_checked_again(name: str, domain: str, said: str, tmp_path: Path) -> None:
    """Paths and code are made of them, so they are checked even in a pyproject.toml by hand."""
    text = f"[tool.handloop]\nname = {name}\ndomain = {domain}\n"
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ProjectError, match=re.escape(said)):
        Project.at(tmp_path)


def test_a_kind_of_the_longest_name_loads(tmp_path: Path) -> None:
    """The names of its list and of its CRD still fit."""
    project = Project.new(tmp_path / "my-operator", f"{'a.' * 62}com")
    list(project.write())
    list(project.add_api(group="g" * 63, version="v1", kind="S" * 59))
    assert f"{'s' * 59}es.{'g' * 63}.{'a.' * 62}com" in ran(
        project, sys.executable, "-m", "my_operator", "crd"
    )


def test_a_kind_without_a_sample_is_refused(project: Project) -> None:
    """What there is stands in the fix."""
    with pytest.raises(ProjectError, match="handloop cannot create a controller for v1/Widget") as raised:
        list(project.add_controller("v1", "Widget"))
    assert "apps/v1/Deployment" in raised.value.fix


def test_a_module_is_named_after_its_kind() -> None:
    """Words by underscores, acronyms as one word."""
    assert [module_of(kind) for kind in ("Site", "BlogPost", "HTTPRoute", "V2Ray")] == [
        "site",
        "blog_post",
        "http_route",
        "v2_ray",
    ]


@pytest.mark.parametrize("kind", ["Y", "N", "No", "On", "Off", "Yes", "Null", "E1"])
def test_a_kind_that_kubectl_takes_for_another_value_is_quoted(project: Project, kind: str) -> None:
    """In the sample: without quotes `kind: Y` is true."""
    list(project.add_api(**API, kind=kind))
    text = (project.folder / f"manifests/samples/{kind.lower()}.yaml").read_text(encoding="utf-8")
    assert f"kind: {kind}\n" in text if is_plain(kind) else f"kind: '{kind}'\n" in text
    assert yaml.safe_load(text)["kind"] == kind


@pytest.mark.parametrize(
    ("named", "why", "fix"),
    [
        ("apps/v1/Deploymant", "", "did you mean apps/v1/Deployment?"),
        ("Deployment", "", "did you mean apps/v1/Deployment?"),
        ("apps/v1beta1/Deployment", "", "did you mean apps/v1/Deployment?"),
        ("apps/v1", ": that is not GROUP/VERSION/KIND", "one of apps/v1/Deployment, "),
        ("a/b/v1/C", ": that is not GROUP/VERSION/KIND", "one of apps/v1/Deployment, "),
        (
            "web.example.com/v1/Site",
            ": web.example.com is a group of this project",
            "handloop create api --group web --version v1 --kind Site",
        ),
        (
            "policy/v1/PodDisruptionBudget",
            ": handloop has its type, but no sample",
            "use PodDisruptionBudget from handloop.kinds.policy_v1 and your own sample instead: docs/how-to/",
        ),
        (
            "resource.k8s.io/v1/ResourceClaim",
            ": handloop has no type for it",
            'use Unstructured.of("resource.k8s.io/v1", "ResourceClaim") or a class with group=',
        ),
        (
            "serving.knative.dev/v1/Service",
            ": another program defines it",
            'use Unstructured.of("serving.knative.dev/v1", "Service") or the class that `handloop create',
        ),
    ],
)
def test_a_kind_that_it_does_not_know_has_a_way(named: str, why: str, fix: str, project: Project) -> None:
    """A slip, a kind of the project, a type without a sample, or a kind of another program."""
    api_version, _, kind = named.rpartition("/")
    before = contents(project)
    with pytest.raises(ProjectError) as caught:
        list(project.add_controller(api_version, kind))
    assert str(caught.value) == f"handloop cannot create a controller for {named}{why}"
    assert fix in caught.value.fix
    assert contents(project) == before
