"""
Where a sandbox answers otherwise than a kube-apiserver with its controllers: the whole list, reviewed.

`sandbox --help` and sandbox/docs/sandbox.md print this list. The replay of recorded answers checks it.
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
        "Admission webhooks are not called, admission policies not evaluated (nor are the expressions of "
        "mutations compiled), aggregated servers not asked. The kinds of flow control, of devices "
        "(resource.k8s.io), of storage drivers, of runtimes and of the addresses of Services are stored as "
        "they come: nothing validates them. Nothing writes the status of all these, and those that "
        "a cluster makes itself (APIServices, FlowSchemas, IPAddresses) are not there."
    ),
    Difference("/readyz?verbose lists the checks of the sandbox, which has no etcd.", ("readyz-verbose",)),
    Difference(
        "The sandbox makes the status of a pod up: image and container ids are its own, and conditions that "
        "are true keep no earlier reason.",
        ("wl-pod-ready", "wl-pod-delete", "wl-pdb-pod-ready"),
    ),
    Difference(
        "A forbidden change of the spec of a pod, a claim or a volume is refused with a diff in JSON, not of "
        "Go's structures; so is that of a Job's template, which is quoted.",
        ("wl-pod-immutable-422",),
    ),
    Difference(
        "Jobs have no pod failure and success policies, and no back-off limit per index. StatefulSets keep "
        "their claims whatever the retention policy says, and update one pod at a time. DaemonSets look at "
        "node selectors and taints, not at affinities, and know no maxSurge. CronJobs do not tell of missed "
        "times."
    ),
    Difference(
        "CertificateSigningRequests, ControllerRevisions and the phase of a Namespace are stored as they "
        "come: only the types of their fields and their metadata are validated. Of the rarer sources of "
        "volumes only what they need is looked at, of Windows' options nothing, of the certificate in a "
        "Secret only that it is PEM."
    ),
    Difference(
        "PodSecurity checks every version of a level as the latest, and no annotations for AppArmor. The "
        "overhead and the scheduling of a RuntimeClass do not reach its pods."
    ),
    Difference("Autoscalers have no metrics, and do not notice that several of them scale the same pods."),
    Difference("CertificateSigningRequests are approved and denied, and nothing signs them."),
    Difference(
        "Without TLS there is no certificate authority: the ConfigMaps kube-root-ca.crt are empty, and so is "
        "ca.crt in the Secrets of service accounts."
    ),
    Difference(
        "Objects come as JSON or YAML, not as protobuf. OpenAPI describes apiVersion, kind and metadata "
        "alone of built-in kinds, without the defaults that are zero."
    ),
    Difference("Tokens of service accounts are signed with HS256, so there is no /openid/v1/jwks."),
    Difference("More than some hundred nested levels are refused (400). A cluster takes 10,000."),
    Difference("Exec, attach and port-forward are refused (501): there are no containers."),
    Difference(
        "CEL in definitions is checked with its types and costs. Some messages about wrong durations have "
        "other words."
    ),
    Difference(
        "Regular expressions are RE2's. It takes a few more (`\\C`, letters other than ASCII in names of "
        "groups, over 1000 nested groups) and a few less (names of scripts in lower case, over 10,000 "
        "characters, repetitions of very large classes)."
    ),
    Difference(
        "Endpoints that a user makes get no EndpointSlices. A Service leads to a conversion webhook by its "
        "annotation sandbox.handloop.dev/address or by ExternalName alone."
    ),
    Difference(
        "A conversion webhook gets up to 500 objects at once, without their resourceVersion. While it is "
        "down, a list at version 0 is refused like any other, a refused list does not wait for 3 seconds "
        "first, and the garbage collector still sees what happens in versions that it cannot list."
    ),
    Difference(
        "A caBundle that is no certificate does not keep a definition from being established "
        "(InvalidCABundle)."
    ),
    Difference(
        "Of the roles that a cluster has by itself there are those for users, not those of its own parts. "
        "The rights of constrained impersonation (impersonate:user-info, impersonate-on:...) give nothing."
    ),
    Difference(
        "Some rarely used input that a real server rejects is accepted: integers written as 1e18, null in "
        "fields without a type, unknown methods, and %2f in paths. A few pointers that Go writes as null "
        "(apiGroup of a reference) are left out."
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
