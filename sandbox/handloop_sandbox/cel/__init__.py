"""CEL as a kube-apiserver has it: syntax, types, costs, values."""
