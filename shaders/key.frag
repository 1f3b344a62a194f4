#version 330 core
// Her picture (premultiplied) before a key colour: a pixel is hers or the key's, never a mixture, so that taking the key
// away leaves no fringe.
uniform sampler2D u_picture;
uniform vec4 u_key;
in vec2 v_uv;
layout(location = 0) out vec4 o_color;

void main() {
    vec4 hers = texture(u_picture, v_uv);
    o_color = hers.a < 0.5 ? u_key : vec4(min(hers.rgb / hers.a, vec3(1.0)), 1.0);
}
