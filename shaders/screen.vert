#version 330 core
// One triangle that covers the picture; no buffers.
uniform vec4 u_place;  // scale and offset from the picture (0..1, up) to the texture
out vec2 v_uv;

void main() {
    vec2 corner = vec2(gl_VertexID == 1 ? 2.0 : 0.0, gl_VertexID == 2 ? 2.0 : 0.0);
    v_uv = corner * u_place.xy + u_place.zw;
    gl_Position = vec4(corner * 2.0 - 1.0, 0.0, 1.0);
}
