"""Manifests the kubectl tests apply."""

from __future__ import annotations

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: nginx, image: "nginx:1.25", ports: [{containerPort: 8080, name: http}]}
"""

CONFIG = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {color: blue, size: large}
"""

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: http}]
"""

LEASE = """
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: leader}
spec: {holderIdentity: me, leaseDurationSeconds: 15}
"""


def foo_crd(group: str) -> str:
    """A CustomResourceDefinition like sample-controller's, with status and scale subresources and columns."""
    return f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: foos.{group}
  annotations: {{api-approved.kubernetes.io: "unapproved, experimental-only"}}
spec:
  group: {group}
  names: {{kind: Foo, plural: foos, singular: foo, shortNames: [fo], categories: [all]}}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: A Foo has a Deployment of its own.
        properties:
          spec:
            type: object
            description: What is wanted.
            required: [deploymentName]
            properties:
              deploymentName: {{type: string, description: The name of the Deployment.}}
              replicas: {{type: integer, minimum: 1, maximum: 10, default: 1}}
          status:
            type: object
            properties:
              availableReplicas: {{type: integer}}
              selector: {{type: string}}
              conditions:
                type: array
                items:
                  type: object
                  properties: {{type: {{type: string}}, status: {{type: string}}}}
    subresources:
      status: {{}}
      scale:
        specReplicasPath: .spec.replicas
        statusReplicasPath: .status.availableReplicas
        labelSelectorPath: .status.selector
    additionalPrinterColumns:
    - {{name: Desired, type: integer, jsonPath: .spec.replicas}}
    - {{name: Available, type: integer, jsonPath: .status.availableReplicas}}
    - {{name: Deployment, type: string, jsonPath: .spec.deploymentName, priority: 1}}
    - {{name: Age, type: date, jsonPath: .metadata.creationTimestamp}}
"""


def foo(group: str, *, replicas: int | None = 1, name: str = "example") -> str:
    """A Foo."""
    size = f", replicas: {replicas}" if replicas is not None else ""
    return f"""
apiVersion: {group}/v1alpha1
kind: Foo
metadata: {{name: {name}}}
spec: {{deploymentName: {name}-deployment{size}}}
"""
