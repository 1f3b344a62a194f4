"""Where the language models lie on this machine, and which are larger than which."""

from __future__ import annotations

from pathlib import Path

from engines.catalogue import load_catalogue
from engines.models.decoder_config import KNOWN_ARCHITECTURES
from engines.store import files_dir

LARGE, MEDIUM, SMALL = "qwen2.5-coder-1.5b", "qwen2.5-coder-0.5b", "smollm2-135m"


def model_file(name: str) -> Path | None:
    """Where the language model ``name`` lies: a catalogue id, an added model's name or a path; None when nowhere."""
    from engines.added import added_models

    direct = Path(name).expanduser()
    if direct.suffix == ".gguf" or direct.is_absolute():
        return direct if direct.exists() else None
    added = added_models().get(name)
    if added is not None:
        return added if added.exists() else None
    folder = files_dir() / name
    if not folder.is_dir():
        return None
    return next(iter(sorted(folder.glob("*.gguf"))), None)


def is_mind(name: str) -> bool:
    """Whether ``name`` is a language model of the catalogue."""
    model = load_catalogue().models.get(name)
    return model is not None and model.family in KNOWN_ARCHITECTURES


def not_here(name: str) -> str:
    """That ``name`` is not on this machine, and what to do."""
    return f"The language model {name!r} is not on this machine. {fetch_remedy(name)}"


def fetch_remedy(name: str) -> str:
    """What to do when the language model ``name`` is not on this machine; offers what is here or can be fetched."""
    from engines.added import added_models

    if is_mind(name):
        return f"Fetch it: main.py models fetch {name}."
    known = [*filter(is_mind, load_catalogue().models)]
    added = added_models()
    gone = f"Put {added[name]} back, or forget it: main.py models remove {name}. " if name in added else ""
    here = [other for other in (*known, *added) if other != name and model_file(other) is not None]
    absent = [other for other in known if other not in here]
    ways = [f"choose one that is here ({', '.join(here)})"] if here else []
    ways += [f"fetch one: main.py models fetch NAME ({', '.join(absent)})"] if absent else []
    ways.append("name a .gguf file")
    ways[0] = ways[0][0].upper() + ways[0][1:]
    return f"{gone}{', or '.join(ways)}."


def smaller_models(path: Path) -> list[tuple[str, Path]]:
    """The default models here that are smaller than the file or folder ``path``, the largest first: names and files."""
    size = _size(path)
    found = ((name, model_file(name)) for name in (LARGE, MEDIUM, SMALL))
    return [(name, other) for name, other in found if other is not None and other != path and _size(other) < size]


def _size(path: Path) -> int:
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.glob("*")))
