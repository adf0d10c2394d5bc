"""What did the user type, and with which code does the command end?

Argument parsing, printing and exit codes, nothing else: the work is done by the layers below. Every command is a module
of `cli.commands`, imported when it is called.
"""
