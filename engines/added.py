"""Models the user added: names and paths in ``added.toml`` beside the fetched files."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

from engines.errors import EngineError, ModelFileError
from engines.models.families import ModelSummary, inspect_model
from engines.store import files_dir, models_dir


def added_models() -> dict[str, Path]:
    """Name → GGUF file or safetensors folder. A damaged list counts as empty."""
    try:
        document = tomllib.loads((models_dir() / "added.toml").read_text(encoding="utf-8"))
        return {str(name): Path(str(path)) for name, path in document.get("models", {}).items()}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError):
        return {}


def add_model(path: Path, *, name: str = "", copy: bool = False) -> tuple[str, ModelSummary]:
    """Register ``path`` after looking inside. Raises the engine errors, each saying why it is refused."""
    path = path.expanduser().resolve()
    summary = inspect_model(path)
    name = _slug(name or path.stem)
    if copy:
        target = files_dir() / "added" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if path.is_dir():
                shutil.copytree(path, target, dirs_exist_ok=True)
                path = target
            else:
                target.mkdir(exist_ok=True)
                path = Path(shutil.copy2(path, target / path.name))
        except OSError as error:
            shutil.rmtree(target, ignore_errors=True)
            raise ModelFileError(
                f"{path.name} could not be copied to {target}: {error}.", "Free disk space, or add it without --copy."
            ) from error
    models = added_models()
    models[name] = path
    _write(models)
    return name, summary


def remove_model(name: str) -> Path:
    """Forget an added model; a copy that was made is deleted, the user's own file never."""
    models = added_models()
    if name not in models:
        raise EngineError(f"There is no added model {name!r}.", f"Added: {', '.join(models) or 'none'}.")
    path = models.pop(name)
    _write(models)
    shutil.rmtree(files_dir() / "added" / name, ignore_errors=True)
    return path


def _slug(name: str) -> str:
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")
    if not slug:
        raise EngineError(f"{name!r} cannot be made a model's name.", "Give one with --name.")
    return slug


def _write(models: dict[str, Path]) -> None:
    import json

    rows = "".join(f"{json.dumps(name)} = {json.dumps(str(path))}\n" for name, path in sorted(models.items()))
    target = models_dir() / "added.toml"
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name("added.toml.new")
    temporary.write_text(f"[models]\n{rows}", encoding="utf-8")
    temporary.replace(target)
