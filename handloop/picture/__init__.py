"""
A live view of the picture in ARCHITECTURE.md. The package records and explains the twelve steps, and has the
page that shows them.

    steps, snippets             the places of the steps in the source
    recorder, recording         the steps of a running program, and those of a stored run
    explain, syncs              a sentence for each step, and what the workers did
    parts, snapshot             queues, workers, caches and listeners, and their contents
    page_data                   the page, in `page/`, for a running program or for stored runs

`learn/` has the page's server, and `explore/` writes a page about an exploration.
"""
