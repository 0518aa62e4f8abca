"""CEL as in kube-apiserver: syntax, types, costs, values."""
