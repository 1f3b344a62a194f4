"""Every word of the window is there in all three languages."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QTranslator
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from idol.avatar.licence import describe_terms
from idol.avatar.model import Meta
from idol.render.lighting import LIGHTINGS
from idol.settings import Settings
from idol.ui import strings
from idol.ui.actions import with_key
from idol.ui.compositor import NO_ALPHA, NO_COMPOSITOR
from idol.ui.main_window import MainWindow
from tests.ui.fakes import FakeShow

UI = Path(strings.__file__).parent
_CALLS = {"tr": 0, "with_key": 0, "add_action": 2, "add_choice": 3}
"""Functions that translate, and which of their arguments."""


def literals(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
            place = _CALLS[node.func.id]
            argument = node.args[place] if len(node.args) > place else None
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield argument.value


def test_nothing_is_left_in_english() -> None:
    texts = {text for path in UI.glob("*.py") for text in literals(ast.parse(path.read_text(encoding="utf-8")))}
    texts |= {name.capitalize() for name in LIGHTINGS} | {NO_ALPHA, NO_COMPOSITOR}
    assert len(texts) > 50
    assert not sorted(texts - strings._TABLE.keys())


def test_the_terms_of_avatars_are_translated() -> None:
    said = set()
    for licence, user in product(
        ("CC0", "CC_BY", "CC_BY_NC", "CC_BY_SA", "CC_BY_NC_SA", "CC_BY_ND", "CC_BY_NC_ND", "Redistribution_Prohibited",
         "Other", ""),
        ("OnlyAuthor", "ExplicitlyLicensedPerson", "Everyone"),
    ):  # fmt: skip
        allowed = {"allowedUserName": user, "commercialUssageName": "Allow"}
        said |= {*describe_terms(Meta(spec="0.x", licence=licence, permissions=allowed)).uses}
    for who, money, change, credit in product(
        ("onlyAuthor", "onlySeparatelyLicensedPerson", "everyone"),
        ("personalNonProfit", "personalProfit", "corporation"),
        ("prohibited", "allowModification", "allowModificationRedistribution"),
        ("required", "unnecessary"),
    ):
        named = {"avatarPermission": who, "commercialUsage": money, "modification": change, "creditNotation": credit}
        said |= {*describe_terms(Meta(spec="1.0", permissions=named)).uses}
    bare = {"allowed.", "forbidden.", "the file does not say."}  # the mark before them says it
    texts = {use.topic for use in said} | {use.text for use in said} - bare
    assert not sorted(texts - strings._TABLE.keys())


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_every_entry_of_the_menus_is_translated(qtbot: QtBot, language: str) -> None:
    try:
        strings.choose_language(language)
        window = MainWindow(FakeShow(), Settings(), Path("avatars/default.vrm").resolve())
        qtbot.addWidget(window)
        entries = [action.text() for action in window.actions()]
        window.close()
    finally:
        strings.choose_language("en")
    assert len(entries) > 30
    assert not [text for text in entries if text.isascii()]


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_titles_have_a_key_in_every_language(language: str) -> None:
    try:
        strings.choose_language(language)
        assert with_key("File", "F").endswith("(&F)") and with_key("File", "F")[0] not in "Ff&"
    finally:
        strings.choose_language("en")
    assert with_key("Voice", "O") == "V&oice"


def test_qts_own_dialogues_are_translated(qapp: QApplication) -> None:
    try:
        strings.choose_language("ja")
        strings.translate_dialogs(qapp)
        assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "キャンセル"
    finally:
        strings.choose_language("en")
        for made in qapp.findChildren(QTranslator):
            qapp.removeTranslator(made)
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Cancel"
