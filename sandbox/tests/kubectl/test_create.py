from __future__ import annotations

import base64

import pytest

from support.builders.manifests import CONFIG, DEPLOYMENT
from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl


def test_namespace(kubectl: Kubectl) -> None:
    """A namespace is created once; it gets its service account and root certificates."""
    name = f"{kubectl.namespace}-b"
    assert kubectl("create", "namespace", name).out == f"namespace/{name} created\n"
    again = kubectl("create", "namespace", name, fails=True)
    assert again.err == f'Error from server (AlreadyExists): namespaces "{name}" already exists\n'
    kubectl.until(lambda: kubectl.run("get", "sa", "default", "-n", name).code == 0)
    kubectl.until(lambda: kubectl.run("get", "cm", "kube-root-ca.crt", "-n", name).code == 0)


def test_deployment(kubectl: Kubectl) -> None:
    """`create deployment` makes one of the image, replicas and port it names, and it becomes available."""
    made = kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=2", "--port=80")
    assert made.out == "deployment.apps/web created\n"
    kubectl("wait", "--for=condition=Available", "deployment/web")
    spec = kubectl.json("get", "deployment", "web")["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    assert (spec["replicas"], container["image"]) == (2, "nginx:1")
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert spec["selector"] == {"matchLabels": {"app": "web"}}


def test_config_map(kubectl: Kubectl) -> None:
    """Literals become data; an invalid name is refused with the server's reason."""
    made = kubectl("create", "configmap", "settings", "--from-literal=a=1", "--from-literal=b=two words")
    assert made.out == "configmap/settings created\n"
    assert kubectl.json("get", "cm", "settings")["data"] == {"a": "1", "b": "two words"}
    refused = kubectl("create", "configmap", "Not_Valid", fails=True)
    assert "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters" in refused.err


def test_secrets(kubectl: Kubectl) -> None:
    """Generic and TLS-less registry secrets are stored in base64 with their types."""
    kubectl("create", "secret", "generic", "password", "--from-literal=key=topsecret")
    kubectl(
        "create",
        "secret",
        "docker-registry",
        "pull",
        "--docker-server=r",
        "--docker-username=u",
        "--docker-password=p",
    )
    stored = kubectl.json("get", "secret", "password")
    assert base64.b64decode(stored["data"]["key"]) == b"topsecret"
    assert kubectl.value(".type", "secret", "pull") == "kubernetes.io/dockerconfigjson"


def test_other_generators(kubectl: Kubectl) -> None:
    """Services, service accounts, roles and bindings, quotas and jobs can be created by their generators."""
    for arguments in (
        ("service", "clusterip", "web", "--tcp=80:8080"),
        ("serviceaccount", "robot"),
        ("role", "reader", "--verb=get", "--resource=pods"),
        ("rolebinding", "readers", "--role=reader", "--serviceaccount=default:robot"),
    ):
        assert kubectl("create", *arguments).out.endswith(" created\n")
    assert kubectl.value(".spec.ports[0].targetPort", "service", "web") == "8080"


def test_from_a_file(kubectl: Kubectl) -> None:
    """-f takes several documents; what exists already is an error and the rest is still made."""
    made = kubectl("create", "-f", "-", stdin=f"{CONFIG}\n---\n{DEPLOYMENT}")
    assert made.lines == ["configmap/settings created", "deployment.apps/web created"]
    again = kubectl(
        "create", "-f", "-", stdin=f"{CONFIG}\n---\n{CONFIG.replace('settings', 'more')}", fails=True
    )
    assert 'configmaps "settings" already exists' in again.err
    assert again.out == "configmap/more created\n"


def test_unknown_fields_are_refused(kubectl: Kubectl) -> None:
    """A typo in a manifest is an error, named by its path."""
    refused = kubectl("create", "-f", "-", stdin=DEPLOYMENT.replace("replicas", "replica"), fails=True)
    assert 'strict decoding error: unknown field "spec.replica"' in refused.err
    warned = kubectl("create", "--validate=warn", "-f", "-", stdin=DEPLOYMENT.replace("replicas", "replica"))
    assert 'Warning: unknown field "spec.replica"' in warned.err


def test_invalid_objects_are_refused(kubectl: Kubectl) -> None:
    """A manifest that breaks a rule is refused with the rule; nothing is stored."""
    refused = kubectl(
        "create",
        "-f",
        "-",
        stdin=DEPLOYMENT.replace("app: web}}\n  template", "app: db}}\n  template"),
        fails=True,
    )
    assert 'The Deployment "web" is invalid: spec.template.metadata.labels: Invalid value:' in refused.err
    assert "`selector` does not match template `labels`" in refused.err
    kubectl("get", "deployment", "web", fails=True)


def test_dry_runs(kubectl: Kubectl) -> None:
    """Neither kind of dry run stores anything; the server's shows defaults."""
    local = kubectl("create", "deployment", "web", "--image=nginx", "--dry-run=client", "-o", "yaml").out
    assert "replicas: 1" in local
    remote = kubectl(
        "create", "-f", "-", "--dry-run=server", "-o", "jsonpath={.spec.strategy.type}", stdin=local
    )
    assert remote.out == "RollingUpdate"
    kubectl("get", "deployment", "web", fails=True)


def test_run_and_expose(kubectl: Kubectl) -> None:
    """`run` starts a pod, `expose` puts a Service before it."""
    assert kubectl("run", "one", "--image=nginx", "--port=80", "--labels=app=one").out == "pod/one created\n"
    kubectl("wait", "--for=condition=Ready", "pod/one")
    assert kubectl("expose", "pod", "one", "--port=8000", "--target-port=80").out == "service/one exposed\n"
    service = kubectl.json("get", "service", "one")["spec"]
    assert (service["selector"], service["ports"][0]["port"]) == ({"app": "one"}, 8000)


def test_autoscale(kubectl: Kubectl) -> None:
    """`autoscale` makes a HorizontalPodAutoscaler for a Deployment."""
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    target = "--cpu=80%" if kubectl.minor >= 34 else "--cpu-percent=80"
    made = kubectl("autoscale", "deployment", "web", "--min=1", "--max=5", target)
    assert made.out == "horizontalpodautoscaler.autoscaling/web autoscaled\n"
    spec = kubectl.json("get", "hpa", "web")["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"], spec["scaleTargetRef"]["name"]) == (1, 5, "web")


def test_token(kubectl: Kubectl) -> None:
    """`create token` gives a service account's token."""
    kubectl.until(lambda: kubectl.run("get", "sa", "default").code == 0)
    assert kubectl("create", "token", "default").out.strip()
