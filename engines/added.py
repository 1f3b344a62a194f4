"""Models the user added: names and paths in ``added.toml`` beside the fetched files."""

from __future__ import annotations

import json
import logging
import re
import shutil
import tomllib
from pathlib import Path

from engines.catalogue import load_catalogue
from engines.errors import EngineError, ModelFileError
from engines.models.families import ModelSummary, inspect_model
from engines.store import files_dir, models_dir

log = logging.getLogger(__name__)


def added_models() -> dict[str, Path]:
    """Name → GGUF file or safetensors folder. A damaged list counts as empty; it is kept aside when one is added."""
    try:
        document = tomllib.loads(_list_path().read_text(encoding="utf-8"))
        return {str(name): Path(str(path)) for name, path in document.get("models", {}).items()}
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError) as error:
        log.warning("%s cannot be read: %s", _list_path(), error)
        return {}


def add_model(path: Path, *, name: str = "", copy: bool = False) -> tuple[str, ModelSummary]:
    """Register ``path`` after looking inside. Raises the engine errors, each saying why it is refused."""
    path = path.expanduser().resolve()
    summary = inspect_model(path)
    name = _slug(name or (path.name if path.is_dir() else path.stem))
    models = added_models()
    if name in load_catalogue().models or name in load_catalogue().sets:
        raise EngineError(f"The catalogue has {name!r} already.", "Give another name with --name.")
    if name in models and models[name] != path and models[name].exists():
        raise EngineError(
            f"{name!r} is added already: {models[name]}.", f"Give another name, or first: main.py models remove {name}"
        )
    if copy and not path.is_relative_to(_copies()):
        path = _copy(path, _copies() / name)
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
    if path.is_relative_to(_copies() / name):
        shutil.rmtree(_copies() / name, ignore_errors=True)
    return path


def _copy(path: Path, target: Path) -> Path:
    """Copy into ``target``, which appears whole or not at all."""
    growing = target.with_name(target.name + ".copying")
    try:
        shutil.rmtree(growing, ignore_errors=True)
        if path.is_dir():
            shutil.copytree(path, growing)
        else:
            growing.mkdir(parents=True)
            shutil.copy2(path, growing / path.name)
        shutil.rmtree(target, ignore_errors=True)
        growing.replace(target)
    except OSError as error:
        shutil.rmtree(growing, ignore_errors=True)
        raise ModelFileError(
            f"{path.name} could not be copied to {target}: {error}.", "Free disk space, or add it without --copy."
        ) from error
    return target if path.is_dir() else target / path.name


def _copies() -> Path:
    return files_dir().resolve() / "added"


def _list_path() -> Path:
    return models_dir() / "added.toml"


def _slug(name: str) -> str:
    slug = re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.")
    if not slug:
        raise EngineError(f"{name!r} cannot be made a model's name.", "Give one with --name.")
    return slug


def _write(models: dict[str, Path]) -> None:
    rows = "".join(
        f"{json.dumps(name)} = {json.dumps(str(path), ensure_ascii=False)}\n" for name, path in sorted(models.items())
    )
    try:
        _replace_list(_list_path(), f"[models]\n{rows}")
    except OSError as error:
        raise ModelFileError(
            f"The list of added models {_list_path()} cannot be written: {error.strerror}.",
            "Free disk space, or name another place with the environment variable IDOL_MODELS.",
        ) from error


def _replace_list(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        tomllib.loads(target.read_text(encoding="utf-8"))
    except FileNotFoundError:
        pass
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        target.replace(target.with_name("added.toml.broken"))
    temporary = target.with_name("added.toml.new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(target)
