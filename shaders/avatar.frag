// MToon 1.0 (VRMC_materials_mtoon), glTF unlit, and a plain lit model for other glTF materials.
in vec3 v_position;
in vec3 v_normal;
in vec4 v_uv;
in vec4 v_color;

layout(location = 0) out vec4 o_color;

const float PI = 3.14159265;

vec3 encoded(vec3 c) {
    c = clamp(c, 0.0, 1.0);
    // The curve by three roots (I. Taylor), within half a step of 8 bits: a power costs a CPU that draws six times that.
    vec3 s1 = sqrt(c), s2 = sqrt(s1), s3 = sqrt(s2);
    return mix(c * 12.92, 0.662002687 * s1 + 0.684122060 * s2 - 0.323583601 * s3 - 0.0225411470 * c, step(vec3(0.0031308), c));
}

vec4 animated() {
    vec4 uv = v_uv;
    if (has(FLAG_SCROLLS)) {
        float amount = f_eye.w;
        if (has(FLAG_MASK_TEXTURE)) amount *= texture(u_mask, moved_uv(uv, m_mask_uv, m_mask_uv2)).b;
        float angle = m_scroll.z * amount;
        float c = cos(angle), s = sin(angle);
        mat2 turn = mat2(c, s, -s, c);
        uv.xy = turn * (uv.xy - 0.5) + 0.5 + m_scroll.xy * amount;
        uv.zw = turn * (uv.zw - 0.5) + 0.5 + m_scroll.xy * amount;
    }
    return uv;
}

// Tangent frame from screen derivatives: no tangents in the vertices, and mirrored UVs come out right.
vec3 bumped(vec3 normal, vec2 uv) {
    vec3 texel = texture(u_normal, uv).xyz * 2.0 - 1.0;
    texel.xy *= m_emissive.w;
    vec3 dx = dFdx(v_position), dy = dFdy(v_position);
    vec2 ux = dFdx(uv), uy = dFdy(uv);
    vec3 a = cross(dy, normal), b = cross(normal, dx);
    vec3 tangent = a * ux.x + b * uy.x;
    vec3 bitangent = a * ux.y + b * uy.y;
    float size = max(dot(tangent, tangent), dot(bitangent, bitangent));
    if (size <= 0.0) return normal;
    return normalize(mat3(tangent * inversesqrt(size), -bitangent * inversesqrt(size), normal) * texel);
}

vec3 ambient(vec3 normal) { return mix(f_ground.rgb, f_sky.rgb, normal.y * 0.5 + 0.5); }

vec3 toon(vec3 base, vec3 normal, vec3 view, vec4 uv) {
    vec3 shade = m_shade.rgb;
    if (has(FLAG_SHADE_TEXTURE)) shade *= texture(u_shade, moved_uv(uv, m_shade_uv, m_shade_uv2)).rgb;
    float shift = m_toon.x;
    if (has(FLAG_SHIFT_TEXTURE)) shift += texture(u_shift, moved_uv(uv, m_shift_uv, m_shift_uv2)).r * m_toon.z;
    float lit = dot(normal, f_light_toward.xyz) + shift;
    float low = -1.0 + m_toon.y, high = 1.0 - m_toon.y;
    lit = clamp((lit - low) / max(high - low, 1e-3), 0.0, 1.0);
    vec3 direct = mix(shade, base, lit) * f_light_color.rgb;
    vec3 even = 0.5 * (f_sky.rgb + f_ground.rgb);
    vec3 around = mix(ambient(normal), even, m_outline.y);
    vec3 color = direct + base * around;

    vec3 rim = vec3(0.0);
    if (has(FLAG_MATCAP_TEXTURE)) {
        vec3 side = normalize(vec3(view.z, 0.0, -view.x) + vec3(1e-6, 0.0, 0.0));
        vec3 up = cross(view, side);
        vec2 sphere = vec2(dot(side, normal), dot(up, normal)) * 0.495 + 0.5;
        rim += m_matcap.rgb * texture(u_matcap, vec2(sphere.x, 1.0 - sphere.y)).rgb;
    }
#ifdef RIM
    rim += m_rim.rgb * pow(clamp(1.0 - dot(normal, view) + m_matcap.w, 0.0, 1.0), max(m_rim.w, 1e-5));
#endif
    if (has(FLAG_RIM_TEXTURE)) rim *= texture(u_rim, moved_uv(uv, m_rim_uv, m_rim_uv2)).rgb;
    vec3 received = f_light_color.rgb * lit + around;
    return color + rim * mix(vec3(1.0), received, m_toon.w);
}

vec3 lit_surface(vec3 base, vec3 normal, vec3 view) {
    float rough = clamp(m_outline.z, 0.05, 1.0), metal = m_outline.w;
    vec3 diffuse = base * (1.0 - 0.7 * metal);
    vec3 color = diffuse * ambient(normal) * 1.6;
    float key = clamp(dot(normal, f_light_toward.xyz) * 0.85 + 0.15, 0.0, 1.0);
    color += diffuse * key * f_light_color.rgb * 0.8;
    color += diffuse * clamp(dot(normal, f_fill_toward.xyz), 0.0, 1.0) * f_fill_color.rgb;
    vec3 half_way = normalize(f_light_toward.xyz + view);
    float power = 2.0 / (rough * rough * rough * rough + 1e-3);
    float gloss = (power + 2.0) / 8.0 * pow(clamp(dot(normal, half_way), 0.0, 1.0), min(power, 512.0));
    color += mix(vec3(0.04), base, metal) * min(gloss, 4.0) * key * f_light_color.rgb * 0.5;
    return color;
}

void main() {
    vec4 uv = animated();
    vec4 base = m_base * v_color;
    if (has(FLAG_BASE_TEXTURE)) base *= texture(u_base, moved_uv(uv, m_base_uv, m_base_uv2));
    float alpha = 1.0;
    if (ALPHA == 1u) {
        // With multisampling the cut edge becomes coverage; one pixel wide, so that it stays sharp.
        alpha = clamp((base.a - m_shade.w) / max(fwidth(base.a), 1e-4) + 0.5, 0.0, 1.0);
        if (alpha <= 0.0) discard;
    } else if (ALPHA == 2u) {
        alpha = base.a;
        if (alpha <= 0.002) discard;
    }
    vec3 normal = normalize(v_normal);
    vec3 view = normalize(f_eye.xyz - v_position);
#ifndef OUTLINE
    if (!gl_FrontFacing) normal = -normal;
    if (has(FLAG_NORMAL_TEXTURE)) normal = bumped(normal, moved_uv(uv, m_normal_uv, m_normal_uv2));
#endif
    vec3 color;
    if (SHADING == 0u) {
        color = base.rgb;
    } else if (SHADING == 1u) {
        color = lit_surface(base.rgb, normal, view);
    } else {
        color = toon(base.rgb, normal, view, uv);
    }
#ifdef OUTLINE
    color = m_outline_color.rgb * mix(vec3(1.0), color, m_outline_color.w);
#else
    vec3 glow = m_emissive.rgb;
    if (has(FLAG_EMISSIVE_TEXTURE)) glow *= texture(u_emissive, moved_uv(uv, m_emissive_uv, m_emissive_uv2)).rgb;
    color += glow;
#endif
    o_color = vec4(encoded(color), alpha);
}
