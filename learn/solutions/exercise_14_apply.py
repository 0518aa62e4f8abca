"""Chapter 14: from now on, the scaler sets the replicas."""


def hand_over(apply, foo):
    apply("scaler", {"spec": {"replicas": foo.spec.replicas}})
    kept = {"deploymentName": foo.spec.deployment_name}
    apply("gitops", {"metadata": {"labels": dict(foo.metadata.labels)}, "spec": kept})
