"""Which known name did the user mean?"""

from __future__ import annotations

from collections.abc import Iterable

from cobnut.errors import InputError


def unknown_name(kind: str, name: str, known: Iterable[str]) -> InputError:
    """The error for a name that is not among `known`, with the nearest one and the whole list."""
    import difflib  # only on the way to an error

    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return InputError(f"unknown {kind}", where=repr(name), remedy=f"{hint}known: {', '.join(names)}")
