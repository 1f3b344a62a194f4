// MToon 1.0 (VRMC_materials_mtoon), glTF unlit, and a plain lit model for other glTF materials.
in vec3 v_position;
in vec3 v_normal;
in vec4 v_uv;
in vec4 v_color;
#ifdef HEAD_SHADOW
in vec4 v_shadow;
#endif

layout(location = 0) out vec4 o_color;

const float PI = 3.14159265;

vec3 encoded(vec3 c) {
    c = clamp(c, 0.0, 1.0);
    // The curve by three roots (I. Taylor), within half a step of 8 bits: a power costs a CPU that draws six times that.
    vec3 s1 = sqrt(c), s2 = sqrt(s1), s3 = sqrt(s2);
    return mix(c * 12.92, 0.662002687 * s1 + 0.684122060 * s2 - 0.323583601 * s3 - 0.0225411470 * c, step(vec3(0.0031308), c));
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

// Share of the key light that the head lets through: its silhouette is a disc, and reaches as far as a chest.
float passed() {
#ifdef HEAD_SHADOW
    float inside = clamp((1.0 - dot(v_shadow.xy, v_shadow.xy)) * 5.0 + 0.5, 0.0, 1.0);
    float behind = clamp(v_shadow.z * 8.0 + 1.0, 0.0, 1.0) * clamp(3.5 - v_shadow.z, 0.0, 1.0);
    return 1.0 - inside * behind * v_shadow.w;
#else
    return 1.0;
#endif
}

// The light behind her draws a lit edge; a fill light lifts what the key light leaves in shade. Neither touches what
// the key light shows, so a lit surface keeps the colour its maker chose.
vec3 stage_lights(vec3 normal, float lit) {
    float edge = clamp(dot(normal, f_back_toward.xyz) * 7.0 - 1.2, 0.0, 1.0);
    float fill = clamp(dot(normal, f_fill_toward.xyz), 0.0, 1.0) * (1.0 - lit);
    return f_back_color.rgb * edge + f_fill_color.rgb * fill;
}

vec3 toon(vec3 base, vec3 normal, vec3 view, vec4 uv) {
    vec3 shade = m_shade.rgb;
    if (has(FLAG_SHADE_TEXTURE)) shade *= texture(u_shade, moved_uv(uv, m_shade_uv, m_shade_uv2)).rgb;
    float shift = m_toon.x;
    if (has(FLAG_SHIFT_TEXTURE)) shift += texture(u_shift, moved_uv(uv, m_shift_uv, m_shift_uv2)).r * m_toon.z;
    float lit = dot(normal, f_light_toward.xyz) + shift;
    float low = -1.0 + m_toon.y, high = 1.0 - m_toon.y;
    lit = clamp((lit - low) / max(high - low, 1e-3), 0.0, 1.0) * passed();
    vec3 direct = mix(shade, base, lit) * f_light_color.rgb;
    vec3 even = 0.5 * (f_sky.rgb + f_ground.rgb);
    vec3 around = mix(ambient(normal), even, m_outline.y);
    vec3 color = direct + base * (around + stage_lights(normal, lit));

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
    return color + rim * mix(vec3(1.0), f_light_color.rgb + around, m_toon.w);
}

// glTF's metallic-roughness surface (GGX with Smith's visibility, Schlick's Fresnel) under one light of colour 1 = white.
vec3 reflected(vec3 diffuse, vec3 f0, float a2, vec3 normal, vec3 view, float nv, vec3 toward, vec3 light) {
    float nl = clamp(dot(normal, toward), 0.0, 1.0);
    vec3 middle = normalize(toward + view);
    float nh = clamp(dot(normal, middle), 0.0, 1.0), vh = clamp(dot(view, middle), 0.0, 1.0);
    float d = nh * nh * (a2 - 1.0) + 1.0;
    float smith = nl * sqrt(nv * nv * (1.0 - a2) + a2) + nv * sqrt(nl * nl * (1.0 - a2) + a2);
    float fresnel = 1.0 - vh;
    fresnel *= fresnel * fresnel * fresnel * fresnel;
    vec3 gloss = mix(f0, vec3(1.0), fresnel) * (0.5 * a2 / max(d * d * smith, 1e-5));
    return (diffuse + gloss) * nl * light;
}

vec3 lit_surface(vec3 base, vec3 normal, vec3 view) {
    float rough = clamp(m_outline.z, 0.1, 1.0), metal = clamp(m_outline.w, 0.0, 1.0);
    float a2 = rough * rough * rough * rough;
    float nv = clamp(dot(normal, view), 1e-3, 1.0);
    vec3 diffuse = base * (1.0 - metal), f0 = mix(vec3(0.04), base, metal);
    vec3 color = diffuse * ambient(normal) * 1.3;
    // No room is reflected, so a metal takes the ambient of where it would look.
    color += f0 * ambient(reflect(-view, normal)) * 1.3;
    color += passed() * reflected(diffuse, f0, a2, normal, view, nv, f_light_toward.xyz, f_light_color.rgb);
    color += reflected(diffuse, f0, a2, normal, view, nv, f_fill_toward.xyz, f_fill_color.rgb);
    return color + reflected(diffuse, f0, a2, normal, view, nv, f_back_toward.xyz, f_back_color.rgb * 2.0);
}

void main() {
    vec4 uv = animated(v_uv);
    vec4 base = m_base * v_color;
    if (has(FLAG_BASE_TEXTURE)) base *= texture(u_base, moved_uv(uv, m_base_uv, m_base_uv2));
    float alpha = 1.0;
    if (ALPHA == 1u) {
#ifdef COVERAGE
        // With multisampling the cut edge becomes coverage; one pixel wide, so that it stays sharp.
        alpha = clamp((base.a - m_shade.w) / max(fwidth(base.a), 1e-4) + 0.5, 0.0, 1.0);
        if (alpha <= 0.0) discard;
#else
        if (base.a < m_shade.w) discard;
#endif
    } else if (ALPHA == 2u) {
        alpha = base.a;
        if (alpha <= 0.002) discard;
    }
#ifdef PLAIN_LINE
    o_color = vec4(encoded(m_outline_color.rgb), alpha);
#else
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
    vec3 glow = m_emissive.rgb;
    if (has(FLAG_EMISSIVE_TEXTURE)) glow *= texture(u_emissive, moved_uv(uv, m_emissive_uv, m_emissive_uv2)).rgb;
    color += glow;
#ifdef OUTLINE
    color = m_outline_color.rgb * mix(vec3(1.0), color, m_outline_color.w);
#endif
    o_color = vec4(encoded(color), alpha);
#endif
}
