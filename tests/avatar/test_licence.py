"""Both versions' meta in plain words; what a file does not say is never said to be allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from idol.avatar import load_avatar
from idol.avatar.licence import Terms, describe_terms
from idol.avatar.model import Meta
from tests.avatar.conftest import DATA

TOPICS = [
    "Performing with it", "Commercial use", "Violent content", "Sexual content", "Political or religious use",
    "Antisocial or hateful use", "Redistribution", "Modification", "Credit",
]  # fmt: skip


def terms_of(name: str) -> Terms:
    return describe_terms(load_avatar(DATA / "models" / name).data.meta)


def verdicts(terms: Terms) -> list[str]:
    assert [use.topic for use in terms.uses] == TOPICS
    return [use.verdict for use in terms.uses]


def test_a_creative_commons_file_of_vrm_0() -> None:
    terms = terms_of("godette_vrm0.vrm")
    assert (terms.title, terms.licence) == ("Low-Poly Godette", "CC BY")
    assert terms.licence_url == "https://creativecommons.org/licenses/by/4.0/"
    assert terms.authors and "SirRichard94" in terms.authors[0]
    said = verdicts(terms)
    assert said[4:6] == ["unknown", "unknown"], "VRM 0.x has no word about politics or hate"
    assert said[6:] == ["limited", "limited", "limited"]


def test_an_empty_meta_of_vrm_1_means_the_strictest_defaults_of_the_specification() -> None:
    said = verdicts(describe_terms(Meta(spec="1.0", licence="https://vrm.dev/licenses/1.0/")))
    assert said == ["forbidden"] * 8 + ["limited"]


def test_vrm_1_that_allows_everything() -> None:
    meta = Meta(
        spec="1.0", licence="https://vrm.dev/licenses/1.0/", allow_redistribution=True,
        permissions={
            "avatarPermission": "everyone", "commercialUsage": "corporation", "creditNotation": "unnecessary",
            "modification": "allowModificationRedistribution", "allowExcessivelyViolentUsage": "True",
            "allowExcessivelySexualUsage": "True", "allowPoliticalOrReligiousUsage": "True",
            "allowAntisocialOrHateUsage": "True",
        },
    )  # fmt: skip
    terms = describe_terms(meta)
    assert terms.licence == "VRM Public License 1.0"
    assert verdicts(terms) == ["allowed"] * 9
    meta.permissions["commercialUsage"] = "personalProfit"
    meta.permissions["avatarPermission"] = "onlySeparatelyLicensedPerson"
    assert verdicts(describe_terms(meta))[:2] == ["limited", "limited"]


def test_the_robot_says_what_its_file_says() -> None:
    terms = terms_of("debug_robot_vrm1.vrm")
    assert terms.title == "VRM Animation Debug Robot"
    redistribution = next(use for use in terms.uses if use.topic == "Redistribution")
    assert redistribution.verdict == "allowed"


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("CC0", ["allowed", "allowed", "allowed"]),
        ("CC_BY_NC_ND", ["limited", "limited", "limited"]),
        ("Redistribution_Prohibited", ["forbidden", "unknown", "unknown"]),
        ("Other", ["unknown", "unknown", "unknown"]),
        ("", ["unknown", "unknown", "unknown"]),
        ("WTFPL", ["unknown", "unknown", "unknown"]),
    ],
)
def test_licence_names_of_vrm_0(licence: str, expected: list[str]) -> None:
    terms = describe_terms(Meta(spec="0.x", licence=licence))
    assert verdicts(terms) == ["unknown"] * 6 + expected
    if licence == "CC_BY_NC_ND":
        assert "without profit" in terms.uses[6].text and "may not be passed on" in terms.uses[7].text
    if licence == "WTFPL":
        assert "WTFPL" in terms.uses[6].text


def test_values_of_vrm_0_are_read_in_any_case() -> None:
    meta = Meta(
        spec="0.x",
        permissions={
            "allowedUserName": "everyone", "commercialUssageName": "ALLOW", "violentUssageName": "Disallow",
            "sexualUssageName": "maybe",
        },
    )  # fmt: skip
    terms = describe_terms(meta)
    assert verdicts(terms)[:4] == ["allowed", "allowed", "forbidden", "unknown"]
    assert "'maybe'" in terms.uses[3].text


def test_a_file_without_vrm_says_nothing() -> None:
    terms = terms_of("arkit52_head.glb")
    assert set(verdicts(terms)) == {"unknown"}
    assert terms.copyright and terms.licence == ""


def test_texts_of_strangers_are_made_harmless() -> None:
    meta = Meta(
        spec="1.0", title="Ha\x1b[31mna\n\u202eevil", authors=("x" * 5000, "\x00"), contact="\t\t",
        references=("javascript:alert(1)", "https://example.org/\u202ea"),
    )  # fmt: skip
    terms = describe_terms(meta)
    assert terms.title == "Ha [31mna evil"
    assert [len(name) for name in terms.authors] == [300]
    assert terms.contact == "" and terms.links == ("https://example.org/ a",)
    assert all("\n" not in line and line.isprintable() for line in terms.lines())


def test_lines_hold_every_topic_and_mark() -> None:
    terms = terms_of("godette_vrm0.vrm")
    lines = terms.lines()
    for use in terms.uses:
        assert any(use.topic in line and use.text in line for line in lines)
    assert any(line.startswith("[?]") for line in lines) and any(line.startswith("[if]") for line in lines)
    assert "not said" in " ".join(replace(terms, authors=()).lines())
