// Skinning and morphs of one primitive; the outline pass (OUTLINE) pushes the surface out along its normal.
layout(location = 0) in vec3 a_position;
layout(location = 1) in vec3 a_normal;
layout(location = 2) in vec4 a_uv;      // UV sets 0 and 1
layout(location = 3) in vec4 a_weights;
layout(location = 4) in uvec4 a_joints;
layout(location = 5) in vec4 a_color;
layout(location = 6) in int a_slot;     // row of the blended morph offsets, -1 for none
#ifdef HEAD_SHADOW
layout(location = 7) in float a_receives;  // 0 on the head itself, 1 where its shadow may fall
#endif

uniform samplerBuffer u_palette;        // three texels (rows of a 3 x 4 matrix) per joint
uniform samplerBuffer u_morphs;         // two texels (position, normal) per slot

out vec3 v_position;
out vec3 v_normal;
out vec4 v_uv;
out vec4 v_color;
#ifdef HEAD_SHADOW
out vec4 v_shadow;                      // place in the head's shadow; share of it that counts
#endif

void add_joint(uint joint, float weight, inout vec4 x, inout vec4 y, inout vec4 z) {
    int base = int(joint) * 3;
    x += weight * texelFetch(u_palette, base);
    y += weight * texelFetch(u_palette, base + 1);
    z += weight * texelFetch(u_palette, base + 2);
}

void main() {
    vec3 position = a_position;
    vec3 normal = a_normal;
    if (a_slot >= 0) {
        position += texelFetch(u_morphs, a_slot * 2).xyz;
        normal += texelFetch(u_morphs, a_slot * 2 + 1).xyz;
    }
    vec4 x = vec4(0.0), y = vec4(0.0), z = vec4(0.0);
    add_joint(a_joints.x, a_weights.x, x, y, z);
    if (a_weights.y > 0.0) add_joint(a_joints.y, a_weights.y, x, y, z);
    if (a_weights.z > 0.0) add_joint(a_joints.z, a_weights.z, x, y, z);
    if (a_weights.w > 0.0) add_joint(a_joints.w, a_weights.w, x, y, z);
    vec4 p = vec4(position, 1.0);
    vec3 world = vec3(dot(x, p), dot(y, p), dot(z, p));
    vec3 turned = normalize(vec3(dot(x.xyz, normal), dot(y.xyz, normal), dot(z.xyz, normal)) + vec3(0.0, 1e-9, 0.0));
    v_uv = a_uv;
    v_color = a_color;
    v_normal = turned;
#ifdef HEAD_SHADOW
    vec4 place = vec4(world, 1.0);
    v_shadow = vec4(dot(f_shadow_x, place), dot(f_shadow_y, place), dot(f_shadow_z, place), a_receives);
#endif
#ifdef OUTLINE
    // Metres at this depth for one height of the picture.
    float height = 2.0 * -dot(vec4(f_view[0].z, f_view[1].z, f_view[2].z, f_view[3].z), vec4(world, 1.0)) / f_projection[1][1];
    // A line thinner than a pixel breaks into dashes where pixels have one sample.
    float width = max(has(FLAG_OUTLINE_SCREEN) ? m_outline.x * height : m_outline.x, f_size.z / f_size.y * height);
    if (has(FLAG_OUTLINE_TEXTURE)) {
        width *= textureLod(u_outline_width, moved_uv(animated(a_uv), m_outline_uv, m_outline_uv2), 0.0).g;
    }
    world += turned * width;
#endif
    v_position = world;
    gl_Position = f_projection * f_view * vec4(world, 1.0);
}
