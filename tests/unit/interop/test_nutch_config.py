"""A Nutch configuration becomes settings, rule files and seeds; each property is told of, nothing hostile gets in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from crawling import FAST, cobnut
from nutch_site import SEEDS, SITE, NutchSite

from cobnut.config.load import known_keys, load_settings
from cobnut.config.sections import Settings
from cobnut.errors import CobnutError, InputError
from cobnut.frontier.scoring import active_rules
from cobnut.interop.nutch_config.active import active_plugins
from cobnut.interop.nutch_config.convert import import_conf, with_values
from cobnut.interop.nutch_config.properties import ROWS, row_of
from cobnut.interop.nutch_config.write import write_into, write_new
from cobnut.interop.nutch_config.xmlconf import MAX_PROPERTIES, merged, parse_conf, substituted
from cobnut.storage.layout import CrawlFolder
from cobnut.urls.filters import Scope, compile_filter
from cobnut.urls.normalizers import compile_normalizer


def conf(folder: Path, site: dict[str, str] | str = "", **files: str) -> Path:
    """A conf folder: properties of nutch-site.xml, and other files (a dash for `_`, a dot for `__`)."""
    folder.mkdir(parents=True, exist_ok=True)
    if isinstance(site, dict):
        site = xml(site)
    if site:
        (folder / "nutch-site.xml").write_text(site)
    for name, text in files.items():
        (folder / name.replace("__", ".").replace("_", "-")).write_text(text)
    return folder


def xml(properties: dict[str, str], root: str = "configuration") -> str:
    def safe(text: str) -> str:
        return text.replace("&", "&amp;").replace("<", "&lt;")

    made = "".join(
        f"<property><name>{n}</name><value>{safe(v)}</value><description>d</description></property>\n"
        for n, v in properties.items()
    )
    return f'<?xml version="1.0"?>\n<{root}>\n{made}</{root}>\n'


def settings(tmp_path: Path, **properties: str) -> dict[str, object]:
    return import_conf(conf(tmp_path / "conf", {k.replace("__", "."): v for k, v in properties.items()})).settings


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("http.timeout", "15000", {"fetcher.connect_timeout_s": 15.0, "fetcher.low_speed_time_s": 15}),
        ("http.timeout", "1500", {"fetcher.connect_timeout_s": 1.5, "fetcher.low_speed_time_s": 2}),
        ("http.content.limit", "65536", {"fetcher.html_max_bytes": 65536, "fetcher.other_max_bytes": 65536}),
        ("http.content.limit", "-1", {"fetcher.html_max_bytes": 2**31, "fetcher.other_max_bytes": 2**31}),
        ("http.content.limit", "0x10000", {"fetcher.html_max_bytes": 65536, "fetcher.other_max_bytes": 65536}),
        ("http.redirect.max", "3", {"fetcher.max_redirects": 3}),
        ("http.redirect.max", "0", {}),
        ("http.agent.name", "Nutch-Test", {"fetcher.agent_name": "Nutch-Test"}),
        ("http.agent.name", "  ", {}),
        ("http.agent.name", "12", {}),
        ("http.agent.email", "me at example dot org", {"fetcher.agent_contact": "me@example.org"}),
        ("http.agent.email", "me(at)example(dot)org", {"fetcher.agent_contact": "me@example.org"}),
        ("http.agent.email", "nobody", {}),
        ("http.agent.url", "http://e.org/bot",
         {"fetcher.agent_url": "http://e.org/bot", "fetcher.agent_contact": "http://e.org/bot"}),
        ("http.proxy.host", "p.test", {"fetcher.proxy": "http://p.test:8080"}),
        ("http.proxy.port", "80", {}),
        ("http.tls.certificates.check", "false", {"fetcher.tls_verify": False}),
        ("fetcher.server.delay", "5.0", {"fetcher.delay_s": 5.0}),
        ("fetcher.server.min.delay", "1.0", {}),
        ("fetcher.max.crawl.delay", "-1", {"fetcher.max_delay_s": 86_400.0}),
        ("fetcher.timelimit.mins", "30", {"crawl.round_s": 1800}),
        ("db.default.fetch.interval", "30", {"db.interval_s": 2_592_000}),
        ("db.fetch.interval.default", "3600", {"db.interval_s": 3600}),
        ("db.fetch.schedule.class", "org.apache.nutch.crawl.DefaultFetchSchedule", {"db.schedule": "default"}),
        ("db.fetch.schedule.class", "org.example.Mine", {}),
        ("db.fetch.schedule.adaptive.inc_rate", "0.3", {"db.increase": 0.3}),
        ("db.fetch.schedule.adaptive.sync_delta", "TRUE", {"db.sync_delta": True}),
        ("db.ignore.external.links", "true", {"crawl.scope": "host"}),
        ("db.ignore.external.links", "false", {"crawl.scope": "web"}),
        ("db.ignore.external.links", "perhaps", {}),
        ("db.max.outlinks.per.page", "-1", {"parser.max_links": 2**31}),
        ("db.update.additions.allowed", "false", {"crawl.depth": 0}),
        ("db.update.additions.allowed", "true", {}),
        ("linkdb.ignore.internal.links", "true", {"linkdb.ignore_internal": True}),
        ("generate.max.count", "100", {"generate.max_per_host": 100}),
        ("generate.max.count", "0", {"generate.max_per_host": -1}),
        ("generate.count.mode", "ip", {}),
        ("http.timeout", "0", {}),
        ("scoring.depth.max", "3", {}),  # scoring-depth is not in force
        ("scoring.orphan.mark.orphan.after", "3600", {}),
        ("plugin.includes", "urlnormalizer-basic|urlnormalizer-regex|scoring-opic", {}),
        ("plugin.includes", "urlnormalizer-basic|scoring-(depth|opic|link)",
         {"scoring.rules": ("opic", "depth", "link_rank")}),
        ("plugin.includes", "urlnormalizer-basic|scoring-orphan", {"db.orphan_after_s": 3_456_000}),
        ("parser.timeout", "-1", {"parser.page_timeout_s": 3600.0}),
        ("urlnormalizer.basic.host.trim-trailing-dot", "true", {"urls.normalizers": ("basic", "trailing_dot")}),
        ("plugin.includes", "urlnormalizer-(basic|querystring)", {"urls.normalizers": ("basic", "sort_query")}),
        ("mapred.map.tasks", "10", {}),
        ("no.such.property", "10", {}),
    ],
)  # fmt: skip
def test_what_a_property_becomes(tmp_path, name, value, expected):
    found = import_conf(conf(tmp_path / "conf", {name: value}))
    assert found.settings == expected
    (one,) = found.properties
    assert (one.property, one.value) == (name, value)
    assert one.note or one.became
    assert (one.verdict == "sets") == bool(expected)
    for key in expected:
        assert type(found.settings[key]) is type(getattr(getattr(Settings(), key.split(".")[0]), key.split(".")[1]))


@pytest.mark.parametrize("value", ["lots", "", "nan", "inf", "1e999", "9" * 5000, "1_000", "\x85", "٣"])
def test_numbers_that_are_none_are_told(tmp_path, value):
    found = import_conf(conf(tmp_path / "conf", {"db.fetch.retry.max": value}))
    (one,) = found.properties
    if value == "٣":  # a digit, to Java as to Python
        assert found.settings == {"db.retry_max": 3}
    else:
        assert (found.settings, one.verdict) == ({}, "wrong")


def test_properties_that_count_together(tmp_path):
    several = {"fetcher__threads__per__queue": "3", "fetcher__server__min__delay": "0.5", "fetcher__server__delay": "9"}
    assert settings(tmp_path, **several) == {"fetcher.connections_per_host": 3, "fetcher.delay_s": 0.5}
    assert settings(tmp_path, http__proxy__host="p.test", http__proxy__port="3128") == {
        "fetcher.proxy": "http://p.test:3128"
    }
    assert settings(tmp_path, db__ignore__external__links="true", db__ignore__external__links__mode="byDomain") == {
        "crawl.scope": "domain"
    }
    for adaptive, counted in (("8640000", 7_776_000), ("864000", 864_000)):
        values = {"db.fetch.interval.max": "7776000", "db.fetch.schedule.adaptive.max_interval": adaptive}
        assert import_conf(conf(tmp_path / "conf", values)).settings == {"db.max_interval_s": counted}


def test_urls_are_counted_by_host_or_domain(tmp_path):
    assert settings(tmp_path, generate__max__count="9", generate__count__mode="domain") == {
        "generate.max_per_domain": 9
    }
    assert settings(tmp_path, generate__max__count="9", generate__count__mode="host") == {"generate.max_per_host": 9}


def test_a_configuration_of_0_7(tmp_path):
    site = xml(
        {
            "http.agent.name": "Old", "urlnormalizer.class": "org.apache.nutch.net.RegexUrlNormalizer",
            "plugin.includes": "nutch-extensionpoints|protocol-http|urlfilter-regex|parse-(text|html)",
            "db.default.fetch.interval": "30", "query.url.boost": "4.0", "indexer.max.tokens": "10000",
            "urlfilter.regex.file": "crawl-urlfilter.txt",
        },
        "nutch-conf",
    )  # fmt: skip
    rewrite = "<regex-normalize><regex><pattern>#.*</pattern><substitution/></regex></regex-normalize>"
    found = import_conf(conf(tmp_path / "conf", site, crawl_urlfilter__txt="+^http://([a-z0-9]*\\.)*a.test/\n-.\n",
                             regex_normalize__xml=rewrite))  # fmt: skip
    assert found.settings == {
        "fetcher.agent_name": "Old", "db.interval_s": 2_592_000, "crawl.scope": "web",
        "urls.filters": ("scheme", "length", "rules:rules/crawl-urlfilter.txt", "repeat", "scope"),
        "urls.normalizers": ("basic", "rules:rules/regex-normalize.toml"),
    }  # fmt: skip
    assert {one.property: one.verdict for one in found.properties}["query.url.boost"] == "built in"
    refused_by, _ = filtered(found, tmp_path)
    assert refused_by("http://www.a.test/") is None
    assert refused_by("http://b.test/") == "rules:crawl-urlfilter.txt"


def test_settings_that_do_not_agree_are_left_out_and_told(tmp_path):
    values = {"db.fetch.interval.max": "60", "db.fetch.schedule.adaptive.min_interval": "3600"}
    found = import_conf(conf(tmp_path / "conf", values))
    assert found.settings == {}
    assert any("db.min_interval_s" in note for note in found.notes)


def test_secrets_are_not_shown(tmp_path):
    found = import_conf(conf(tmp_path / "conf", {"http.proxy.password": "geheim", "http.proxy.host": "${pw.x}"}))
    assert "geheim" not in json.dumps([(p.value, p.note, p.became) for p in found.properties])


KNOWN = """http.agent.name http.content.limit file.content.limit http.timeout http.time.limit http.redirect.max
    http.useHttp11 http.useHttp2 http.accept.language http.robots.403.allow http.robots.503.defer.visits
    http.robots.503.defer.visits.delay fetcher.server.delay fetcher.server.min.delay fetcher.min.crawl.delay
    fetcher.max.crawl.delay fetcher.threads.fetch fetcher.threads.per.queue fetcher.queue.mode partition.url.mode
    fetcher.max.exceptions.per.queue fetcher.exceptions.per.queue.delay fetcher.timelimit.mins
    fetcher.throughput.threshold.pages fetcher.threads.timeout.divisor fetcher.parse
    fetcher.follow.outlinks.depth db.fetch.interval.default db.fetch.interval.max db.fetch.retry.max
    db.max.outlinks.per.page db.max.outlink.length db.update.max.inlinks db.ignore.internal.links
    linkdb.ignore.internal.links linkdb.max.inlinks linkdb.max.anchor.length generate.max.count generate.count.mode
    generate.min.score generate.min.interval generate.restrict.status crawl.gen.delay generate.update.crawldb
    db.score.injected db.score.link.internal indexer.score.power parser.timeout parser.character.encoding.default
    parser.caching.forbidden.policy indexer.delete indexer.delete.robots.noindex indexer.skip.notmodified
    sitemap.redir.max sitemap.size.max sitemap.strict db.default.fetch.interval http.max.delays
    fetchlist.score.by.link.count indexer.max.tokens query.url.boost searcher.hostgrouping.rawhits.factor
    parser.skip.truncated mime.types.file lang.ngram.min.length plugin.folders io.sort.mb"""


def test_the_table_speaks_of_every_setting_by_its_name_and_of_every_property():
    for row in ROWS:
        assert row.settings or row.note, row.name
        for key, _ in row.settings:
            assert key in known_keys()
    assert len({row.name for row in ROWS}) == len(ROWS)
    told = KNOWN.split()
    assert [name for name in told if row_of(name) is None] == []
    assert row_of("http.proxy.username").note != row_of("http.proxy.host").note  # the exact name goes first
    assert row_of("made.up") is None


# The form of the files


def test_later_files_go_before_earlier_ones_unless_final():
    first = parse_conf(b"<configuration><property><name>a</name><value>1</value><final>true</final></property>"
                       b"<property><name>b</name><value>1</value></property></configuration>", "first")  # fmt: skip
    second = parse_conf(b"<configuration><property name='a' value='2'/><property name='b' value='2'/>"
                        b"<property><name>b</name><value>3</value></property>"
                        b"<property><name>c</name></property><property/></configuration>", "second")  # fmt: skip
    held, notes = merged([first, second])
    assert {name: one.value for name, one in held.items()} == {"a": "1", "b": "3"}
    assert len(notes) == 3


def test_the_root_of_0_7_and_nested_configurations():
    for root in ("configuration", "nutch-conf"):
        data = f"<{root}><configuration><property><name> a </name><value>1</value></property></configuration></{root}>"
        assert parse_conf(data.encode(), "f").properties[0][:2] == ("a", "1")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252", "koi8-r"])
def test_encodings(encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?><configuration><property name="a" value="x"/></configuration>'
    assert parse_conf(text.encode(encoding), "f").properties[0].value == "x"


def test_variables():
    held, _ = merged([parse_conf(xml({
        "a": "${b}/${b}", "b": "${c}", "c": "x", "loop": "${loop2}", "loop2": "${loop}", "self": "${self}y",
        "env": "${env.HOME} ${user.name} ${c}",
    }).encode(), "f")])  # fmt: skip
    assert substituted("${a}", held) == "x/x"
    assert "${" in substituted("${loop}", held)
    assert "${self}" in substituted("${self}", held)
    assert substituted("${env}", held) == "${env.HOME} ${user.name} x"


def test_variables_that_multiply_stay_bounded():
    doubled = {f"v{n}": f"${{v{n + 1}}}" * 50 for n in range(60)}
    held, _ = merged([parse_conf(xml(doubled).encode(), "f")])
    assert len(substituted("${v0}", held)) < 100_000


BOMB = b"""<?xml version="1.0"?><!DOCTYPE configuration [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;">]><configuration><property name="x"/>&c;</configuration>"""


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (BOMB, "document type"),
        (b'<!DOCTYPE c SYSTEM "file:///etc/passwd"><configuration/>', "document type"),
        (b"<configuration><property>", "not well-formed"),
        (b"", "not well-formed"),
        (b"\x00\x01\x02", "not well-formed"),
        (b"<configuration>&undefined;</configuration>", "not well-formed"),
        (b"<html><body/></html>", "no configuration"),
        (b"<a>" * 5000 + b"</a>" * 5000, "nested too deeply"),
        (b"<configuration>" + b"<p/>" * (9 * MAX_PROPERTIES) + b"</configuration>", "too many elements"),
        (b"<configuration>" + b"<property name='a'/>" * (MAX_PROPERTIES + 1) + b"</configuration>", "properties"),
        (b'<?xml version="1.0" encoding="no-such"?><configuration/>', "encoding|not well-formed"),
        (b'<?xml version="1.0" encoding="shift_jis"?><configuration/>', "encoding|not well-formed"),
        (b"<configuration><property name='a' value='" + b"x" * (2 << 20) + b"'/></configuration>", "longer than"),
    ],
)
def test_hostile_xml_is_refused_with_its_file(data, what):
    with pytest.raises(InputError, match=what) as told:
        parse_conf(data, "some.xml")
    assert "some.xml" in told.value.line()


def test_every_cut_of_a_file_is_read_or_refused():
    data = xml({"http.agent.name": "x", "b": "é${c}"}).encode()
    for end in range(len(data)):
        with pytest.raises(CobnutError):
            parse_conf(data[:end].rstrip() if end < len(data) - 1 else data[:-5], "f")


def test_includes_are_not_followed(tmp_path):
    text = '<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="secret.xml"/></configuration>'
    (tmp_path / "secret.xml").write_text(xml({"http.agent.name": "x"}))
    found = import_conf(conf(tmp_path, text))
    assert found.properties == []
    assert any("secret.xml" in note for note in found.notes)


# Filters, normalizers, seeds

REGEX = "# none\n-^(file|ftp|mailto):\n-(?i)\\.(gif|zip)$\n-.*(/[^/]+)/[^/]+\\1/[^/]+\\1/\n+.\n"
ALL = "urlfilter-(regex|automaton|prefix|suffix|domain|domaindenylist|fast)|urlnormalizer-(basic|regex|host|protocol)"


def filtered(found, tmp_path: Path):
    crawl = tmp_path / "crawl"
    write_new(crawl, found)
    urls = load_settings(crawl, environ={}).settings.urls
    return compile_filter(urls, Scope("web")), compile_normalizer(urls.normalizers)


def test_files_of_plugins_in_force_become_rule_files(tmp_path):
    folder = conf(
        tmp_path / "conf", {"plugin.includes": ALL},
        regex_urlfilter__txt=REGEX, automaton_urlfilter__txt="-.*secret.*\n+.*\n",
        prefix_urlfilter__txt="http://\nhttps://\n", suffix_urlfilter__txt="+I\n.PNG\n",
        domain_urlfilter__txt="example.org\ntest\n", domaindenylist_urlfilter__txt="bad.example.org\n",
        fast_urlfilter__txt="Host www.example.org\nDenyPath ^/private/\n",
        regex_normalize__xml="<regex-normalize><regex><pattern>(?:&amp;)?sid=[^&amp;]*</pattern><substitution/></regex>"
        "</regex-normalize>",
        host_urlnormalizer__txt="*.m.test www.m.test\n", protocols__txt="s.test https\n",
    )  # fmt: skip
    found = import_conf(folder)
    assert found.lost == []
    assert found.settings["urls.filters"][:2] == ("scheme", "length")
    assert found.settings["urls.filters"][-2:] == ("repeat", "scope")
    assert len(found.settings["urls.filters"]) == 11
    assert found.settings["crawl.scope"] == "web"
    refused_by, normalize = filtered(found, tmp_path)
    for url, rule in {
        "http://example.org/": None,
        "https://www.example.org/a?b=c": None,
        "http://example.org/A.GIF": "rules:regex-urlfilter.txt",
        "http://example.org/x/1/x/2/x/": "rules:regex-urlfilter.txt",
        "http://example.org/secrets": "rules:automaton-urlfilter.txt",
        "http://example.org/a.png": "rules:suffix-urlfilter.txt",
        "http://example.com/": "rules:domain-urlfilter.txt",
        "http://x.bad.example.org/": "rules:domaindenylist-urlfilter.txt",
        "http://www.example.org/private/x": "rules:fast-urlfilter.txt",
        "http://example.org/private/x": None,
        "http://any.test/": None,
    }.items():
        assert refused_by(url) == rule, url
    assert normalize("http://a.test/?x=1&sid=7") == "http://a.test/?x=1"
    assert normalize("http://a.m.test/x") == "http://www.m.test/x"
    assert normalize("http://s.test/x") == "https://s.test/x"


def test_files_of_other_plugins_are_told_and_left(tmp_path):
    found = import_conf(conf(tmp_path / "conf", {"http.agent.name": "x"}, regex_urlfilter__txt=REGEX,
                             crawl_urlfilter__txt="-.\n", prefix_urlfilter__txt="x\n"))  # fmt: skip
    assert found.settings["urls.filters"] == ("scheme", "length", "rules:rules/regex-urlfilter.txt", "repeat", "scope")
    assert {Path(file.source).name: file.became for file in found.files} == {
        "regex-urlfilter.txt": "rules/regex-urlfilter.txt", "crawl-urlfilter.txt": None, "prefix-urlfilter.txt": None,
    }  # fmt: skip


def test_the_order_of_filters_and_a_file_named_by_a_property(tmp_path):
    found = import_conf(conf(
        tmp_path / "conf",
        {"plugin.includes": "urlfilter-.*", "urlfilter.regex.file": "crawl-urlfilter.txt",
         "urlfilter.prefix.rules": "http://\n",
         "urlfilter.order": "org.apache.nutch.net.PrefixURLFilter\n org.apache.nutch.net.RegexURLFilter"},
        regex_urlfilter__txt="-.\n", crawl_urlfilter__txt="+.\n", domain_urlfilter__txt="org\n",
    ))  # fmt: skip
    assert found.settings["urls.filters"][2:-2] == (
        "rules:rules/prefix-urlfilter.txt", "rules:rules/crawl-urlfilter.txt", "rules:rules/domain-urlfilter.txt",
    )  # fmt: skip


def test_a_property_cannot_name_a_file_elsewhere(tmp_path):
    (tmp_path / "outside.txt").write_text("+.\n")
    for name in ("../outside.txt", str(tmp_path / "outside.txt"), ".hidden", "a\tb"):
        found = import_conf(conf(tmp_path / "conf", {"urlfilter.regex.file": name}))
        assert found.texts == {}


def test_rules_without_a_form_are_named_and_kept_as_comments(tmp_path):
    found = import_conf(conf(tmp_path / "conf", {"http.agent.name": "x"},
                             regex_urlfilter__txt="-[a-z&&[^b]]\n-\\p{IsLatin}\n-(?<=a+)b\n?x\n-(\n+.\n"))  # fmt: skip
    assert len(found.lost) == 5
    text = found.texts["rules/regex-urlfilter.txt"]
    assert text.count("# no form here") == 5
    assert text.rstrip().endswith("+ all")


def test_plugins_in_force():
    assert active_plugins(None) >= {"urlfilter-regex", "urlnormalizer-basic"}
    assert active_plugins("protocol-http|urlfilter-regex", "org.apache.nutch.net.RegexUrlNormalizer") == {
        "urlfilter-regex", "urlnormalizer-basic", "urlnormalizer-regex",
    }  # fmt: skip
    assert active_plugins("x|urlfilter-(prefix|fast)|urlnormalizer-(pass)") == {
        "urlfilter-prefix", "urlfilter-fast", "urlnormalizer-pass",
    }  # fmt: skip
    # patterns that would take for ever are read for the names in them
    assert "urlfilter-regex" in active_plugins("(([a-z-]+)+)+!|urlfilter-regex|urlfilter-(domain|fast)")
    assert "urlfilter-domain" in active_plugins(".*.*.*.*.*.*.*.*.*.*.*.*x|urlfilter-(domain|fast)")
    assert active_plugins("(" * 10_000) == {"urlnormalizer-basic"}


LINK, DEPTH, OPIC = (
    f"org.apache.nutch.scoring.{name}" for name in (
        "link.LinkAnalysisScoringFilter", "depth.DepthScoringFilter", "opic.OPICScoringFilter",
    )
)  # fmt: skip


def scored(tmp_path: Path, includes: str, **properties: str):
    given = {"plugin.includes": f"urlnormalizer-basic|{includes}"}
    return import_conf(conf(tmp_path / "conf", given | {k.replace("__", "."): v for k, v in properties.items()}))


def test_scoring_plugins_become_rules_in_their_order(tmp_path):
    found = scored(tmp_path, "scoring-(opic|link|depth)", scoring__filter__order=f"{DEPTH}  {LINK}")
    assert found.settings == {"scoring.rules": ("depth", "link_rank", "opic")}
    became = {one.property: (one.verdict, one.became) for one in found.properties}
    told = ("sets", ['scoring.rules = ["depth", "link_rank", "opic"]'])
    assert became == {"plugin.includes": told, "scoring.filter.order": told}
    assert any("fetchlists do not follow" in note for note in found.notes)
    assert with_values(found.settings).scoring.rules == ("depth", "link_rank", "opic")
    assert len(active_rules(with_values(found.settings).scoring)) == 3


def test_what_hangs_on_one_scoring_plugin_counts_with_it_alone(tmp_path):
    values = {"scoring__depth__max": "3", "scoring__orphan__mark__orphan__after": "86400"}
    found = scored(tmp_path, "scoring-(opic|depth|orphan)", **values)
    assert found.settings == {"scoring.rules": ("opic", "depth"), "crawl.depth": 2, "db.orphan_after_s": 86_400}
    found = scored(tmp_path, "scoring-opic", **values)
    assert found.settings == {}
    assert {one.property: one.note for one in found.properties if one.property != "plugin.includes"} == {
        "scoring.depth.max": "counts only with scoring-depth in plugin.includes",
        "scoring.orphan.mark.orphan.after": "counts only with scoring-orphan in plugin.includes",
    }
    found = scored(tmp_path, "scoring-depth", scoring__depth__max="soon")
    assert found.settings == {"scoring.rules": ("depth",)}
    assert {one.property: one.verdict for one in found.properties}["scoring.depth.max"] == "wrong"


def test_scoring_plugins_without_a_rule_are_told(tmp_path):
    order = f"org.example.MyScoringFilter {DEPTH} {OPIC}"
    found = scored(tmp_path, "scoring-(opic|similarity|metadata)|urlmeta", scoring__filter__order=order)
    assert found.settings == {}  # opic alone, as by default
    for told in (
        "scoring-similarity: no counterpart", "scoring-metadata: no counterpart", "urlmeta: no counterpart",
        "no rule here does what myscoringfilter does", "depthscoringfilter is not in plugin.includes",
    ):  # fmt: skip
        assert any(told in note for note in found.notes), told
    found = scored(tmp_path, "scoring-similarity")
    assert (found.settings, any("stays at its default" in note for note in found.notes)) == ({}, True)


def test_seeds_are_taken_as_they_stand(tmp_path):
    (tmp_path / "urls").mkdir()
    (tmp_path / "urls/a.txt").write_text("# c\nhttp://a.test/\tnutch.score=2.5\tk=v\n\n  http://b.test/ \n")
    (tmp_path / "urls/b.txt").write_bytes(b"\xef\xbb\xbfhttp://c.test/\xff\r\n")
    (tmp_path / "urls/c.gz").write_bytes(b"\x1f\x8b\x08\x00")
    found = import_conf(conf(tmp_path / "conf", {"http.agent.name": "x"}))
    assert found.seeds == ["http://a.test/\tnutch.score=2.5\tk=v", "http://b.test/", "http://c.test/\ufffd"]
    assert any("c.gz" in note for note in found.notes)


def test_schedule_files(tmp_path):
    adaptive = "org.apache.nutch.crawl.MimeAdaptiveFetchSchedule"
    found = import_conf(conf(tmp_path / "conf", {"db.fetch.schedule.class": adaptive},
                             adaptive_mimetypes__txt="# c\ntext/html 0.2\t0.1\nbad 1 2\nx\n",
                             adaptive_host_specific_intervals__txt="news.test 600 86400\n"))  # fmt: skip
    assert found.settings["db.media_type_schedules"] == ("text/html increase=0.2 decrease=0.1",)
    assert found.settings["db.host_schedules"] == ("news.test min=600s max=86400s",)
    assert len(found.lost) == 2


def test_defaults_only_when_asked_for(tmp_path):
    folder = conf(tmp_path / "conf", {"http.agent.name": "x", "db.fetch.interval.default": "${week}"})
    (folder / "nutch-default.xml").write_text(xml({"week": "604800", "fetcher.server.delay": "5.0"}))
    found = import_conf(folder)
    assert found.settings == {"fetcher.agent_name": "x", "db.interval_s": 604_800}
    assert found.untouched_defaults == 2
    assert import_conf(folder, defaults=True).settings["fetcher.delay_s"] == 5.0
    assert import_conf(folder / "nutch-site.xml").settings == found.settings
    assert import_conf(folder.parent).settings == found.settings  # the folder of a whole Nutch


@pytest.mark.parametrize("make", [lambda p: p / "missing", lambda p: p])
def test_what_is_no_configuration_is_told(tmp_path, make):
    with pytest.raises(InputError, match=r"no such file|no Nutch configuration"):
        import_conf(make(tmp_path))


@pytest.mark.parametrize("data", [b"\xff\xfe+\x00.\x00", b"+.\x00\n"])
def test_filter_files_that_are_no_text_are_told(tmp_path, data):
    folder = conf(tmp_path / "conf", {"http.agent.name": "x"})
    (folder / "regex-urlfilter.txt").write_bytes(data)
    with pytest.raises(InputError, match=r"UTF-16|no text"):
        import_conf(folder)


# Writing


def test_what_a_crawl_sets_itself_stays(tmp_path):
    write_new(
        tmp_path / "crawl", import_conf(conf(tmp_path / "one", {"http.agent.name": "one", "http.timeout": "1000"}))
    )
    crawl = CrawlFolder.open(tmp_path / "crawl")
    other = import_conf(conf(tmp_path / "two", {"http.agent.name": "two", "db.fetch.retry.max": "7"}))
    written, kept = write_into(crawl, other)
    assert [line.partition(" ")[0] for line in kept] == ["fetcher.agent_name"]
    assert written == [str(crawl.settings_path)]
    now = load_settings(crawl.path, environ={}).settings
    assert (now.fetcher.agent_name, now.db.retry_max, now.fetcher.connect_timeout_s) == ("one", 7, 1.0)
    assert write_into(crawl, other, force=True)[1] == []
    assert load_settings(crawl.path, environ={}).settings.fetcher.agent_name == "two"


def test_files_are_not_replaced_without_being_asked(tmp_path):
    found = import_conf(conf(tmp_path / "conf", {"http.agent.name": "x"}, regex_urlfilter__txt=REGEX))
    CrawlFolder.create(tmp_path / "crawl", "")
    crawl = CrawlFolder.open(tmp_path / "crawl")
    (crawl.path / "rules").mkdir()
    (crawl.path / "rules/regex-urlfilter.txt").write_text("+ all\n")
    with pytest.raises(InputError, match="there already"):
        write_into(crawl, found)
    assert crawl.settings_path.read_text() == ""
    write_into(crawl, found, force=True)
    assert compile_filter(load_settings(crawl.path, environ={}).settings.urls, Scope("web"))("http://a.test/a.zip")
    assert write_into(crawl, found)[1] == []


def test_settings_that_clash_with_the_crawls_own_are_refused_before_anything_is_written(tmp_path):
    CrawlFolder.create(tmp_path / "crawl", "[db]\nmax_interval_s = 7200\n")
    crawl = CrawlFolder.open(tmp_path / "crawl")
    found = import_conf(conf(tmp_path / "conf", {"db.fetch.schedule.adaptive.min_interval": "86400"}))
    with pytest.raises(InputError, match="is above"):
        write_into(crawl, found)
    assert "86400" not in crawl.settings_path.read_text()


def test_the_command(tmp_path):
    folder = conf(tmp_path / "conf", {"http.agent.name": "T\x1b[31mx"[:1] + "est", "solr.server.url": "x"},
                  regex_urlfilter__txt=REGEX)  # fmt: skip
    (tmp_path / "urls").mkdir()
    (tmp_path / "urls/seed.txt").write_text("http://a.test/\nhttp://a.test/b.zip\n")
    shown = cobnut("import", "nutch-config", folder).stdout
    assert 'fetcher.agent_name = "Test"' in shown
    assert "nothing was written" in shown
    crawl = tmp_path / "crawl"
    told = json.loads(cobnut("import", "nutch-config", folder, "--out", crawl, "--json").stdout)
    assert {one["property"]: one["verdict"] for one in told["properties"]} == {
        "http.agent.name": "sets", "solr.server.url": "none",
    }  # fmt: skip
    assert len(told["written"]) == 3
    report = cobnut("inject", crawl, crawl / "seeds.txt", "--verbose").stdout
    assert "left out by rules:regex-urlfilter.txt: http://a.test/b.zip" in report
    assert "rules:regex-urlfilter.txt" in cobnut("plugins", crawl).stdout
    assert "there is a crawl here already" in cobnut("import", "nutch-config", folder, "--out", crawl, expect=2).stderr
    cobnut("import", "nutch-config", folder, "--into", crawl)
    cobnut("import", "nutch-config", folder, "--out", crawl, "--force")
    cobnut("backup", crawl, tmp_path / "copy")
    assert (tmp_path / "copy/rules/regex-urlfilter.txt").read_bytes() == (
        crawl / "rules/regex-urlfilter.txt"
    ).read_bytes()


def test_a_crawl_obeys_the_rules_that_came_over(tmp_path):
    rules = "-(?i)\\.TXT$\n-/slow503\n-zh\\.html\\z\n+^http://127\\.0\\.0\\.\\p{Digit}:18099/\n"
    agent = {"http.agent.name": "CobnutTest", "http.agent.email": "test@example.org"}
    conf(tmp_path / "conf", agent, regex_urlfilter__txt=rules)
    (tmp_path / "urls").mkdir()
    (tmp_path / "urls/seed.txt").write_text("\n".join(SEEDS))
    crawl = tmp_path / "crawl"
    cobnut("import", "nutch-config", tmp_path / "conf", "--out", crawl)
    with NutchSite() as site:
        cobnut("inject", crawl, crawl / "seeds.txt")
        cobnut("crawl", crawl, *FAST, *site.options)
        assert set(SITE) - site.paths() == {
            "/plain.txt", "/slow503.html", "/zh.html", "/private/x.html", "/hidden.html", "/only-nofollow.html",
        }  # fmt: skip
    why = cobnut("why", crawl, "http://127.0.0.1:18099/plain.txt", expect=None).stdout
    assert "rules:regex-urlfilter.txt" in why


def test_the_command_ends_with_1_when_something_was_lost(tmp_path):
    folder = conf(tmp_path / "conf", {"http.timeout": "soon"}, regex_urlfilter__txt="-[a&&b]\n+.\n")
    shown = cobnut("import", "nutch-config", folder, expect=1).stdout
    assert "no form here" in shown
    assert "'soon' is no number" in shown
    folder.joinpath("nutch-site.xml").write_bytes(BOMB)
    assert "document type" in cobnut("import", "nutch-config", folder, expect=2).stderr
    assert (
        "exclude each other" in cobnut("import", "nutch-config", folder, "--out", "a", "--into", "b", expect=2).stderr
    )
