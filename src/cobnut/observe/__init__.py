"""What is happening? A clock that can be passed in, counters, an event log, and progress on a terminal.

Nothing here decides anything, and nothing here imports a heavy library before a terminal asks for one.
"""
