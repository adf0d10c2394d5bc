"""What becomes of Nutch's scoring plug-ins? `scoring.rules`, and what hangs on one of them alone.

A ScoringFilter of Nutch's own becomes the rule that does its work, in the order of `scoring.filter.order`; one that has
no rule here is told. What is set for a plug-in that was not in force does not count, as it did not in Nutch.

Not here: what the rules do (`frontier.scoring`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cobnut.config.checks import RANGES
from cobnut.config.load import known_keys
from cobnut.config.sections import ScoringSettings
from cobnut.config.template import toml_value
from cobnut.interop.nutch_config.found import Became, Imported
from cobnut.interop.nutch_config.values import KeepsDefaultError, depth_limit, fitted, positive

RULES: tuple[tuple[str, str, str], ...] = (
    ("scoring-opic", "opicscoringfilter", "opic"),
    ("scoring-depth", "depthscoringfilter", "depth"),
    ("scoring-link", "linkanalysisscoringfilter", "link_rank"),
)
"""Plug-in, its class in lower case, and the rule that does its work."""

WITHOUT: Mapping[str, str] = {
    "scoring-similarity": "no counterpart: pages are not compared with a text that is wanted",
    "scoring-metadata": "no counterpart: metadata of a seed stays with the seed and is not passed on to links",
    "urlmeta": "no counterpart: metadata of a seed stays with the seed and is not passed on to links",
}
"""Plug-ins that have a say in scores, and no rule here."""

ORPHAN = "scoring-orphan"
_ORPHAN_AFTER = "scoring.orphan.mark.orphan.after"
_ORPHAN_AFTER_S = 40 * 86_400
"""What Nutch takes where it is not set."""

_LINK_NOTE = (
    "scoring-link is link_rank in scoring.rules: `cobnut rank DIR` computes the ranks, and they lift pages in search "
    "results; fetchlists do not follow them, but the scores that opic shares"
)


def take_scoring(values: Mapping[str, str], includes: str | None, active: frozenset[str], into: Imported) -> None:
    """Sets `scoring.rules` where it is not what it is by default, and what counts only with one plug-in.

    `values`: the properties that are taken over. `includes` is `plugin.includes`, None where it is not set: Nutch has
    scoring-opic in force then, as we have.
    """
    of = {one.property: one for one in into.properties}
    found = [(name, rule) for plugin, name, rule in RULES if plugin in active]
    order = {
        name.rpartition(".")[2].lower(): place
        for place, name in enumerate(values.get("scoring.filter.order", "")[:20_000].split())
    }
    rules = tuple(rule for _, rule in sorted(found, key=lambda item: order.get(item[0], len(order))))
    if rules and rules != ScoringSettings().rules:
        into.settings["scoring.rules"] = rules
    elif not rules and includes is not None and (ORPHAN in active or any(name in active for name in WITHOUT)):
        into.notes.append("no scoring plug-in in plugin.includes has a rule here: scoring.rules stays at its default")
    _order(of.get("scoring.filter.order"), order, frozenset(name for name, _ in found), into)
    if "scoring-link" in active:
        into.notes.append(_LINK_NOTE)
    into.notes += [f"{name}: {why}" for name, why in WITHOUT.items() if name in active]
    _depth(values, of.get("scoring.depth.max"), "scoring-depth" in active, into)
    _orphans(values, of.get(_ORPHAN_AFTER), ORPHAN in active, into)


def _order(one: Became | None, order: Mapping[str, int], in_force: frozenset[str], into: Imported) -> None:
    """Tells of the classes that `scoring.filter.order` names and that are no rule here, or not in force."""
    if one is None:
        return
    ours = {name for _, name, _ in RULES}
    strange = [name for name in order if name not in ours and "orphan" not in name]
    idle = [name for name in order if name in ours and name not in in_force]
    if strange:
        into.notes.append(f"scoring.filter.order: no rule here does what {', '.join(strange[:5])[:300]} does")
    if idle:
        into.notes.append(f"scoring.filter.order: {', '.join(idle)} is not in plugin.includes, and was not in force")


def _depth(values: Mapping[str, str], one: Became | None, in_force: bool, into: Imported) -> None:
    if one is None:
        return
    if not in_force:
        one.verdict, one.note = "kept", "counts only with scoring-depth in plugin.includes"
        return
    _number(one, "crawl.depth", values["scoring.depth.max"], depth_limit, into)


def _orphans(values: Mapping[str, str], one: Became | None, in_force: bool, into: Imported) -> None:
    key = "db.orphan_after_s"
    if not in_force:
        if one is not None:
            one.verdict, one.note = "kept", "counts only with scoring-orphan in plugin.includes"
    elif one is not None:
        _number(one, key, values[_ORPHAN_AFTER], positive, into)
    else:
        into.settings[key] = _ORPHAN_AFTER_S
        into.notes.append(f"scoring-orphan: {key} = {_ORPHAN_AFTER_S}, Nutch's default of {_ORPHAN_AFTER}")


def _number(one: Became, key: str, text: str, read: Callable[[str], float], into: Imported) -> None:
    try:
        value, note = fitted(read(text), known_keys()[key], *RANGES[key])
    except KeepsDefaultError as kept:
        one.verdict, one.note = "kept", str(kept)
        return
    except ValueError as error:
        one.verdict, one.note = "wrong", str(error)
        return
    into.settings[key] = value
    one.became.append(f"{key} = {toml_value(value)}")
    one.note = note or one.note
