#version 330 core
// A picture as it is: its values are the screen's, nothing is converted.
uniform sampler2D u_picture;
in vec2 v_uv;
layout(location = 0) out vec4 o_color;

void main() { o_color = texture(u_picture, v_uv); }
