"""An operator: a Memcached is a Deployment of memcached, and its status has the names of its Pods."""
