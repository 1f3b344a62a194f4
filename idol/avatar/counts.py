"""What a file holds in numbers and names, whether drawn or not."""

from __future__ import annotations

from idol.avatar.accessors import Accessors
from idol.avatar.cursor import Cursor
from idol.avatar.model import FileStats


def count_meshes(
    meshes: list[Cursor], accessors: Accessors, stats: FileStats
) -> tuple[dict[int, tuple[str, ...]], tuple[int, ...]]:
    """The morph names of each mesh, and how many morphs each has; ``stats`` gets the counts of all primitives."""
    names: dict[int, tuple[str, ...]] = {}
    per_mesh = []
    for i, mesh in enumerate(meshes):
        primitives = mesh.items("primitives")
        count = max((len(item.items("targets")) for item in primitives), default=0)
        given: list[str] = []
        # UniVRM writes the names beside the primitive, newer exporters beside the mesh.
        for holder in (mesh, *primitives):
            extras = holder.raw("extras")
            if isinstance(extras, dict) and not given:
                given = Cursor(extras, f"{holder.path}.extras").texts("targetNames")
                if given and not stats.morph_names_from:
                    kind = "mesh" if holder is mesh else "primitive"
                    stats.morph_names_from = f"{kind}.extras.targetNames"
        names[i] = tuple(given[:count]) + tuple(f"morph_{k}" for k in range(len(given), count))
        per_mesh.append(count)
        for item in primitives:
            _count_primitive(item, accessors, stats)
    return names, tuple(per_mesh)


def _count_primitive(item: Cursor, accessors: Accessors, stats: FileStats) -> None:
    stats.primitives += 1
    position = item.need("attributes").index("POSITION", len(accessors), "accessor")
    vertices = 0 if position is None else accessors.count(position)
    index = item.index("indices", len(accessors), "accessor")
    corners = vertices if index is None else accessors.count(index)
    stats.vertices += vertices
    mode = item.whole("mode", 4)
    if mode >= 4:  # below are points and lines; above, strips and fans
        stats.triangles += corners // 3 if mode == 4 else max(0, corners - 2)


def image_type(image: Cursor) -> str:
    """The media type that the file declares."""
    uri = image.raw("uri")
    declared = uri[5:].split(";")[0] if isinstance(uri, str) and uri.startswith("data:") else ""
    return image.text("mimeType", declared[:40])
