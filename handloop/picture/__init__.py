"""
ARCHITECTURE's picture, live: the twelve steps, recorded and explained, and the page that draws them.

    steps, snippets             where the steps stand in the source
    recorder, recording         the steps of a running program, and those of a run that is kept
    explain, syncs              a sentence for each step, and what the workers did
    parts, snapshot             queues, workers, caches and listeners, and what stands in them
    page_data                   the page, `page/`: of a running program, or of runs in a folder

`learn/` has the server of the page, and `explore/` writes a page about an exploration.
"""
