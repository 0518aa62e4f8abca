"""
Where a sandbox answers otherwise than a kube-apiserver with its controllers: the whole list, reviewed.

`sandbox --help`, docs/sandbox.md and the replay of recorded answers all read it here.
"""

from __future__ import annotations

from textwrap import TextWrapper
from typing import Final, NamedTuple


class Difference(NamedTuple):
    """One difference; answers are the ids of the recorded answers that show it."""

    text: str
    answers: tuple[str, ...] = ()


DIFFERENCES: Final = (
    Difference(
        "Fewer API groups: no admission webhooks and policies, certificates, flow control, dynamic "
        "resources, aggregated servers; of storage.k8s.io only StorageClasses.",
        ("apis-aggregated", "apis-aggregated-etag"),
    ),
    Difference("/readyz?verbose lists the checks of the sandbox, which has no etcd.", ("readyz-verbose",)),
    Difference(
        "The status of a pod is what the sandbox makes up: its own image and container ids, no reasons left "
        "over in conditions that are true.",
        ("wl-pod-ready", "wl-pod-delete", "wl-pdb-pod-ready"),
    ),
    Difference(
        "A pod's spec that may not change is refused with a difference in JSON, not in Go's structures.",
        ("wl-pod-immutable-422",),
    ),
    Difference(
        "Nothing runs Jobs, CronJobs, StatefulSets and DaemonSets: they are stored.", ("wl-job-done",)
    ),
    Difference("Quotas count objects, not cpu, memory or storage; limit ranges are stored."),
    Difference("Autoscalers know the load that they are told: cpu and memory, no other metrics."),
    Difference("Without TLS there is no certificate authority: the ConfigMaps kube-root-ca.crt are empty."),
    Difference(
        "Objects come as JSON or YAML, not as protobuf; OpenAPI has no prose about built-in kinds, and its "
        "version 2 only JSON."
    ),
    Difference("What is nested more than some hundred levels deep is refused (400); a cluster takes 10,000."),
    Difference("Exec, attach and port-forward are refused (501): there are no containers."),
    Difference(
        "CEL rules may use the usual functions, not all; their types and costs are not checked (1 == 1.0 is "
        "taken), and a rule that is not understood is warned of."
    ),
    Difference(
        "Regular expressions are RE2's, which takes a few more (`\\C`, other than ASCII letters in names of "
        "groups, over 1000 nested groups) and a few less (names of scripts in lower case, over 10,000 "
        "characters, repetitions of very large classes)."
    ),
    Difference(
        "Versions of a custom resource are not converted; there are no Endpoints beside EndpointSlices."
    ),
    Difference(
        "What everybody may do in a cluster by default, discovery above all, is allowed here without roles: "
        "auth can-i --list does not name it."
    ),
    Difference(
        "Of what hardly anybody writes some is taken: whole numbers such as 1e18, null in fields without a "
        "type, methods that there are not, and %2f in paths."
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
