"""
The parts of a cluster besides the API: simulated controllers, scheduler and kubelets.

A controller is handed changes and answers with writes; see cluster_controller.py. lifecycle.py lists
them.
"""
