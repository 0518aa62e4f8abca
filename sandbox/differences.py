"""
Where a sandbox answers otherwise than a kube-apiserver with its controllers: the whole list, reviewed.

`sandbox --help` and docs/sandbox.md print this list. The replay of recorded answers checks it.
"""

from __future__ import annotations

from textwrap import TextWrapper
from typing import Final, NamedTuple


class Difference(NamedTuple):
    """One difference, and the ids of the recorded answers that show it."""

    text: str
    answers: tuple[str, ...] = ()


DIFFERENCES: Final = (
    Difference(
        "Fewer API groups: no admission webhooks and policies, certificates, flow control, dynamic "
        "resources, aggregated servers. Of storage.k8s.io only StorageClasses are served.",
        ("apis-aggregated", "apis-aggregated-etag"),
    ),
    Difference(
        "/readyz?verbose lists the checks of the sandbox, which has no etcd.",
        ("readyz-verbose",),
    ),
    Difference(
        "The sandbox makes up the status of a pod: its own image and container ids, no reasons left over in "
        "conditions that are true.",
        ("wl-pod-ready", "wl-pod-delete", "wl-pdb-pod-ready"),
    ),
    Difference(
        "A change of a pod's spec that is not allowed is refused with a difference in JSON, not in Go's "
        "structures.",
        ("wl-pod-immutable-422",),
    ),
    Difference(
        "Nothing runs Jobs, CronJobs, StatefulSets and DaemonSets: they are stored.", ("wl-job-done",)
    ),
    Difference(
        "Endpoints, EndpointSlices, PersistentVolumes, StorageClasses, IngressClasses, LimitRanges, "
        "ControllerRevisions and the phase of a Namespace are stored as they come: only their fields' types "
        "and metadata are validated."
    ),
    Difference(
        "Tables of PersistentVolumes, StorageClasses, IngressClasses, PriorityClasses, Endpoints, "
        "ReplicationControllers and ControllerRevisions show name and creation time only."
    ),
    Difference("Quotas count objects, not cpu, memory or storage."),
    Difference("Autoscalers know only the load that they are told: cpu and memory, no other metrics."),
    Difference("Without TLS there is no certificate authority: the ConfigMaps kube-root-ca.crt are empty."),
    Difference(
        "Answers with objects are JSON or YAML, never protobuf. OpenAPI has no prose about built-in kinds, "
        "and its version 2 only JSON."
    ),
    Difference("A body nested more than some hundred levels deep is refused (400); a cluster takes 10,000."),
    Difference("Exec, attach and port-forward are refused (501): there are no containers."),
    Difference(
        "CEL rules may use the usual functions, not all. Their types and costs are not checked (1 == 1.0 is "
        "accepted). A rule that the sandbox does not understand causes a warning."
    ),
    Difference(
        "Regular expressions are RE2's. RE2 accepts a few more than Go (`\\C`, other than ASCII letters in "
        "names of groups, over 1000 nested groups) and a few less (names of scripts in lower case, over "
        "10,000 characters, repetitions of very large classes)."
    ),
    Difference(
        "Versions of a custom resource are not converted. The sandbox writes EndpointSlices, not Endpoints."
    ),
    Difference(
        "Rights that every user has in a cluster by default, discovery above all, are granted here without "
        "roles: auth can-i --list does not name them."
    ),
    Difference(
        "Some rarely used input that a real server rejects is accepted: integers written as 1e18, null in "
        "fields without a type, unknown methods, and %2f in paths."
    ),
    Difference("Nodes have fewer labels and no annotations."),
    Difference("The scheduler ignores resources, taints and affinities."),
    Difference("Nothing survives the process."),
)


def bullets(indent: str = "", width: int = 112) -> str:
    """The list as text, an entry of one or more lines of at most width characters each."""
    lines = TextWrapper(
        width=width,
        initial_indent=f"{indent}- ",
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "".join(f"{lines.fill(difference.text)}\n" for difference in DIFFERENCES)
