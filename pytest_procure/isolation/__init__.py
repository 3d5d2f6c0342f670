"""A candidate in a process of its own: what it does to that process, it does to no one else.

    declared   how an offer is run: here, or in a process of its own
    hosted     the backend as the driver sees it: one process a worker
    lane       one such process, its channel, and how it ended
    warden     the thread that watches over it: memory, time, last words
    child      what runs over there
    recipe     how a declaration gets there        (pickle: ours to theirs, never back)
    frames, arena, arrays, plain, outputs          how inputs go there and answers come back

The process is not trusted. Nothing it sends is unpickled or run; each length, type and shape is checked
before a byte is used, and what does not fit ends the process in a finding.
"""
