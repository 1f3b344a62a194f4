"""Stop strings are never shown, however the text is cut; half characters are never shown either."""

from __future__ import annotations

import functools
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from engines.models.gguf_file import GgufFile
from engines.models.tokenizer import Tokenizer, tokenizer_from_gguf
from idol.dialogue.stop_strings import Detokenizer, StopStrings

LLM = Path(__file__).parent.parent / "data/llm"


@functools.cache
def tiny_tokenizer() -> Tokenizer:
    """Byte-level with 512 tokens: most characters beyond ASCII are several."""
    with GgufFile(LLM / "tiny_llama_f16.gguf") as file:
        return tokenizer_from_gguf(file)


def stream(stops: list[str], pieces: list[str]) -> tuple[str, bool]:
    watcher = StopStrings(stops)
    text = "".join(watcher.feed(piece) for piece in pieces)
    return text + watcher.finish(), watcher.stopped


def reference(stops: list[str], text: str) -> tuple[str, bool]:
    """Character by character: the first stop that is complete ends the text where it began."""
    for end in range(1, len(text) + 1):
        starts = [end - len(stop) for stop in stops if stop and text[:end].endswith(stop)]
        if starts:
            return text[: min(starts)], True
    return text, False


def test_a_stop_split_over_pieces_is_not_shown() -> None:
    assert stream(["\nUser:"], ["Hello", " there", "\n", "Us", "er", ": more"]) == ("Hello there", True)


def test_what_only_looked_like_a_stop_is_shown() -> None:
    watcher = StopStrings(["\nUser:"])
    assert watcher.feed("Hi\nUs") == "Hi"
    assert watcher.feed("ually") == "\nUsually"
    assert stream(["\nUser:"], ["Hi\nUse"]) == ("Hi\nUse", False)


def test_nothing_comes_after_a_stop() -> None:
    watcher = StopStrings(["END"])
    assert watcher.feed("aENDb") == "a"
    assert watcher.stopped
    assert watcher.feed("more") == "" and watcher.finish() == ""


def test_no_stops_hold_nothing_back() -> None:
    watcher = StopStrings(["", ""])
    assert watcher.feed("abc") == "abc" and not watcher.stopped


@settings(derandomize=True, deadline=None)
@given(
    stops=st.lists(st.text("ab。\n", min_size=1, max_size=4), max_size=4),
    pieces=st.lists(st.text("ab。\n", max_size=5), max_size=12),
)
def test_pieces_do_not_matter(stops: list[str], pieces: list[str]) -> None:
    assert stream(stops, pieces) == reference(stops, "".join(pieces))


@settings(derandomize=True, deadline=None)
@given(st.text(max_size=60))
def test_bytes_of_any_text_come_out_whole(text: str) -> None:
    tokenizer = tiny_tokenizer()
    ids = tokenizer.encode(text)
    detokenizer = Detokenizer(tokenizer.decode)
    pieces = [detokenizer.feed(token) for token in ids]
    assert not any("\ufffd" in piece for piece in pieces)
    assert "".join(pieces) + detokenizer.finish() == text.replace("\ufffd", "")


def test_half_a_character_at_the_end_is_dropped() -> None:
    tokenizer = tiny_tokenizer()
    detokenizer = Detokenizer(tokenizer.decode)
    ids = tokenizer.encode("ok🎤")
    assert "".join(detokenizer.feed(token) for token in ids[:-1]) == "ok"
    assert detokenizer.finish() == ""
    stray = [detokenizer.feed(token) for token in (ids[-1], *tokenizer.encode("fine"))]
    assert "".join(stray) + detokenizer.finish() == "fine"
