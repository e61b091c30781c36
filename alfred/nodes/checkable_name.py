"""Names of things in a text: services, metrics, files, hashes, labels, but no ordinary words."""

from __future__ import annotations

import re
import unicodedata

_ORDINARY = frozenset(
    (
        *("a", "an", "and", "as", "at", "by", "day", "down", "e", "end", "for", "free", "first"),
        *("full", "half", "high", "hour", "in", "it", "known", "last", "level", "like", "long"),
        *("low", "made", "mid", "minute", "multi", "non", "of", "off", "on", "one", "only", "or"),
        *("out", "over", "per", "post", "pre", "re", "read", "real", "related", "root", "running"),
        *("same", "second", "self", "server", "short", "side", "single", "so", "specific", "term"),
        *("the", "third", "three", "through", "time", "to", "two", "under", "up", "well", "wide"),
        *("write", "based", "called", "caused", "cross", "co", "built", "set", "new", "old", "no"),
    )
)
_ABBREVIATIONS = frozenset(("e.g", "i.e", "etc", "vs", "a.m", "p.m", "n/a", "i/o", "w/o", "nan"))
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.ASCII | re.IGNORECASE)
_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2,}", re.ASCII)
_JOINED = re.compile(r"[A-Za-z][.:@][A-Za-z]", re.ASCII)
_DASHED = re.compile(r"[A-Za-z]+(?:-[A-Za-z]+)+", re.ASCII)
_HASH = re.compile(r"[0-9a-f]{7,64}", re.ASCII)
_POD_ENDING = re.compile(
    r"-(?:(?=[a-z0-9]*\d)[a-z0-9]{4,}|[bcdfghjklmnpqrstvwxz2456789]{5}(?![a-z0-9_]))", re.ASCII
)
_VERSION = re.compile(r"v\d+(?:\.\d+)+", re.ASCII)


_PRODUCTS = frozenset(
    (
        *("redis", "kafka", "mysql", "mariadb", "postgres", "mongodb", "nginx", "envoy", "haproxy"),
        *("rabbitmq", "memcached", "elasticsearch", "cassandra", "etcd", "zookeeper", "consul"),
        *("istio", "clickhouse", "dynamodb", "cloudflare", "docker", "jenkins", "vault", "tomcat"),
    )
)
_GENERIC = frozenset(
    (
        *("CPU", "HTTP", "HTTPS", "UTC", "GMT", "ID", "IDS", "API", "URL", "OK", "AM", "PM", "IO"),
        *("SLA", "SLO", "I", "A", "GET", "POST", "PUT", "AND", "OR", "NOT", "NO", "THE", "IS"),
        *("POD", "PODS", "RAM", "IP", "SQL", "MAX", "MIN", "AVG", "ERROR", "WARN", "INFO", "LOG"),
        *("SERVICE", "ALERT", "ALERTS", "PROMETHEUS", "ALERTMANAGER", "KUBERNETES", "GIT"),
    )
)
_CAPITAL = re.compile(r"(?<![\w.\-/'])[A-Z][A-Za-z]+(?![\w\-/])", re.ASCII)
_PLAIN = re.compile(r"(?<![A-Za-z0-9_.\-/])[A-Za-z]{3,}(?![A-Za-z0-9_\-/])", re.ASCII)
_BEGINS = re.compile(r"(?:^|[.!?:;\n\"(\[])\s*$")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_MONTHS_AND_DAYS = re.compile(
    r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|January|February|March|April|May|June|July|August"
    r"|September|October|November|December|Alert|Alerts|Chinese|English"
)


def proper_names(text: str) -> list[str]:
    """List the words of letters alone that name a thing all the same.

    Those are well-known products, words with a capital inside a sentence, and Latin words in a
    Chinese one.
    """
    found = [word for word in _PLAIN.findall(text) if word.lower() in _PRODUCTS]
    if _HAN.search(text):
        found += _PLAIN.findall(text)
    found += [
        each[0]
        for each in _CAPITAL.finditer(text)
        if each[0].isupper() or not _BEGINS.search(text[: each.start()])
    ]
    return [word for word in dict.fromkeys(found) if not _is_ordinary(word)]


def _is_ordinary(word: str) -> bool:
    """Say whether a capital makes no name of a word, or its form alone tells that it is one."""
    return word.upper() in _GENERIC or is_name(word) or bool(_MONTHS_AND_DAYS.fullmatch(word))


def is_foreign(word: str) -> bool:
    """Say whether a word has letters of a script that can pass for Latin ones, as а for a."""
    return any(
        each.isalpha()
        and not each.isascii()
        and each != "μ"
        and unicodedata.name(each, "").startswith(("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"))
        for each in word
    )


def is_name(word: str) -> bool:
    """Say whether a word names a thing, rather than being one of the language."""
    if word.lower().strip(".") in _ABBREVIATIONS or _ORDINAL.fullmatch(word):
        return False
    if any(character.isdigit() for character in word) or "_" in word:
        return any(character.isalnum() for character in word)
    if _HASH.fullmatch(word):
        return True
    if re.match(r"~?\.{0,2}/[A-Za-z]", word) or word.count("/") >= 2 or _CAMEL.search(word):
        return True
    if _DASHED.fullmatch(word):
        parts = word.lower().split("-")
        return not any(part in _ORDINARY or len(part) == 1 for part in parts)
    return bool(_JOINED.search(word))


def holds_name(text: str, name: str) -> bool:
    """Say whether a text holds a name, whole; both without regard to case.

    A commit's hash may be shortened to seven digits, a pod be called by its deployment, a key or a
    file by its last part, a version go without its v. A longer name that merely begins alike is
    another thing.
    """
    wanted, given = name.casefold(), text.casefold()
    if _VERSION.fullmatch(wanted) and holds_name(text, wanted[1:]):
        return True
    start = given.find(wanted)
    while start >= 0:
        before, after = given[:start], given[start + len(wanted) :]
        if _begins(before, wanted) and _ends(after, wanted):
            return True
        start = given.find(wanted, start + 1)
    return False


def _begins(before: str, wanted: str) -> bool:
    if not before or not re.match(r"[a-z0-9_]", wanted):
        return True
    if re.match(r"[a-z0-9_-]", before[-1]):
        return before[-1] == "-" and not re.search(r"[a-z0-9_]-$", before[-2:])
    return not (before[-1] == "." and wanted[0].isdigit() and before[-2:-1].isalnum())


def _ends(after: str, wanted: str) -> bool:
    if not after or not re.match(r"[a-z0-9_]", wanted[-1]):
        return True
    if re.match(r"[a-z0-9_]", after):
        return bool(_HASH.fullmatch(wanted) and re.match(r"[0-9a-f]+(?![a-z0-9_])", after))
    if after[0] == "-":
        return bool(_POD_ENDING.match(after)) or not re.match(r"-[a-z0-9_]", after)
    is_part = after[0] == "." and after[1:2].isalnum()
    return not (is_part and ("." in wanted or wanted.isdigit()))
