"""`bundle` as people type it: the files, what it reads, and what it refuses."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from handloop.apis.crd import custom_resource_definition
from handloop.controller.cli.dry_set_up import DrySetUp
from handloop.controller.cli.main import run_command
from handloop.controller.cli.operator import Operator
from handloop.controller.cli.problems import EXIT_USAGE
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop.controller.program import PROGRAM
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from support.builders.converted_sites import Site
from support.checks.output import Ended

ROOT: Final = Path(__file__).parents[3]
CSV: Final = "manifests/handloop.clusterserviceversion.yaml"
BESIDE: Final = (
    "manifests/handloop-metrics_service.yaml",
    "manifests/handloop_poddisruptionbudget.yaml",
    "manifests/handloop_prometheusrule.yaml",
    "manifests/handloop_servicemonitor.yaml",
)
FOO: Final = "apiVersion: samplecontroller.k8s.io/v1alpha1\nkind: Foo\nmetadata: {name: a}\n"


@pytest.fixture
def bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Runs `bundle` in a copy of what it reads of this repository; writes to made/."""
    for path in ("default", "manager", "prometheus", "samples"):
        shutil.copytree(ROOT / "manifests" / path, tmp_path / "manifests" / path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    monkeypatch.chdir(tmp_path)

    def run_it(*words: str) -> Ended:
        command = ["bundle", "--image=handloop:latest", "--output=made", *words]
        return Ended(run_command(PROGRAM, command), *capsys.readouterr())

    return run_it


def files(folder: Path) -> dict[str, str]:
    """The files of a folder, by path."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in paths}


def documents() -> dict[str, Any]:
    """The YAML of made/, by path."""
    return {path: yaml.safe_load(text) for path, text in files(Path("made")).items() if path.endswith("yaml")}


def edit_containers(edit: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the containers of the Deployment; it begins with one."""
    path = Path("manifests/manager/deployment.yaml")
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    edit(document["spec"]["template"]["spec"]["containers"])
    path.write_text(yaml.safe_dump(document), encoding="utf-8")


def test_a_second_time_it_writes_the_same(bundle: Callable[..., Ended]) -> None:
    """Byte for byte; each file is named."""
    ended = bundle()
    assert (ended.code, ended.err) == (0, "")
    made = files(Path("made"))
    assert [f"wrote: made/{path}" in ended.out for path in made] == [True] * len(made)
    bundle()
    assert files(Path("made")) == made


def test_it_holds_the_definitions_and_prints_where_all_is(bundle: Callable[..., Ended]) -> None:
    """An image of nothing but metadata, with the labels that annotations.yaml has."""
    assert bundle("--channel=fast").code == 0
    made = documents()
    assert made["manifests/samplecontroller.k8s.io_foos.yaml"] == custom_resource_definition(Foo)
    assert made["manifests/example.com_myapps.yaml"] == custom_resource_definition(MyApp)
    annotations = made["metadata/annotations.yaml"]["annotations"]
    told = {name.removeprefix("operators.operatorframework.io.bundle."): v for name, v in annotations.items()}
    assert told == {
        "mediatype.v1": "registry+v1",
        "manifests.v1": "manifests/",
        "metadata.v1": "metadata/",
        "package.v1": "handloop",
        "channels.v1": "fast",
        "channel.default.v1": "fast",
    }
    lines = Path("made/bundle.Dockerfile").read_text(encoding="utf-8").splitlines()[1:]
    assert lines == [
        "FROM scratch",
        *(f"LABEL {name}={value}" for name, value in annotations.items()),
        "COPY manifests /manifests/",
        "COPY metadata /metadata/",
    ]


def test_what_the_deployment_runs_is_what_is_installed(bundle: Callable[..., Ended]) -> None:
    """With --controllers=foo in its args there is neither the kind MyApp nor its sample; an old file goes."""
    assert bundle().code == 0
    Path("made/manifests/mine.yaml").write_text("kind: Service\n", encoding="utf-8")
    edit_containers(lambda containers: containers[0]["args"].append("--controllers=foo"))
    ended = bundle()
    assert "removed: made/manifests/example.com_myapps.yaml\n" in ended.out
    made = documents()
    assert set(made) == {
        CSV,
        "manifests/samplecontroller.k8s.io_foos.yaml",
        "manifests/mine.yaml",
        *BESIDE,
        "metadata/annotations.yaml",
        "metadata/properties.yaml",
    }
    assert "MyApp" not in made[CSV]["metadata"]["annotations"]["alm-examples"]
    assert [owned["kind"] for owned in made[CSV]["spec"]["customresourcedefinitions"]["owned"]] == ["Foo"]


def test_what_stands_beside_the_deployment_is_installed_with_it(bundle: Callable[..., Ended]) -> None:
    """In the namespace that OLM chooses, which no query names; without Prometheus all else is installed."""
    assert bundle().code == 0
    made = documents()
    beside = [made[path] for path in BESIDE]
    assert not [one for one in beside if "namespace" in one["metadata"]]
    (group,) = made["manifests/handloop_prometheusrule.yaml"]["spec"]["groups"]
    assert len(group["rules"]) == 21
    for rule in group["rules"]:
        assert '{job="handloop-metrics"' in rule["expr"]
        assert "handloop-system" not in rule["expr"]
    (optional,) = made["metadata/properties.yaml"]["properties"]
    names = {(one["group"], one["kind"], one["name"]) for one in optional["value"]["manifests"]}
    assert optional["type"] == "olm.manifests.optional"
    assert names == {
        ("monitoring.coreos.com", kind, "handloop") for kind in ("PrometheusRule", "ServiceMonitor")
    }


def test_a_base_adds_and_replaces_fields(bundle: Callable[..., Ended]) -> None:
    """At any depth: an icon, a creation time, another name for people."""
    base: dict[str, Any] = {
        "metadata": {"annotations": {"createdAt": "2026-01-01T00:00:00Z"}},
        "spec": {"displayName": "By hand", "icon": [{"base64data": "eA==", "mediatype": "image/png"}]},
    }
    Path("base.yaml").write_text(yaml.safe_dump(base), encoding="utf-8")
    assert bundle("--base=base.yaml").code == 0
    made = documents()[CSV]
    assert made["metadata"]["annotations"]["createdAt"] == "2026-01-01T00:00:00Z"
    assert made["metadata"]["annotations"]["containerImage"] == "handloop:latest"
    assert made["spec"]["displayName"] == "By hand"
    assert made["spec"]["icon"] == base["spec"]["icon"]
    assert made["spec"]["version"] == "0.1.0"


def test_what_a_build_of_a_clone_adds_to_its_version_is_left_out(bundle: Callable[..., Ended]) -> None:
    """OLM's names take no plus sign."""
    assert bundle().code == 0
    program = replace(PROGRAM, version=lambda: "0.1.0+g1a2b3c4d5e6f")
    assert run_command(program, ["bundle", "--image=handloop:latest", "--output=made"]) == 0
    assert documents()[CSV]["metadata"]["name"] == "handloop.v0.1.0"


@pytest.mark.parametrize("replaces", ["0.1.0", "handloop.v0.1.0"])
def test_a_version_follows_another(bundle: Callable[..., Ended], replaces: str) -> None:
    """The upgrade edge from 0.1.0, by version or by name."""
    assert bundle("--version=0.2.0", f"--replaces={replaces}").code == 0
    made = documents()[CSV]
    assert (made["metadata"]["name"], made["spec"]["replaces"]) == ("handloop.v0.2.0", "handloop.v0.1.0")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--version=1.0"], '"1.0" is not a semantic version'),
        (["--version=1.0.0rc1"], '"1.0.0rc1" is not a semantic version'),
        (["--version=1.0.0-" + "x" * 60], "is longer than 63 characters"),
        (["--replaces=old"], '"old" is not a semantic version'),
        (["--version=0.1.0", "--replaces=0.1.0"], "version 0.1.0 cannot replace itself"),
        (["--deployment=manifests/samples/foo.yaml"], "manifests/samples/foo.yaml has 0 Deployments"),
        (["--channel=a b"], '"a b" is not a valid channel name'),
    ],
)
def test_a_mistake_is_reported_with_its_fix(
    bundle: Callable[..., Ended], words: list[str], message: str
) -> None:
    """Exit code 2, and nothing is written."""
    ended = bundle(*words)
    assert ended.code == 2
    assert message in ended.err
    assert "\n  fix: " in ended.err
    assert not Path("made").exists()


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("manifests/manager/deployment.yaml", "kind: Deployment", "missing required field `spec`"),
        ("manifests/samples/mine.yaml", FOO + "spec: {replicas: many}", "at `$.spec.replicas`"),
        ("pyproject.toml", "[project]\nauthors = ['Ann']", "at `$.project.authors[0]`"),
        ("pyproject.toml", "project = 3", "at `$.project`"),
        ("pyproject.toml", "tool = 3", "at `$.tool`"),
        ("pyproject.toml", "[tool]\nhandloop = 3", "at `$.tool.handloop`"),
        ("pyproject.toml", "[tool.handloop]\nname = 3", "at `$.tool.handloop.name`"),
    ],
)
def test_a_file_that_does_not_fit_is_named_with_its_field(
    bundle: Callable[..., Ended], file: str, text: str, message: str
) -> None:
    """Exit code 2, no traceback, and nothing is written."""
    Path(file).write_text(text, encoding="utf-8")
    ended = bundle()
    assert (ended.code, Path("made").exists()) == (EXIT_USAGE, False)
    assert ended.err.startswith(f"error: {file} is not valid: ")
    assert message in ended.err


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--namespace=demo", "the Deployment names the namespaces to watch, but OLM chooses them"),
        ("--leader-elect-resource-namespace=x", 'the Deployment puts the lease into "x", but OLM chooses'),
        ("--help", "the Deployment's args ask for help"),
        ("--worker=2", "the program would refuse the Deployment's args: unknown flag --worker"),
    ],
)
def test_a_deployment_that_olm_cannot_place_is_refused(
    bundle: Callable[..., Ended], argument: str, message: str
) -> None:
    """Its args would win over OLM's choice."""
    edit_containers(lambda containers: containers[0]["args"].append(argument))
    ended = bundle()
    assert (ended.code, message in ended.err) == (2, True), ended.err


def test_the_project_of_another_operator_is_refused(bundle: Callable[..., Ended]) -> None:
    """`handloop bundle` in a project of one's own names the command that makes its bundle."""
    text = '[tool.handloop]\nname = "my-operator"\ndomain = "example.com"\n'
    Path("pyproject.toml").write_text(text, encoding="utf-8")
    ended = bundle()
    assert ended.code == 2
    assert ended.err == (
        "error: this is the project of my-operator, but the program is handloop\n"
        "  fix: python -m my_operator bundle --image IMG\n"
    )


@pytest.mark.parametrize("name", ["manifests", "metadata/annotations.yaml"])
def test_a_link_in_its_folder_is_not_followed(bundle: Callable[..., Ended], name: str) -> None:
    """What it points to would be overwritten."""
    Path("theirs").mkdir()
    theirs = Path("theirs/a.yaml")
    theirs.write_text("theirs", encoding="utf-8")
    link = Path("made", name)
    link.parent.mkdir(parents=True)
    link.symlink_to((theirs if link.suffix else theirs.parent).absolute())
    ended = bundle()
    assert (ended.code, f"{link} is a link" in ended.err) == (EXIT_USAGE, True), ended.err
    assert theirs.read_text(encoding="utf-8") == "theirs"
    assert len(list(Path("theirs").iterdir())) == 1


def test_a_sample_without_a_kind_is_foreign(bundle: Callable[..., Ended]) -> None:
    """Whatever stands in its fields."""
    Path("manifests/samples/z.yaml").write_text("apiVersion: [1]\nkind: {a: b}\n", encoding="utf-8")
    assert bundle().code == 0


def test_a_file_that_cannot_be_read_is_named(bundle: Callable[..., Ended]) -> None:
    """Exit code 1."""
    ended = bundle("--deployment=absent.yaml")
    assert (ended.code, "absent.yaml" in ended.err) == (1, True)


def test_texts_stay_texts_for_the_readers_of_a_bundle(bundle: Callable[..., Ended]) -> None:
    """Go takes 1e3, y and 0o17 for a number or a bool unless they are quoted, and a time for a text."""
    texts = ["1e3", "y", "0o17", "12:30", "2026-01-01"]
    env = [{"name": text, "value": text} for text in texts]
    edit_containers(lambda containers: containers[0].update(env=env))
    path = Path("manifests/manager/deployment.yaml")
    path.write_text(
        path.read_text(encoding="utf-8").replace("'2026-01-01'", "2026-01-01").replace("'12:30'", "12:30"),
        encoding="utf-8",
    )
    assert bundle().code == 0
    made = files(Path("made"))["manifests/handloop.clusterserviceversion.yaml"]
    assert [f"value: '{text}'" in made for text in texts[:3]] == [True] * 3
    assert "value: '2026-01-01'" in made
    assert "value: '12:30'" in made


def test_of_several_containers_the_operator_is_named(bundle: Callable[..., Ended]) -> None:
    """The image and the namespaces are for the operator: a sidecar must not get them by its place."""
    edit_containers(lambda containers: containers.append({"name": "proxy", "image": "proxy:9"}))
    assert bundle().code == 0
    edit_containers(list.reverse)
    ended = bundle()
    assert ended.code == EXIT_USAGE
    assert "has 2 containers, but does not say which one is the operator" in ended.err


def _shop() -> Operator:
    """An operator that converts."""

    def set_up(manager: Manager) -> None:
        controller_for(manager, "sites").for_(Site).complete(lambda _obj, _context: None)

    dry = DrySetUp([set_up], None)
    return Operator(
        name="shop", command="shop", set_up=dry.set_up, setups=dry.setups, version=lambda: "1.0.0"
    )


@pytest.fixture
def converting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Runs `bundle` for an operator that converts, with a Service of its own for that."""
    beside = tmp_path / "manifests" / "webhook"
    beside.mkdir(parents=True)
    for name in ("shop-webhook", "shop-metrics"):
        service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}}
        (beside / f"{name}.yaml").write_text(yaml.safe_dump(service), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run_it(*arguments: str, name: str = "shop.controller") -> Ended:
        container = {"name": "controller", "image": "x", "args": list(arguments)}
        pod = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": pod}
        document = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
        (tmp_path / "deployment.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
        words = ["bundle", "--image=i", "--output=made", "--deployment=deployment.yaml"]
        return Ended(run_command(_shop(), words), *capsys.readouterr())

    return run_it


def test_the_webhook_is_that_of_olm(converting: Callable[..., Ended]) -> None:
    """OLM makes Service and certificate; program and definition name both so; no rights to Secrets."""
    assert converting("--webhook-bind-address=:9999").code == 0
    made = documents()
    spec = made["manifests/shop.clusterserviceversion.yaml"]["spec"]
    (webhook,) = spec["webhookdefinitions"]
    assert (webhook["type"], webhook["deploymentName"]) == ("ConversionWebhook", "shop.controller")
    assert (webhook["containerPort"], webhook["targetPort"], webhook["webhookPath"]) == (
        443,
        9999,
        "/convert",
    )
    assert webhook["conversionCRDs"] == ["sites.example.org"]
    assert [mode["type"] for mode in spec["installModes"] if mode["supported"]] == ["AllNamespaces"]
    (deployment,) = spec["install"]["spec"]["deployments"]
    given = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
    env = {entry["name"]: entry.get("value") for entry in given}
    folder = "/tmp/k8s-webhook-server/serving-certs"  # noqa: S108 - where OLM mounts them
    assert (env["SHOP_WEBHOOK_CERT_DIR"], env["SHOP_WEBHOOK_SERVICE"]) == (folder, "shop-controller-service")
    client = made["manifests/example.org_sites.yaml"]["spec"]["conversion"]["webhook"]["clientConfig"]
    assert client["service"]["name"] == "shop-controller-service"
    assert "manifests/shop-webhook_service.yaml" not in made
    assert "manifests/shop-metrics_service.yaml" in made
    granted = [
        rule for part in ("clusterPermissions", "permissions") for rule in spec["install"]["spec"][part]
    ]
    assert "secrets" not in str(granted)


@pytest.mark.parametrize(
    ("arguments", "name", "said"),
    [
        (["--webhook-cert-dir=/c"], "shop", "--webhook-cert-dir"),
        (["--webhook-service=s"], "shop", "--webhook-service"),
        (["--webhook-url=https://h:1"], "shop", "--webhook-url"),
        ([], "s" * 56, "longer than 63"),
    ],
)
def test_a_webhook_elsewhere_is_refused(
    converting: Callable[..., Ended], arguments: list[str], name: str, said: str
) -> None:
    """OLM would write its own place into the definitions all the same."""
    ended = converting(*arguments, name=name)
    assert ended.code == EXIT_USAGE
    assert said in ended.err
