"""Every crash point of a controller, explored: see handloop.testing.explore.explorer."""
