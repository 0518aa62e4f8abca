"""An operator: a Memcached is a Deployment of memcached, and tells the names of its Pods."""
