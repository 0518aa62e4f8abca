"""Objects of every built-in kind that can be created, from bare to rich, to compare kinds with."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

NAMESPACE = "kinds-samples"
GROUP = f"{NAMESPACE}.example.org"

POD_SPEC: Object = {"containers": [{"name": "app", "image": "nginx"}]}
TEMPLATE: Object = {"metadata": {"labels": {"app": "a"}}, "spec": POD_SPEC}
SELECTOR: Object = {"matchLabels": {"app": "a"}}

RICH_POD_SPEC: Object = {
    "initContainers": [
        {"name": "init", "image": "busybox:1.36", "command": ["sh"], "resources": {"limits": {"cpu": "1"}}},
        {"name": "side", "image": "proxy:latest", "restartPolicy": "Always"},
    ],
    "containers": [
        {
            "name": "app",
            "image": "registry.local:5000/team/app@sha256:" + "ab" * 32,
            "args": ["--x", "1"],
            "env": [
                {"name": "A", "value": "1"},
                {"name": "EMPTY"},
                {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
                {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                {"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            ],
            "envFrom": [{"configMapRef": {"name": "c"}}],
            "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP", "name": "dns"}],
            "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": 0.5}},
            "livenessProbe": {"httpGet": {"port": 80}},
            "readinessProbe": {"tcpSocket": {"port": "dns"}, "periodSeconds": 3},
            "startupProbe": {"grpc": {"port": 90}, "failureThreshold": 30},
            "lifecycle": {"preStop": {"httpGet": {"port": 80, "path": "/x"}}},
            "volumeMounts": [
                {"name": "empty", "mountPath": "/e"},
                {"name": "c", "mountPath": "/c", "readOnly": True},
            ],
            "securityContext": {"runAsUser": 0, "privileged": False},
            "tty": True,
        },
        {
            "name": "two",
            "image": "two:1",
            "imagePullPolicy": "Never",
            "terminationMessagePolicy": "FallbackToLogsOnError",
        },
    ],
    "volumes": [
        {"name": "empty"},
        {"name": "c", "configMap": {"name": "c"}},
        {"name": "s", "secret": {"secretName": "s", "items": [{"key": "a", "path": "b"}]}},
        {
            "name": "d",
            "downwardAPI": {"items": [{"path": "l", "fieldRef": {"fieldPath": "metadata.labels"}}]},
        },
        {"name": "h", "hostPath": {"path": "/host"}},
        {"name": "p", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
        {"name": "pvc", "persistentVolumeClaim": {"claimName": "x"}},
    ],
    "nodeSelector": {"disk": "ssd"},
    "terminationGracePeriodSeconds": 0,
    "hostNetwork": False,
    "affinity": {
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": SELECTOR},
                }
            ]
        }
    },
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": SELECTOR}
    ],
}
RICH_TEMPLATE: Object = {
    "metadata": {"labels": {"app": "a"}, "annotations": {"x": "y"}},
    "spec": RICH_POD_SPEC,
}
ACCOUNT_TEMPLATE: Object = {**TEMPLATE, "spec": {**POD_SPEC, "serviceAccountName": "robot"}}


def _object(api_version: str, kind: str, name: str, **members: Any) -> Object:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **members}


def _apps(kind: str, name: str, **spec: Any) -> Object:
    return _object("apps/v1", kind, name, spec={"selector": SELECTOR, "template": TEMPLATE, **spec})


CORE: tuple[Object, ...] = (
    _object("v1", "ConfigMap", "bare"),
    _object("v1", "ConfigMap", "data", data={"a": "1", "b": ""}, binaryData={"x": "AAE="}, immutable=True),
    _object("v1", "Secret", "bare"),
    _object(
        "v1",
        "Secret",
        "typed",
        type="kubernetes.io/basic-auth",
        data={"username": "dQ==", "password": "cA=="},
    ),
    _object("v1", "ServiceAccount", "bare"),
    _object(
        "v1", "ServiceAccount", "rich", automountServiceAccountToken=False, imagePullSecrets=[{"name": "x"}]
    ),
    _object("v1", "Pod", "bare", spec=POD_SPEC),
    _object("v1", "Pod", "rich", spec=RICH_POD_SPEC),
    _object(
        "v1",
        "Pod",
        "host",
        spec={
            "hostNetwork": True,
            "containers": [{"name": "app", "image": "nginx:1", "ports": [{"containerPort": 8080}]}],
        },
    ),
    _object("v1", "PodTemplate", "bare", template=TEMPLATE),
    _object("v1", "ReplicationController", "bare", spec={"template": TEMPLATE}),
    _object(
        "v1",
        "ReplicationController",
        "rich",
        spec={"selector": {"app": "a"}, "replicas": 0, "template": RICH_TEMPLATE},
    ),
    _object("v1", "Service", "bare", spec={"ports": [{"port": 80}]}),
    _object("v1", "Service", "headless", spec={"clusterIP": "None", "selector": {"app": "a"}}),
    _object(
        "v1",
        "Service",
        "node-port",
        spec={
            "type": "NodePort",
            "ports": [
                {"port": 80, "name": "a", "targetPort": "http"},
                {"port": 53, "protocol": "UDP", "name": "b"},
            ],
        },
    ),
    _object(
        "v1",
        "Service",
        "balancer",
        spec={"type": "LoadBalancer", "sessionAffinity": "ClientIP", "ports": [{"port": 80}]},
    ),
    _object("v1", "Service", "external", spec={"type": "ExternalName", "externalName": "example.org"}),
    _object("v1", "Endpoints", "bare"),
    _object(
        "v1", "Endpoints", "rich", subsets=[{"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]
    ),
    _object(
        "v1",
        "Event",
        "bare",
        involvedObject={"kind": "Pod", "name": "p", "namespace": NAMESPACE},
        reason="R",
        message="m",
        type="Normal",
        count=1,
        firstTimestamp="2024-01-01T00:00:00Z",
        lastTimestamp="2024-01-01T00:00:00Z",
        source={"component": "c"},
    ),
    _object("v1", "LimitRange", "bare", spec={"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}),
    _object(
        "v1",
        "LimitRange",
        "rich",
        spec={
            "limits": [
                {
                    "type": "Container",
                    "max": {"cpu": "2"},
                    "min": {"cpu": "100m"},
                    "default": {"memory": "1Gi"},
                }
            ]
        },
    ),
    _object("v1", "ResourceQuota", "bare"),
    _object("v1", "ResourceQuota", "rich", spec={"hard": {"pods": "10", "requests.cpu": "4"}}),
    _object(
        "v1",
        "PersistentVolumeClaim",
        "bare",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    ),
    _object("v1", "Namespace", f"{NAMESPACE}-too"),
    _object("v1", "Node", NAMESPACE, status={"capacity": {"cpu": "4"}}),
    _object(
        "v1",
        "PersistentVolume",
        NAMESPACE,
        spec={
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "nfs": {"server": "s", "path": "/p"},
        },
    ),
)

APPS: tuple[Object, ...] = (
    _apps("Deployment", "bare"),
    _apps(
        "Deployment", "recreate", strategy={"type": "Recreate"}, replicas=0, paused=True, minReadySeconds=3
    ),
    _apps("Deployment", "surge", strategy={"rollingUpdate": {"maxSurge": 1}}, revisionHistoryLimit=0),
    _apps("Deployment", "account", template=ACCOUNT_TEMPLATE),
    _apps("Deployment", "rich", template=RICH_TEMPLATE, replicas=3, progressDeadlineSeconds=60),
    _apps("ReplicaSet", "bare"),
    _apps("ReplicaSet", "rich", template=RICH_TEMPLATE, replicas=3),
    _apps("DaemonSet", "bare"),
    _apps("DaemonSet", "on-delete", updateStrategy={"type": "OnDelete"}),
    _apps("StatefulSet", "bare", serviceName="s"),
    _apps(
        "StatefulSet",
        "rich",
        serviceName="s",
        updateStrategy={"type": "RollingUpdate"},
        podManagementPolicy="Parallel",
        volumeClaimTemplates=[
            {
                "metadata": {"name": "data"},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }
        ],
    ),
    _apps(
        "StatefulSet",
        "partition",
        serviceName="s",
        updateStrategy={"type": "RollingUpdate", "rollingUpdate": {}},
    ),
    _object("apps/v1", "ControllerRevision", "bare", revision=1, data={"a": {"b": None}}),
)

JOB_TEMPLATE: Object = {"spec": {**POD_SPEC, "restartPolicy": "Never"}}
LABELLED_JOB_TEMPLATE: Object = {"metadata": {"labels": {"app": "a"}}, **JOB_TEMPLATE}

OTHERS: tuple[Object, ...] = (
    _object("batch/v1", "Job", "bare", spec={"template": JOB_TEMPLATE}),
    _object(
        "batch/v1",
        "Job",
        "rich",
        spec={
            "template": LABELLED_JOB_TEMPLATE,
            "completions": 5,
            "completionMode": "Indexed",
            "backoffLimitPerIndex": 1,
        },
    ),
    _object(
        "batch/v1",
        "CronJob",
        "bare",
        spec={"schedule": "* * * * *", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}},
    ),
    _object("coordination.k8s.io/v1", "Lease", "bare"),
    _object(
        "coordination.k8s.io/v1",
        "Lease",
        "held",
        spec={
            "holderIdentity": "me",
            "leaseDurationSeconds": 15,
            "renewTime": "2024-01-01T00:00:00.500000Z",
            "leaseTransitions": 0,
        },
    ),
    _object(
        "events.k8s.io/v1",
        "Event",
        "bare",
        eventTime="2024-01-01T00:00:00.000000Z",
        reportingController="c",
        reportingInstance="i",
        action="A",
        reason="R",
        type="Normal",
        note="n",
        regarding={"kind": "Pod", "name": "p", "namespace": NAMESPACE},
    ),
    _object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "bare",
        spec={
            "maxReplicas": 3,
            "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
        },
    ),
    _object(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "rich",
        spec={
            "minReplicas": 2,
            "maxReplicas": 3,
            "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}},
                }
            ],
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
        },
    ),
    _object("policy/v1", "PodDisruptionBudget", "bare", spec={"minAvailable": 1, "selector": SELECTOR}),
    _object(
        "policy/v1", "PodDisruptionBudget", "percent", spec={"maxUnavailable": "50%", "selector": SELECTOR}
    ),
    _object("networking.k8s.io/v1", "NetworkPolicy", "bare", spec={"podSelector": {}}),
    _object(
        "networking.k8s.io/v1",
        "NetworkPolicy",
        "egress",
        spec={
            "podSelector": SELECTOR,
            "egress": [{"ports": [{"port": 53}]}],
            "ingress": [{"from": [{"podSelector": {}}]}],
        },
    ),
    _object(
        "networking.k8s.io/v1",
        "Ingress",
        "bare",
        spec={
            "rules": [
                {
                    "host": "example.org",
                    "http": {
                        "paths": [
                            {
                                "path": "/",
                                "pathType": "Prefix",
                                "backend": {"service": {"name": "s", "port": {"number": 80}}},
                            }
                        ]
                    },
                }
            ],
            "tls": [{"hosts": ["example.org"], "secretName": "t"}],
        },
    ),
    _object(
        "networking.k8s.io/v1",
        "IngressClass",
        NAMESPACE,
        spec={"controller": "example.org/c", "parameters": {"kind": "P", "name": "p"}},
    ),
    _object("rbac.authorization.k8s.io/v1", "Role", "bare"),
    _object(
        "rbac.authorization.k8s.io/v1",
        "Role",
        "rich",
        rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    ),
    _object(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "bare",
        roleRef={"kind": "Role", "name": "r"},
        subjects=[{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}],
    ),
    _object(
        "rbac.authorization.k8s.io/v1",
        "ClusterRole",
        NAMESPACE,
        rules=[{"nonResourceURLs": ["/x"], "verbs": ["get"]}],
    ),
    _object(
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        NAMESPACE,
        roleRef={"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.k8s.io"},
    ),
    _object(
        "discovery.k8s.io/v1",
        "EndpointSlice",
        "bare",
        addressType="IPv4",
        endpoints=[{"addresses": ["10.0.0.1"]}],
        ports=[{"port": 80}],
    ),
    _object("storage.k8s.io/v1", "StorageClass", NAMESPACE, provisioner="example.org/p"),
    _object("scheduling.k8s.io/v1", "PriorityClass", NAMESPACE, value=10),
    _object(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        f"samples.{GROUP}",
        spec={
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "samples", "kind": "Sample"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                            },
                        }
                    },
                    "additionalPrinterColumns": [
                        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
                    ],
                }
            ],
        },
    ),
)

SAMPLES = (*CORE, *APPS, *OTHERS)


def sample_id(sample: Object) -> str:
    """`apps/v1 Deployment rich`, for pytest."""
    return f"{sample['apiVersion']} {sample['kind']} {sample['metadata']['name']}"


def sample(wanted: str) -> Object:
    """The sample of an id."""
    return next(found for found in SAMPLES if sample_id(found) == wanted)
