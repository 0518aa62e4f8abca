"""A handwritten controller that checks ConfigMaps, with an informer, a queue and workers."""
