"""What an avatar's author permits, in plain words, from the meta of VRM 0.x and VRM 1.0.

The files say it in two vocabularies (VRM 0.x ``meta``; VRMC_vrm ``meta`` 1.0); here both become one list of topics.
What a file leaves out is said as the specification's default (1.0) or as not said (0.x); nothing is assumed allowed.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from idol.avatar.model import Meta

Verdict = Literal["allowed", "limited", "forbidden", "unknown"]

_MAX_TEXT = 300
_VRM1_LICENCE = "https://vrm.dev/licenses/1.0/"
_CREATIVE_COMMONS = {
    "CC_BY": "by", "CC_BY_NC": "by-nc", "CC_BY_SA": "by-sa", "CC_BY_NC_SA": "by-nc-sa", "CC_BY_ND": "by-nd",
    "CC_BY_NC_ND": "by-nc-nd",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Use:
    """One topic: ``text`` is a sentence for people, ``verdict`` its gist; ``limited`` is allowed under a condition."""

    topic: str
    verdict: Verdict
    text: str


@dataclass(frozen=True, slots=True)
class Terms:
    """Who made the avatar and what may be done with it. Texts are single lines without control characters.

    ``licence`` is its name, ``licence_url`` where it is written ("" when not said); ``links`` further pages that the
    author names (permissions, another licence, references). ``uses`` has one entry for each topic, always all of
    them in one order: performing, commercial, violent, sexual, political or religious, hateful, redistribution,
    modification, credit.
    """

    title: str
    version: str
    authors: tuple[str, ...]
    copyright: str
    contact: str
    licence: str
    licence_url: str
    links: tuple[str, ...]
    uses: tuple[Use, ...]

    def lines(self) -> list[str]:
        """The whole as lines of text, for a terminal or a window."""
        heads = [
            ("Title", self.title + (f", version {self.version}" if self.version else "")),
            ("By", ", ".join(self.authors) or "not said"),
            ("Copyright", self.copyright),
            ("Contact", self.contact),
            ("Licence", " ".join(part for part in (self.licence or "not said", self.licence_url) if part)),
        ]
        lines = [f"{name + ':':<11}{text}" for name, text in heads if text]
        lines += [f"{'See:':<11}{link}" for link in self.links]
        return lines + [f"{_MARKS[use.verdict]} {use.topic}: {use.text}" for use in self.uses]


_MARKS: dict[Verdict, str] = {"allowed": "[yes]", "limited": "[if] ", "forbidden": "[no] ", "unknown": "[?]  "}


def describe_terms(meta: Meta) -> Terms:
    """One structure from the meta of either version; a file without VRM meta has every use unknown."""
    said = meta.permissions
    if meta.spec == "1.0":
        licence, url = _licence1(meta)
        uses = _uses1(meta)
    elif meta.spec == "0.x":
        licence, url = _licence0(meta)
        uses = _uses0(meta)
    else:
        licence, url = _line(meta.licence), ""
        uses = tuple(_unknown(topic) for topic in _TOPICS)
    named = [said.get("otherLicenseUrl", ""), said.get("otherPermissionUrl", ""), *meta.references]
    links = dict.fromkeys(_line(link) for link in named if _is_link(link) and _line(link) != url)
    return Terms(
        title=_line(meta.title),
        version=_line(meta.version),
        authors=tuple(name for name in map(_line, meta.authors) if name),
        copyright=_line(meta.copyright),
        contact=_line(meta.contact),
        licence=licence,
        licence_url=url,
        links=tuple(links),
        uses=uses,
    )


_TOPICS = (
    "Performing with it", "Commercial use", "Violent content", "Sexual content", "Political or religious use",
    "Antisocial or hateful use", "Redistribution", "Modification", "Credit",
)  # fmt: skip
_WHO, _COMMERCIAL, _VIOLENT, _SEXUAL, _POLITICAL, _HATE, _REDISTRIBUTION, _MODIFICATION, _CREDIT = _TOPICS


def _unknown(topic: str, value: str = "") -> Use:
    said = _line(value)
    text = f"the file says {said!r}, which VRM does not define. Ask the author." if said else "the file does not say."
    return Use(topic, "unknown", text)


def _chosen(topic: str, value: str, known: dict[str, tuple[Verdict, str]]) -> Use:
    """The entry of ``known`` for ``value``, compared without regard to case."""
    for name, (verdict, text) in known.items():
        if name.lower() == value.strip().lower():
            return Use(topic, verdict, text)
    return _unknown(topic, value)


_ONLY_AUTHOR: tuple[Verdict, str] = ("forbidden", "only its author may perform with this avatar.")
_ONLY_LICENSED: tuple[Verdict, str] = ("limited", "only people whom its author gave a licence may perform with it.")
_EVERYONE: tuple[Verdict, str] = ("allowed", "anyone may perform with this avatar.")


def _yes_no(topic: str, value: str) -> Use:
    return _chosen(
        topic, value,
        {
            "true": ("allowed", "allowed."), "false": ("forbidden", "forbidden."),
            "allow": ("allowed", "allowed."), "disallow": ("forbidden", "forbidden."),
        },
    )  # fmt: skip


# VRM 1.0


def _licence1(meta: Meta) -> tuple[str, str]:
    url = _line(meta.licence)
    if url.rstrip("/") == _VRM1_LICENCE.rstrip("/"):
        return "VRM Public License 1.0", url
    return ("own licence", url) if _is_link(url) else (url, "")


def _uses1(meta: Meta) -> tuple[Use, ...]:
    said = meta.permissions
    changed = "may be changed for one's own use, but the changed avatar may not be passed on."
    return (
        _chosen(
            _WHO, said.get("avatarPermission", "onlyAuthor"),
            {"onlyAuthor": _ONLY_AUTHOR, "onlySeparatelyLicensedPerson": _ONLY_LICENSED, "everyone": _EVERYONE},
        ),
        _chosen(
            _COMMERCIAL, said.get("commercialUsage", "personalNonProfit"),
            {
                "personalNonProfit": ("forbidden", "forbidden: only individuals, and without profit."),
                "personalProfit": ("limited", "individuals may earn money with it, companies may not use it."),
                "corporation": ("allowed", "allowed, to individuals and companies."),
            },
        ),
        _yes_no(_VIOLENT, said.get("allowExcessivelyViolentUsage", "False")),
        _yes_no(_SEXUAL, said.get("allowExcessivelySexualUsage", "False")),
        _yes_no(_POLITICAL, said.get("allowPoliticalOrReligiousUsage", "False")),
        _yes_no(_HATE, said.get("allowAntisocialOrHateUsage", "False")),
        _yes_no(_REDISTRIBUTION, str(bool(meta.allow_redistribution))),
        _chosen(
            _MODIFICATION, said.get("modification", "prohibited"),
            {
                "prohibited": ("forbidden", "forbidden."),
                "allowModification": ("limited", changed),
                "allowModificationRedistribution": ("allowed", "allowed, and the changed avatar may be passed on."),
            },
        ),
        _chosen(
            _CREDIT, said.get("creditNotation", "required"),
            {
                "required": ("limited", "its authors must be named where it is shown."),
                "unnecessary": ("allowed", "its authors need not be named."),
            },
        ),
    )  # fmt: skip


# VRM 0.x


def _licence0(meta: Meta) -> tuple[str, str]:
    name, other = _line(meta.licence), meta.permissions.get("otherLicenseUrl", "")
    if name == "CC0":
        return "CC0 1.0", "https://creativecommons.org/publicdomain/zero/1.0/"
    if name in _CREATIVE_COMMONS:
        parts = _CREATIVE_COMMONS[name]
        return f"CC {parts.upper()}", f"https://creativecommons.org/licenses/{parts}/4.0/"
    url = _line(other) if _is_link(other) else ""
    if name == "Redistribution_Prohibited":
        return "redistribution prohibited", url
    return ("own licence" if name == "Other" else name), url


def _uses0(meta: Meta) -> tuple[Use, ...]:
    said = meta.permissions
    return (
        _chosen(
            _WHO, said.get("allowedUserName", ""),
            {"OnlyAuthor": _ONLY_AUTHOR, "ExplicitlyLicensedPerson": _ONLY_LICENSED, "Everyone": _EVERYONE},
        ),
        _yes_no(_COMMERCIAL, said.get("commercialUssageName", "")),
        _yes_no(_VIOLENT, said.get("violentUssageName", "")),
        _yes_no(_SEXUAL, said.get("sexualUssageName", "")),
        # VRM 0.x has no field for these two.
        _unknown(_POLITICAL),
        _unknown(_HATE),
        *_by_licence0(_line(meta.licence)),
    )  # fmt: skip


def _by_licence0(name: str) -> tuple[Use, Use, Use]:
    """Redistribution, modification and credit, which VRM 0.x says by the name of a licence."""
    if name == "CC0":
        return (
            Use(_REDISTRIBUTION, "allowed", "allowed."),
            Use(_MODIFICATION, "allowed", "allowed, and the changed avatar may be passed on."),
            Use(_CREDIT, "allowed", "its author need not be named."),
        )
    if name in _CREATIVE_COMMONS:
        parts = _CREATIVE_COMMONS[name].split("-")
        conditions = ["naming its author"] + ["without profit"] * ("nc" in parts)
        given = " and ".join(conditions)
        changed = Use(_MODIFICATION, "limited", f"allowed; the changed avatar may be passed on, {given}.")
        if "sa" in parts:
            changed = Use(
                _MODIFICATION,
                "limited",
                f"allowed; the changed avatar may be passed on under the same licence, {given}.",
            )
        if "nd" in parts:
            changed = Use(_MODIFICATION, "limited", "for one's own use only: what was changed may not be passed on.")
        return (
            Use(_REDISTRIBUTION, "limited", f"allowed, {given}."),
            changed,
            Use(_CREDIT, "limited", "its author must be named where it is passed on."),
        )
    if name == "Redistribution_Prohibited":
        return Use(_REDISTRIBUTION, "forbidden", "forbidden."), _unknown(_MODIFICATION), _unknown(_CREDIT)
    if name == "Other":
        text = "the author's own licence says it."
        return (
            Use(_REDISTRIBUTION, "unknown", text),
            Use(_MODIFICATION, "unknown", text),
            Use(_CREDIT, "unknown", text),
        )
    return _unknown(_REDISTRIBUTION, name), _unknown(_MODIFICATION, name), _unknown(_CREDIT, name)


# Texts of a stranger's file


def _line(text: str) -> str:
    """On one line, without control and formatting characters (such as those that turn the reading direction)."""
    plain = "".join(c if unicodedata.category(c)[0] != "C" else " " for c in text[: 4 * _MAX_TEXT])
    plain = " ".join(plain.split())
    return plain if len(plain) <= _MAX_TEXT else plain[: _MAX_TEXT - 3] + "..."


def _is_link(text: str) -> bool:
    return text.strip().lower().startswith(("https://", "http://"))
