"""
The complete list of differences between a sandbox and a kube-apiserver with its controllers.

`sandbox --help` and sandbox/docs/sandbox.md print this list. A test replays recorded answers to check it.
"""

from __future__ import annotations

from textwrap import TextWrapper
from typing import Final, NamedTuple


class Difference(NamedTuple):
    """One difference, and the ids of the recorded answers in which it appears."""

    text: str
    answers: tuple[str, ...] = ()


DIFFERENCES: Final = (
    Difference(
        "Admission webhooks are not called, admission policies are not evaluated (and mutation expressions "
        "are not compiled), and aggregated servers are not contacted. Kinds for flow control, devices "
        "(resource.k8s.io), storage drivers, runtimes and Service addresses are stored without validation. "
        "Their status is never written, and the objects that a cluster creates by itself (FlowSchemas, "
        "IPAddresses) do not exist."
    ),
    Difference(
        "/readyz?verbose lists the sandbox's own checks, because it has no etcd.",
        ("readyz-verbose",),
    ),
    Difference(
        "A pod's status is simulated. Image and container ids are made up, and a condition that becomes "
        "true loses its earlier reason.",
        ("wl-pod-ready", "wl-pod-delete", "wl-pdb-pod-ready"),
    ),
    Difference(
        "Messages about forbidden changes to a pod, claim or volume contain a diff of JSON instead of Go "
        "structures. Messages about a Job's template quote it as JSON, too.",
        ("wl-pod-immutable-422",),
    ),
    Difference(
        "Jobs do not support pod failure and success policies, or a back-off limit per index. StatefulSets "
        "keep their claims whatever the retention policy says, and update one pod at a time. DaemonSets obey "
        "node selectors and taints, but not affinities or maxSurge. CronJobs do not report missed start "
        "times."
    ),
    Difference(
        "CertificateSigningRequests, ControllerRevisions and a Namespace's phase are stored as sent; only "
        "field types and metadata are validated. For rarer volume sources, only the required fields are "
        "checked. Windows options are not checked, and a Secret's certificate only has to be PEM."
    ),
    Difference(
        "PodSecurity treats every version of a level as the latest, and ignores AppArmor annotations. A "
        "RuntimeClass's overhead and scheduling are not applied to its pods."
    ),
    Difference("Autoscalers have no metrics, and do not detect that several of them scale the same pods."),
    Difference("CertificateSigningRequests can be approved and denied, but are never signed."),
    Difference(
        "Without TLS there is no certificate authority: the ConfigMaps kube-root-ca.crt are empty, and so "
        "is ca.crt in the Secrets of service accounts."
    ),
    Difference(
        "Objects are sent as JSON or YAML, not as protobuf. For built-in kinds, OpenAPI describes only "
        "apiVersion, kind and metadata, and omits defaults that are zero."
    ),
    Difference("Tokens of service accounts are signed with HS256, so there is no /openid/v1/jwks."),
    Difference(
        "Bodies with more than a few hundred levels of nesting are refused (400). A cluster accepts 10,000 "
        "levels."
    ),
    Difference("Exec, attach and port-forward are refused (501), because there are no containers."),
    Difference(
        "CEL in CRDs is checked for types and costs, but some messages about invalid durations are worded "
        "differently."
    ),
    Difference(
        "Regular expressions use RE2. Compared with Go's regexp, it accepts slightly more (`\\C`, non-ASCII "
        "letters in group names, over 1000 nested groups) and slightly less (script names in lower case, "
        "over 10,000 characters, repetitions of very large classes)."
    ),
    Difference(
        "Endpoints that users create do not get EndpointSlices. A conversion webhook is found through its "
        "Service only if the Service has the annotation sandbox.handloop.dev/address or is an ExternalName."
    ),
    Difference(
        "A conversion webhook receives up to 500 objects per call, without their resourceVersion. While the "
        "webhook is down, lists are refused immediately (not after 3 seconds), even with resourceVersion=0. "
        "Unlike in a cluster, the garbage collector still observes changes to the objects."
    ),
    Difference("A CRD is established even if its caBundle is not a certificate (InvalidCABundle)."),
    Difference(
        "The sandbox has a cluster's default roles for users, but not those for the cluster's components. "
        "The permissions of constrained impersonation (impersonate:user-info, impersonate-on:...) have no "
        "effect."
    ),
    Difference(
        "Some rare input that a real server rejects is accepted: integers written as 1e18, null in fields "
        "without a type, unknown methods, and %2f in paths. A few fields that Go writes as null (such as a "
        "reference's apiGroup) are omitted."
    ),
    Difference("Nodes have fewer labels and no annotations."),
    Difference("The scheduler ignores resources, taints and affinities."),
    Difference("All data is lost when the process ends."),
)


def bullets(indent: str = "", width: int = 112) -> str:
    """Return the list as text. Each entry is wrapped at width characters."""
    lines = TextWrapper(
        width=width,
        initial_indent=f"{indent}- ",
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "".join(f"{lines.fill(difference.text)}\n" for difference in DIFFERENCES)
