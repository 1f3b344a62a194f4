"""Shader programs from ``shaders/``: compiled and linked at load, their samplers and blocks bound once."""

from __future__ import annotations

from pathlib import Path

from idol.render.blocks import TEXTURES
from idol.render.gl import GL, RenderError

SHADER_FOLDER = Path(__file__).resolve().parents[2] / "shaders"
PALETTE_UNIT, MORPH_UNIT = len(TEXTURES), len(TEXTURES) + 1
FRAME_BINDING, MATERIAL_BINDING = 0, 1


def shader_source(name: str) -> str:
    path = SHADER_FOLDER / name
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise RenderError(f"The shader {path} is missing ({error}). Install the program again.") from error


def _compile(kind: int, name: str, head: str) -> int:
    shader = int(GL.glCreateShader(kind))
    GL.glShaderSource(shader, head + shader_source("common.glsl") + shader_source(name))
    GL.glCompileShader(shader)
    if not GL.glGetShaderiv(shader, GL.GL_COMPILE_STATUS):
        log = GL.glGetShaderInfoLog(shader)
        GL.glDeleteShader(shader)
        text = log.decode(errors="replace") if isinstance(log, bytes) else str(log)
        raise RenderError(f"The graphics driver refuses shaders/{name}: {text[:800]} Update the graphics driver.")
    return shader


def build_program(defines: tuple[str, ...] = ()) -> int:
    """One linked avatar program. Needs a current context."""
    head = "#version 330 core\n" + "".join(f"#define {name}\n" for name in defines)
    vertex = _compile(GL.GL_VERTEX_SHADER, "avatar.vert", head)
    fragment = _compile(GL.GL_FRAGMENT_SHADER, "avatar.frag", head)
    program = int(GL.glCreateProgram())
    for shader in (vertex, fragment):
        GL.glAttachShader(program, shader)
    GL.glLinkProgram(program)
    for shader in (vertex, fragment):
        GL.glDetachShader(program, shader)
        GL.glDeleteShader(shader)
    if not GL.glGetProgramiv(program, GL.GL_LINK_STATUS):
        log = GL.glGetProgramInfoLog(program)
        GL.glDeleteProgram(program)
        text = log.decode(errors="replace") if isinstance(log, bytes) else str(log)
        raise RenderError(f"The avatar's shaders do not link: {text[:800]} Update the graphics driver.")
    GL.glUseProgram(program)
    for unit, (sampler, *_) in enumerate(TEXTURES):
        GL.glUniform1i(GL.glGetUniformLocation(program, sampler), unit)
    GL.glUniform1i(GL.glGetUniformLocation(program, "u_palette"), PALETTE_UNIT)
    GL.glUniform1i(GL.glGetUniformLocation(program, "u_morphs"), MORPH_UNIT)
    for name, binding in (("Frame", FRAME_BINDING), ("Material", MATERIAL_BINDING)):
        index = GL.glGetUniformBlockIndex(program, name)
        if index != GL.GL_INVALID_INDEX:
            GL.glUniformBlockBinding(program, index, binding)
    GL.glUseProgram(0)
    return program
