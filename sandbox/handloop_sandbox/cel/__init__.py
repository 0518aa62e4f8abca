"""The Common Expression Language (CEL) as in kube-apiserver: its syntax, types, costs and values."""
