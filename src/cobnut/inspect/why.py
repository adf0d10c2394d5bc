"""Why is this URL where it is?

Tells the evidence of one URL as a story: a verdict in one sentence, then what is known in the order in which it came
about. Every reason is given with its documented sentence.

Not here: gathering the evidence (`inspect.evidence`).
"""

from __future__ import annotations

from collections.abc import Iterator

from cobnut.config.durations import show_duration
from cobnut.inspect.evidence import Evidence, Row
from cobnut.inspect.show import plain, score_text
from cobnut.inspect.story import explained, moment, titled
from cobnut.records.outcomes import FLAGS
from cobnut.urls.hosts import port_of
from cobnut.urls.keys import key_to_url

_SAMPLE = 5


def story(evidence: Evidence) -> Iterator[str]:
    """The story, line by line."""
    yield plain(evidence.url.url)
    yield f"  {verdict(evidence)}"
    yield ""
    yield from _entry("URL", evidence)
    yield from _seeds(evidence)
    yield from _discovery(evidence)
    if evidence.forgotten is not None:
        yield titled("Forgotten", _told_to_forget(evidence.forgotten))
    yield titled("Filters", _filters(evidence))
    yield from _robots(evidence)
    yield from _crawldb(evidence)
    yield from _next_turn(evidence)
    yield from _leads_to(evidence)
    yield from _visits(evidence)
    yield from _parsed(evidence)
    yield from _inlinks(evidence)
    yield from _ranks(evidence)
    yield from _duplicates(evidence)
    yield titled("Index", _index(evidence))


def verdict(evidence: Evidence) -> str:
    """Where the URL stands, in one sentence."""
    row = evidence.crawldb
    if not evidence.is_known:
        if evidence.refused_by:
            return f"Nothing is known of it, and the filter `{evidence.refused_by}` would keep it out."
        return "Nothing is known of it: no seed, no page and no link has named it."
    if evidence.document is not None:
        return f"It is in the index, as fetched {moment(evidence.document['fetched_at'])}."
    return "It is not in the index: " + _why_not(evidence, row)


def _known(count: int | None) -> str:
    return "not known" if count is None else f"{count:,}"


def _seen(evidence: Evidence) -> str:
    """When the last visit told so, which stays known when its segment is gone."""
    at = (evidence.page or {}).get("checked_at")
    return "" if at is None else f", as the visit of {moment(at)} told"


def _told_to_forget(entry: Row) -> str:
    what = "" if entry["kind"] == "url" else f", with all of {entry['kind']} {plain(entry['value'], 300)}"
    why = f": {plain(entry['reason'], 300)}" if entry["reason"] else ""
    return f"since {moment(entry['forgotten_at'])}{what}{why}"


def _why_not(evidence: Evidence, row: Row | None) -> str:
    if evidence.forgotten is not None:
        return f"this crawl was told to forget it, {_told_to_forget(evidence.forgotten)}."
    if row is None:
        if evidence.refused_by:
            return f"the filter `{evidence.refused_by}` keeps it out of the crawl."
        if evidence.fetched:
            return "it was fetched, and `cobnut updatedb` has not taken that in yet."
        if evidence.seed:
            return "it is a seed, but the crawldb does not hold it."
        return "pages link to it, but it has not entered the crawldb (nofollow, depth, or updatedb not run since)."
    if row["status"] == "unfetched":
        if row["reason"]:
            why = explained(row["reason"]) + _refused_as(evidence)
            return f"fetching it failed ({why}); the next try is due {moment(row['due_at'])}."
        if evidence.refused_by:
            return f"it was never fetched, and the filter `{evidence.refused_by}` keeps it out of the fetchlists now."
        if evidence.robots_allows is False:
            return "it was not fetched yet, and robots.txt forbids it to our agent."
        later = evidence.turn is not None and evidence.turn["held"] == "not_due"
        return f"it was not fetched yet; it is {'not due before' if later else 'due since'} {moment(row['due_at'])}."
    if row["status"] in ("redirect_temp", "redirect_perm"):
        return _redirects(evidence, row)
    if row["status"] in ("gone", "parse_failed", "orphan"):
        why = (explained(row["reason"]) or "no reason recorded") + _refused_as(evidence)
        return f"its state is {row['status']} ({why}){_seen(evidence)}."
    shown = [d for d in evidence.duplicates if d["representative_key"] != evidence.url.key]
    if shown:
        last = shown[-1]
        return f"{plain(key_to_url(last['representative_key']))} is shown instead ({last['kind']}, by {last['rule']})."
    if evidence.parsed and evidence.parsed[-1]["noindex"]:
        return f"the page forbids indexing (noindex){_seen(evidence)}."
    if evidence.parsed and evidence.parsed[-1]["parse_status"] != "ok":
        return f"it could not be parsed ({explained(evidence.parsed[-1]['reason'])})."
    if row["reason"]:
        return f"{explained(row['reason'])}{_seen(evidence)}."
    if evidence.refused_by not in (None, "scope"):
        return f"the filter `{evidence.refused_by}` keeps it out now."
    if evidence.orphan is not None:
        return f"no page leads to it any more, since {moment(evidence.orphan['since'])} (orphan)."
    if evidence.index_state != "ready":
        return f"{evidence.index_state}: `cobnut index` and `cobnut merge` make it."
    return "it was fetched, and `cobnut index` and `cobnut merge` have not been run since."


def _redirects(evidence: Evidence, row: Row) -> str:
    """Where it leads, and what stands in the index for it."""
    if not evidence.leads_to:
        visits = [visit for visit in evidence.fetched if visit["url_key"] == evidence.url.key]
        target = visits[-1]["redirect_url"] if visits else None
        where = f" to {plain(target)}" if target else ""
        return f"it redirects{where}, and that was not followed ({explained(row['reason']) or 'no reason recorded'})."
    last = evidence.leads_to[-1]
    if last["loops"]:
        return "it redirects in a loop, which leads nowhere."
    text = f"it redirects to {plain(last['url'])}, which "
    if evidence.led_to is None:
        state = last["status"] or "not in the crawldb"
        return f"{text}is not in the index either ({state}); `cobnut why` of it tells more."
    if evidence.led_to["shown_url"] == evidence.url.normalized:
        return f"{text}is in the index and is shown by this address."
    return f"{text}stands in the index for it."


def _refused_as(evidence: Evidence) -> str:
    """What the last answer said of itself, where it refused the page."""
    own = [visit for visit in evidence.fetched if visit["url_key"] == evidence.url.key]
    return "".join(f"; {_flag(flag)}" for flag in (own[-1]["flags"] or () if own else ()))


def _flag(flag: str) -> str:
    return f"{plain(flag)}: {FLAGS.get(flag, 'of no documented kind').rstrip('.')}"


def _entry(title: str, evidence: Evidence) -> Iterator[str]:
    url = evidence.url
    if url.url != url.normalized:
        yield titled("Normalised", f"{plain(url.normalized)} (requested as {plain(url.url)})")
    elif evidence.asked.strip() != url.normalized:
        yield titled("Normalised", plain(url.normalized))
    yield titled("Key", plain(url.key))


def _seeds(evidence: Evidence) -> Iterator[str]:
    if evidence.seed is not None:
        yield titled("Seed", f"injected {moment(evidence.seed['injected_at'])}")


def _discovery(evidence: Evidence) -> Iterator[str]:
    page = evidence.page
    if page is None:
        return
    text = f"{moment(page['discovered_at'])}"
    if page["discovered_via"]:
        text += f" {'as' if page['discovered_via'] == 'seed' else 'through'} a {page['discovered_via']}"
    source = page["discovered_from"]
    if source:
        text += f" on {plain(key_to_url(source))}"
        words = next((r["anchor"] for r in evidence.inlinks if r["from_key"] == source and r["anchor"]), None)
        if words:
            text += f", “{plain(words, 80)}”"
    yield titled("Heard of", text)
    yield from _path(evidence)
    if page["metadata"]:
        pairs = page["metadata"].items() if isinstance(page["metadata"], dict) else page["metadata"]
        yield titled("Metadata", ", ".join(f"{plain(str(k), 60)}={plain(str(v), 100)}" for k, v in pairs))


def _path(evidence: Evidence) -> Iterator[str]:
    """The pages between a seed and this one, where there are any."""
    path, end = evidence.path, evidence.path_end
    if len(path) < 2 or (len(path) == 2 and end is None):  # the line before has told it
        return
    before = {"loop": "pages that name each other", "long": "…", "unknown": "of which nothing more is known"}
    title = "Path"
    if end is not None and end != "unknown":
        yield titled(title, f"from {before[end]}")
        title = ""
    for place, step in enumerate(path):
        told = plain(step["url"])
        if place == 0 and end == "unknown":
            told += f", {before[end]}"
        elif place == 0 and end is None:
            told += f" ({step['via'] or 'seed'})"
        elif step["via"]:
            told = f"→ {told} ({step['via']})"
        yield titled(title, told)
        title = ""


def _filters(evidence: Evidence) -> str:
    if evidence.refused_by is None:
        return "accepted"
    if evidence.seed is not None and evidence.refused_by == "scope":
        return "outside the scope as it is set now; seeds enter all the same"
    return f"refused by `{evidence.refused_by}` as the settings are now"


def _robots(evidence: Evidence) -> Iterator[str]:
    robots = evidence.robots
    if robots is None:
        yield titled("robots.txt", "not fetched yet")
        return
    word = "allows it" if evidence.robots_allows else "forbids it"
    why = {"allow_all": " (as it allows all)", "disallow_all": " (nothing is fetched from there for now)"}.get(
        robots["state"], ""
    )
    if evidence.robots_rule:
        why = f" by the line “{plain(evidence.robots_rule, 120)}”"
    reason = f"; {explained(robots['reason'])}" if robots["reason"] else ""
    yield titled("robots.txt", f"{word}{why}; read {moment(robots['fetched_at'])}{reason}")


def _crawldb(evidence: Evidence) -> Iterator[str]:
    row = evidence.crawldb
    if row is None:
        yield titled("Crawldb", "not in it")
        return
    text = row["status"] + (f" ({explained(row['reason'])})" if row["reason"] else "")
    yield titled("Crawldb", text)
    times = (
        f"due {moment(row['due_at'])}, every {show_duration(row['interval_s'])}, fetched {moment(row['fetched_at'])}"
    )
    if row["modified_at"] is not None:
        times += f", changed {moment(row['modified_at'])}"
    if row["retries"]:
        times += f", {row['retries']} failed tries since"
    yield titled("", times)
    yield titled("", f"score {score_text(row['score'])}, depth {row['depth']}, outlinks {_known(row['outlink_count'])}")
    if evidence.scored_by:
        told = (
            plain(r["rule"], 60) + (f" ({', '.join(r['places'])})" if r["places"] else "") for r in evidence.scored_by
        )
        yield titled("", f"scored by {', '.join(told)}")
    host = evidence.host
    if host is not None and (host["backoff_s"] or host["failures"]):
        yield titled(
            "Host",
            f"{plain(evidence.url.host)} failed {host['failures']} time{_s(host['failures'])} in a row "
            f"({explained(host['last_error'])}); no request before {moment(host['next_fetch_at'])}",
        )


def _next_turn(evidence: Evidence) -> Iterator[str]:
    """What keeps the page out of a fetchlist that is made now; or its place there, and what its age adds to it."""
    turn, row = evidence.turn, evidence.crawldb
    if turn is None or row is None:
        return
    held, ready = turn["held"], moment(turn["ready_at"])
    said = {
        "in_segment": f"it waits in segment {turn['segment']}, which is not applied yet",
        "not_due": f"not now: it is not due before {ready}",
        "min_score": "not now: it scores less than generate.min_score",
        "host_backoff": f"not now: its host is not asked before {ready}",
        "max_depth": f"not now: depth {row['depth']} is deeper than crawl.depth",
    }
    if held is not None:
        rule = held.removeprefix("filtered_by:")
        yield titled("Next fetch", said.get(held, f"not now: the filter `{plain(rule)}` keeps it out"))
        return
    days, place = turn["waited_days"], score_text(turn["sort_value"])
    aged = f"its score {score_text(row['score'])}"
    if turn["aged_by"]:
        aged += f" and {score_text(turn['aged_by'])} for {days:,} whole day{_s(days)} since it was due"
    aged += " (generate.ageing)" if turn["aged_by"] else ""
    others = [plain(rule["rule"], 60) for rule in evidence.scored_by if "fetch order" in rule["places"]]
    after = f", before {', '.join(others)} has its say" if others else ""
    yield titled("Next fetch", f"it may be fetched now; place in the order {place}: {aged}{after}")


def _leads_to(evidence: Evidence) -> Iterator[str]:
    """The pages behind a redirect, to the last."""
    title = "Leads to"
    for place, step in enumerate(evidence.leads_to):
        arrow = "→ " if place else ""
        if step["loops"]:
            yield titled(title, f"{arrow}{plain(step['url'])}, where it was before: a loop, which leads nowhere")
            return
        reason = f", {explained(step['reason'])}" if step["reason"] else ""
        yield titled(title, f"{arrow}{plain(step['url'])} ({step['status'] or 'not in the crawldb'}{reason})")
        title = ""


def _visits(evidence: Evidence) -> Iterator[str]:
    if not evidence.segments_on_disk:
        yield titled("Visits", "no segment is on disk: what they held is told by the lines above")
        return
    done = {(row["segment"], row["url_key"]) for row in evidence.fetched}
    title = "Visits"
    for listed in evidence.listed:
        if (listed["segment"], evidence.url.key) not in done:
            yield titled(title, f"in the fetchlist of segment {listed['segment']} (part {listed['part']}), not fetched")
            title = ""
    for row in evidence.fetched:
        yield titled(title, _visit(row, evidence.url.key))
        title = ""
    if title:
        yield titled(title, f"none in the {evidence.segments_on_disk} segments on disk")


def _visit(row: Row, key: str) -> str:
    text = f"{moment(row['fetched_at'])} segment {row['segment']}: "
    if row["url_key"] != key:
        text += f"on to {plain(row['url'])}: "
    elif row["hop_from"]:
        text += f"redirected from {plain(key_to_url(row['hop_from']))}: "
    text += plain(str(row["outcome"]))
    if row["http_status"] is not None:
        text += f", HTTP {row['http_status']}"
    if row["reason"]:
        text += f", {explained(row['reason'])}"
    if row["body_bytes"]:
        text += f", {row['body_bytes']:,} bytes"
    if row["elapsed_ms"] is not None:
        text += f" in {row['elapsed_ms']} ms"
    if row["truncated"]:
        text += ", cut"
    for flag in row["flags"] or ():
        text += f"; {_flag(flag)}"
    if row["redirect_url"]:
        text += f", to {plain(row['redirect_url'])}"
    elif row["reason"] == "redirect_bad" and (location := dict(row["headers"] or {}).get("location")):
        text += f", to “{plain(location, 200)}”"
    if row["reason"] == "private_address" and row["address"]:
        from cobnut.urls.addresses import AddressGuard

        return f"{text}; {plain(AddressGuard().check(row['address'], port_of(row['url']), row['host']) or '')}"
    return text + (f", from {plain(row['address'])}" if row["address"] else "")


def _parsed(evidence: Evidence) -> Iterator[str]:
    if not evidence.parsed:
        return
    row = evidence.parsed[-1]
    text = f"{row['parse_status']}" + (f" ({explained(row['reason'])})" if row["reason"] else "")
    if row["title"]:
        text += f": “{plain(row['title'], 100)}”"
    links = f"{row['outlink_count']} link{_s(row['outlink_count'])}"
    embeds = f"{row['embed_count']} embed{_s(row['embed_count'])}" if row["embed_count"] else None
    facts = [links, embeds, row["media_type"], row["charset"], row["language"]]
    facts += [word for word in ("noindex", "nofollow", "noarchive", "truncated") if row[word]]
    yield titled("Parsed", f"{text}; {', '.join(plain(str(f)) for f in facts if f)}")
    for flag in row["flags"] or ():
        yield titled("", f"{plain(flag)}: {FLAGS.get(flag, 'of no documented kind')}")
    if row["canonical_key"] and row["canonical_key"] != evidence.url.key:
        yield titled("Canonical", f"it names {plain(key_to_url(row['canonical_key']))}")
    if row["refresh_url"]:
        yield titled("Refresh", f"to {plain(row['refresh_url'])} after {row['refresh_delay_s'] or 0} s")


def _inlinks(evidence: Evidence) -> Iterator[str]:
    for url in evidence.redirects_here[:_SAMPLE]:
        yield titled("Redirected", f"from {plain(url)}")
    if evidence.orphan is not None:
        yield titled("Orphan", f"no page leads to it any more, since {moment(evidence.orphan['since'])}")
    if not evidence.inlink_count:
        yield titled("Inlinks", "none known")
        return
    pages, hosts = evidence.inlink_count, evidence.inlink_host_count
    yield titled("Inlinks", f"from {pages:,} page{_s(pages)} on {hosts:,} host{_s(hosts)}")
    for row in evidence.inlinks[:_SAMPLE]:
        words = f", “{plain(row['anchor'], 80)}”" if row["anchor"] else ""
        kind = "" if row["kind"] == "link" else f", {row['kind']}"
        yield titled("", f"{plain(key_to_url(row['from_key']))}{words}{kind}{', nofollow' if row['nofollow'] else ''}")


def _ranks(evidence: Evidence) -> Iterator[str]:
    ranks = evidence.ranks
    if ranks is not None:
        yield titled(
            "Rank", f"page {score_text(ranks['page_rank'])}, host {score_text(ranks['host_rank'])} (mean is 1)"
        )


def _duplicates(evidence: Evidence) -> Iterator[str]:
    for row in evidence.duplicates:
        if row["representative_key"] == evidence.url.key:
            yield titled("Versions", f"that of segment {row['segment']} gives way to {row['representative_segment']}")
        else:
            other = plain(key_to_url(row["representative_key"]))
            yield titled(
                "Duplicate", f"that of segment {row['segment']}: {other} stands for it ({row['kind']}, {row['rule']})"
            )
    if evidence.stands_for:
        yield titled("Stands for", f"{evidence.stands_for} version{_s(evidence.stands_for)} of other URLs")


def _index(evidence: Evidence) -> str:
    document = evidence.document
    if document is None:
        return "not in it" if evidence.index_state == "ready" else evidence.index_state
    return (
        f"“{plain(document['title'], 100)}”, {document['text_chars']:,} characters of text kept, "
        f"segment {document['segment']}, {document['inlink_count']} inlinks"
    )


def _s(count: int) -> str:
    return "" if count == 1 else "s"
