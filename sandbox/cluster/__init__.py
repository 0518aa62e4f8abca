"""
What lives in a cluster besides the API: simulated controllers, scheduler and kubelets.

A controller is handed changes and answers with writes; cluster_controller.py says how, lifecycle.py lists
them.
"""
