// Blocks shared by both stages. Layouts are mirrored in idol/render/blocks.py.
layout(std140) uniform Frame {
    mat4 f_view;
    mat4 f_projection;
    vec4 f_eye;            // camera position, time in seconds
    vec4 f_size;           // viewport width, height; least width of outlines, pixels
    vec4 f_light_toward;   // unit vector to the key light
    vec4 f_light_color;    // linear
    vec4 f_sky;            // ambient from above, linear
    vec4 f_ground;         // ambient from below, linear
    vec4 f_fill_toward;    // unit vector to the fill light
    vec4 f_fill_color;     // linear
    vec4 f_back_toward;    // unit vector to the light behind her
    vec4 f_back_color;     // linear
    vec4 f_shadow_x;       // rows of a 3 x 4 matrix: world to the head's shadow, where the head is the unit disc of
    vec4 f_shadow_y;       //   x and y and z counts away from the key light, in radii of the head
    vec4 f_shadow_z;
};

layout(std140) uniform Material {
    vec4 m_base;           // colour, alpha
    vec4 m_shade;          // colour, alpha cutoff
    vec4 m_emissive;       // colour, normal scale
    vec4 m_rim;            // colour, fresnel power
    vec4 m_matcap;         // factor, rim lift
    vec4 m_outline_color;  // colour, lighting mix
    vec4 m_toon;           // shift, toony, shift texture scale, rim lighting mix
    vec4 m_outline;        // width, GI equalisation, roughness, metallic
    vec4 m_scroll;         // x, y, rotation per second
    vec4 m_base_uv;  vec4 m_base_uv2;       // offset, scale; rotation, UV set
    vec4 m_shade_uv; vec4 m_shade_uv2;
    vec4 m_normal_uv; vec4 m_normal_uv2;
    vec4 m_emissive_uv; vec4 m_emissive_uv2;
    vec4 m_shift_uv; vec4 m_shift_uv2;
    vec4 m_rim_uv; vec4 m_rim_uv2;
    vec4 m_outline_uv; vec4 m_outline_uv2;
    vec4 m_mask_uv; vec4 m_mask_uv2;
};

// Every material has a program of its own kind: FLAGS (bits below), SHADING (0 unlit, 1 lit, 2 MToon), ALPHA (0 opaque,
// 1 mask, 2 blend), RIM, TURNED_UV, HEAD_SHADOW (the head casts its shadow on it), COVERAGE (samples smooth masked edges)
// and PLAIN_LINE (an outline that no light touches) are constants, so what a material lacks costs nothing, also where the
// CPU draws.

const uint FLAG_BASE_TEXTURE = 1u;
const uint FLAG_SHADE_TEXTURE = 2u;
const uint FLAG_NORMAL_TEXTURE = 4u;
const uint FLAG_EMISSIVE_TEXTURE = 8u;
const uint FLAG_SHIFT_TEXTURE = 16u;
const uint FLAG_MATCAP_TEXTURE = 32u;
const uint FLAG_RIM_TEXTURE = 64u;
const uint FLAG_OUTLINE_TEXTURE = 128u;
const uint FLAG_MASK_TEXTURE = 256u;
const uint FLAG_OUTLINE_SCREEN = 512u;
const uint FLAG_SCROLLS = 1024u;

uniform sampler2D u_base, u_shade, u_normal, u_emissive, u_shift, u_matcap, u_rim, u_outline_width, u_mask;

bool has(uint flag) { return (FLAGS & flag) != 0u; }

// KHR_texture_transform: scale, then rotate, then move.
vec2 moved_uv(vec4 sets, vec4 a, vec4 b) {
#ifdef TURNED_UV
    vec2 uv = (b.y > 0.5 ? sets.zw : sets.xy) * a.zw;
    float c = cos(b.x), s = sin(b.x);
    return vec2(c * uv.x + s * uv.y, c * uv.y - s * uv.x) + a.xy;
#else
    return sets.xy * a.zw + a.xy;
#endif
}

// UV animation of MToon: about the middle of the picture, the way KHR_texture_transform turns, then scrolled.
vec4 animated(vec4 uv) {
    if (has(FLAG_SCROLLS)) {
        float amount = f_eye.w;
        if (has(FLAG_MASK_TEXTURE)) amount *= texture(u_mask, moved_uv(uv, m_mask_uv, m_mask_uv2)).b;
        float angle = m_scroll.z * amount;
        float c = cos(angle), s = sin(angle);
        mat2 turn = mat2(c, -s, s, c);
        uv.xy = turn * (uv.xy - 0.5) + 0.5 + m_scroll.xy * amount;
        uv.zw = turn * (uv.zw - 0.5) + 0.5 + m_scroll.xy * amount;
    }
    return uv;
}
