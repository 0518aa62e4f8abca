"""An operator that runs a Deployment for each Memcached, and lists its Pods in the status."""
