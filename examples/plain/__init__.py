"""A controller by hand: ConfigMaps, an informer, a queue and workers."""
