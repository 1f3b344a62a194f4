"""The catalogue's schema, and that the one that ships is sound."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engines.catalogue import catalogue_title, load_catalogue, model_path, parse_catalogue
from engines.errors import EngineError
from tests.engines.fetch_world import HUB, entry, members

GOOD = entry("m", "a/b.bin", b"data", HUB, members("pypi", "demo==1.0:demo/a.bin"), 'kind = "local"\npath = "/x"')


def test_a_good_catalogue_is_read() -> None:
    catalogue = parse_catalogue('[sets]\nall = ["m"]\n' + GOOD)
    (model,) = catalogue.select(["all", "m"])
    assert model.bytes == 4
    (file,) = model.files
    assert [source.kind for source in file.sources] == ["hub", "pypi", "local"]
    assert file.sources[0].revision == "main"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("licence", "license"), "unknown keys: license"),
        (("bytes = 4", 'bytes = "4"'), "has the size '4'"),
        (("bytes = 4", "bytes = 0"), "has the size 0"),
        (('sha256 = "', 'sha256 = "A'), "malformed SHA-256"),
        (("a/b.bin", "../b.bin"), "leads elsewhere"),
        (("a/b.bin", "/etc/b.bin"), "leads elsewhere"),
        (("a/b.bin", "C:b.bin"), "leads elsewhere"),
        (('id = "m"', 'id = "../m"'), "an id has small letters"),
        (('kind = "hub"', 'kind = "ftp"'), "unknown source kind 'ftp'"),
        (('repository = "someone/model"', 'members = ["x"]'), "unknown keys: members"),
        (("demo==1.0:", "demo>=1.0:"), "a fixed version is needed"),
        (('path = "/x"', "path = 5"), "'path' is 5"),
        (("[[model.file.source]]", "[[model.file.sauce]]"), "unknown keys: sauce"),
        (('what = "a test"', ""), "'what' is None"),
        (('languages = ["en"]', 'languages = "en"'), "no list of texts"),
        (("[[model]]", '[sets]\nall = ["other"]\n[[model]]'), "names 'other', which has no entry"),
        (("[[model]]", "[extra]\n[[model]]"), "unknown keys: extra"),
        (("[[model]]", "[[model"), "no TOML"),
    ],
)
def test_what_is_wrong_is_named(change: tuple[str, str], complaint: str) -> None:
    assert change[0] in GOOD
    with pytest.raises(EngineError, match=re.escape(complaint)):
        parse_catalogue(GOOD.replace(*change))


def test_two_entries_of_one_name_are_refused() -> None:
    with pytest.raises(EngineError, match="two entries 'm'"):
        parse_catalogue(GOOD + GOOD)


def test_the_shipped_catalogue_has_its_sets_and_two_ways_to_the_large_files() -> None:
    catalogue = load_catalogue()
    assert set(catalogue.sets) == {"default", "small", "test"}
    assert len([file for file in catalogue.models["kokoro"].files if file.name.startswith("voices/")]) == 54
    for model in catalogue.select(("default",)):
        for file in model.files:
            if model.family == "qwen2" or file.name.startswith("voices/"):
                assert file.sources[0].kind == "hub"
                assert len(file.sources) >= 2
    assert all(model.licence in ("Apache-2.0", "MIT") for model in catalogue.models.values())


def test_an_unknown_name_lists_what_is_known() -> None:
    with pytest.raises(EngineError, match=r"no model or set 'gpt'.*smollm2-135m.*Sets: default, small, test"):
        load_catalogue().select(["gpt"])


def test_a_model_of_one_file_is_that_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IDOL_MODELS", str(tmp_path))
    assert model_path("smollm2-135m") == tmp_path / "files/smollm2-135m/SmolLM2-135M-Instruct.Q4_1.gguf"
    assert model_path("kokoro") == tmp_path / "files/kokoro"
    (tmp_path / "added.toml").write_text('[models]\nmine = "/somewhere/mine.gguf"\n')
    assert model_path("mine") == Path("/somewhere/mine.gguf")
    with pytest.raises(EngineError):
        model_path("nobody")


def test_files_of_the_catalogue_go_by_its_titles(tmp_path: Path) -> None:
    models = load_catalogue().models
    assert models["qwen2.5-coder-0.5b"].title == "Qwen2.5-Coder-0.5B-Instruct"
    assert models["smollm2-135m"].title == "SmolLM2-135M-Instruct" and models["kokoro"].title == "Kokoro-82M v1.0"
    assert all(4 < len(model.title) < 32 for model in models.values())
    mind = models["smollm2-135m"]
    assert catalogue_title(mind.folder / mind.files[0].name) == mind.title
    assert catalogue_title(tmp_path / mind.files[0].name) == "" == catalogue_title(mind.folder / "mine.gguf")
