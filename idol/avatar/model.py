"""What an avatar file holds, as plain data: nodes, primitives, materials, expressions, springs. No behaviour, no GL.

Everything is in glTF's space after loading: metres, +Y up, the model faces +Z. VRM 0.x is brought to VRM 1.0's terms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
I32 = NDArray[np.int32]
AlphaMode = Literal["OPAQUE", "MASK", "BLEND"]
Shading = Literal["unlit", "lit", "mtoon"]


@dataclass(slots=True)
class Texture:
    """An image with its sampler. ``pixels`` RGBA uint8 (height, width, 4), sRGB or linear by its use."""

    pixels: NDArray[np.uint8]
    wrap_s: int = 10497
    wrap_t: int = 10497
    mag_filter: int = 9729
    min_filter: int = 9987


@dataclass(frozen=True, slots=True)
class TextureUse:
    """Which texture a material samples, from which UV set, moved by KHR_texture_transform."""

    texture: int
    uv_set: int = 0
    offset: tuple[float, float] = (0.0, 0.0)
    scale: tuple[float, float] = (1.0, 1.0)
    rotation: float = 0.0


@dataclass(slots=True)
class Material:
    """One material in MToon 1.0's terms; colours linear. ``shading`` says which of the fields count."""

    name: str = ""
    shading: Shading = "lit"
    alpha_mode: AlphaMode = "OPAQUE"
    alpha_cutoff: float = 0.5
    double_sided: bool = False
    base_color: tuple[float, ...] = (1.0, 1.0, 1.0, 1.0)
    base_texture: TextureUse | None = None
    normal_texture: TextureUse | None = None
    normal_scale: float = 1.0
    emissive: tuple[float, ...] = (0.0, 0.0, 0.0)
    """``emissive_strength`` is in it already; an expression's target is without."""
    emissive_strength: float = 1.0
    emissive_texture: TextureUse | None = None
    metallic: float = 0.0
    roughness: float = 1.0
    # MToon
    transparent_with_z_write: bool = False
    render_queue_offset: int = 0
    shade_color: tuple[float, ...] = (0.0, 0.0, 0.0)
    shade_texture: TextureUse | None = None
    shading_shift: float = 0.0
    shading_shift_texture: TextureUse | None = None
    shading_shift_texture_scale: float = 1.0
    shading_toony: float = 0.9
    gi_equalization: float = 0.9
    matcap_factor: tuple[float, ...] = (1.0, 1.0, 1.0)
    matcap_texture: TextureUse | None = None
    rim_color: tuple[float, ...] = (0.0, 0.0, 0.0)
    rim_texture: TextureUse | None = None
    rim_lighting_mix: float = 1.0
    rim_fresnel_power: float = 5.0
    rim_lift: float = 0.0
    outline_mode: Literal["none", "worldCoordinates", "screenCoordinates"] = "none"
    outline_width: float = 0.0
    outline_texture: TextureUse | None = None
    outline_color: tuple[float, ...] = (0.0, 0.0, 0.0)
    outline_lighting_mix: float = 1.0
    uv_mask_texture: TextureUse | None = None
    uv_scroll: tuple[float, float] = (0.0, 0.0)
    uv_rotation: float = 0.0


@dataclass(slots=True)
class Primitive:
    """Triangles of one material. Only the vertices its triangles use are kept.

    ``positions``, ``normals`` (V, 3); ``uv`` (V, 2); ``colors`` (V, 4) or None; ``joints`` (V, 4) index the avatar's
    palette; ``weights`` (V, 4) sum to 1; ``indices`` (T * 3); ``targets`` are the morphs, in the mesh's order.
    """

    mesh: int
    node: int
    material: int
    positions: F32
    normals: F32
    uv: F32
    uv1: F32 | None
    colors: F32 | None
    joints: I32
    weights: F32
    indices: NDArray[np.uint32]
    targets: tuple[MorphTarget, ...] = ()
    drawn_third_person: bool = True
    """False for meshes that only the one inside the avatar would see; a camera outside does not draw them."""


@dataclass(slots=True)
class MorphTarget:
    """Offsets of the vertices that a morph moves: ``vertices`` (K,), ``positions`` and ``normals`` (K, 3)."""

    vertices: I32
    positions: F32
    normals: F32


@dataclass(frozen=True, slots=True)
class MorphBind:
    """An expression moves morph ``index`` of the mesh at ``node`` by ``weight``."""

    node: int
    index: int
    weight: float


ColorField = Literal["color", "emissionColor", "shadeColor", "matcapColor", "rimColor", "outlineColor"]


@dataclass(frozen=True, slots=True)
class ColorBind:
    """An expression moves a colour of ``material`` to ``target`` (linear; alpha only for ``color``)."""

    material: int
    field: ColorField
    target: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class UvBind:
    """An expression moves the texture transform of ``material`` to ``offset`` and ``scale``."""

    material: int
    offset: tuple[float, float]
    scale: tuple[float, float]


Override = Literal["none", "block", "blend"]


@dataclass(frozen=True, slots=True)
class Expression:
    """One VRM expression. ``custom`` is False for presets."""

    name: str
    custom: bool = False
    is_binary: bool = False
    override_blink: Override = "none"
    override_look_at: Override = "none"
    override_mouth: Override = "none"
    morphs: tuple[MorphBind, ...] = ()
    colors: tuple[ColorBind, ...] = ()
    uvs: tuple[UvBind, ...] = ()

    @property
    def bind_count(self) -> int:
        return len(self.morphs) + len(self.colors) + len(self.uvs)


@dataclass(frozen=True, slots=True)
class RangeMap:
    """Degrees of gaze in, degrees of eye (or expression weight) out: ``min(x, input_max) / input_max * output``."""

    input_max: float = 90.0
    output: float = 10.0

    def __call__(self, degrees: float) -> float:
        # An input_max of 0 means: all of it as soon as she looks aside at all.
        share = min(max(degrees, 0.0) / max(self.input_max, 1e-3), 1.0)
        return share * self.output


@dataclass(frozen=True, slots=True)
class LookAt:
    """How gaze moves the eyes (VRMC_vrm lookAt)."""

    kind: Literal["bone", "expression"] = "bone"
    horizontal_inner: RangeMap = RangeMap()
    horizontal_outer: RangeMap = RangeMap()
    vertical_down: RangeMap = RangeMap()
    vertical_up: RangeMap = RangeMap()
    offset_from_head: tuple[float, ...] = (0.0, 0.06, 0.0)


@dataclass(frozen=True, slots=True)
class Collider:
    """A sphere (``tail`` None), a capsule or a plane fixed to ``node``; offsets in the node's space."""

    node: int
    offset: tuple[float, ...]
    radius: float
    tail: tuple[float, ...] | None = None
    normal: tuple[float, ...] | None = None
    inside: bool = False


@dataclass(frozen=True, slots=True)
class SpringJoint:
    """A bone that swings. ``gravity`` is direction times power, ``radius`` in metres."""

    node: int
    radius: float
    stiffness: float
    drag: float
    gravity: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Spring:
    """A chain of joints from root to tip; the last joint only marks the end."""

    name: str
    joints: tuple[SpringJoint, ...]
    colliders: tuple[int, ...] = ()
    center: int | None = None


@dataclass(frozen=True, slots=True)
class Constraint:
    """VRMC_node_constraint: ``node`` follows ``source``; ``axis`` is 0, 1, 2 and ``sign`` the aim's direction."""

    kind: Literal["roll", "aim", "rotation"]
    node: int
    source: int
    axis: int = 0
    sign: float = 1.0
    weight: float = 1.0


FirstPerson = Literal["auto", "both", "thirdPersonOnly", "firstPersonOnly"]
"""Who sees the mesh of a node (VRMC_vrm firstPerson): the one inside the avatar, those outside, or both."""


@dataclass(slots=True)
class Meta:
    """Who made the avatar and what may be done with it, in the file's own words (``licence.describe_terms`` has plain
    ones). ``spec`` says whose words: no VRM's, 0.x's or 1.0's."""

    spec: Literal["", "0.x", "1.0"] = ""
    title: str = ""
    authors: tuple[str, ...] = ()
    version: str = ""
    licence: str = ""
    copyright: str = ""
    contact: str = ""
    references: tuple[str, ...] = ()
    allow_redistribution: bool | None = None
    permissions: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class FileStats:
    """What the file held, before unused vertices were dropped; for reports and tests.

    ``image_types`` as the file declares them; ``morph_names_from`` is "mesh.extras.targetNames", the same of a
    primitive, or "" where morphs have no names; ``shaders`` are those of VRM 0.x; ``springs`` its groups of bones."""

    generator: str = ""
    extensions_used: tuple[str, ...] = ()
    nodes: int = 0
    meshes: int = 0
    primitives: int = 0
    vertices: int = 0
    triangles: int = 0
    materials: int = 0
    textures: int = 0
    image_types: tuple[str, ...] = ()
    morph_targets_per_mesh: tuple[int, ...] = ()
    morph_names_from: str = ""
    skin_joints: tuple[int, ...] = ()
    shaders: tuple[str, ...] = ()
    springs: int = 0
    collider_groups: int = 0


@dataclass(slots=True)
class AvatarData:
    """A whole avatar at rest. Node arrays are indexed by the file's node numbers.

    ``parents`` (N,) with -1 for roots; ``translations`` (N, 3); ``rotations`` (N, 4) as x y z w; ``scales`` (N, 3).
    ``first_person`` holds annotated nodes only, the others are ``auto`` by the specification; the meshes of
    ``hidden_nodes`` are not drawn for a camera outside the avatar.
    ``palette_nodes`` (P,) and ``palette_inverse`` (P, 4, 4): the skinning matrices are world[node] @ inverse.
    """

    name: str
    vrm_version: Literal["", "0.x", "1.0"]
    node_names: tuple[str, ...]
    parents: I32
    translations: F32
    rotations: F32
    scales: F32
    primitives: list[Primitive]
    morph_names: dict[int, tuple[str, ...]]
    mesh_of_node: dict[int, int]
    palette_nodes: I32
    palette_inverse: F32
    materials: list[Material]
    textures: list[Texture]
    default_weights: dict[int, tuple[float, ...]] = field(default_factory=dict)
    human_bones: dict[str, int] = field(default_factory=dict)
    expressions: dict[str, Expression] = field(default_factory=dict)
    look_at: LookAt | None = None
    springs: list[Spring] = field(default_factory=list)
    colliders: list[Collider] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    first_person: dict[int, FirstPerson] = field(default_factory=dict)
    hidden_nodes: frozenset[int] = frozenset()
    meta: Meta = field(default_factory=Meta)
    stats: FileStats = field(default_factory=FileStats)
    warnings: list[str] = field(default_factory=list)
