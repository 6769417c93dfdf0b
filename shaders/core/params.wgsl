// What a dispatch works on: the fields of `Params` in src/kernel/params.rs that the text uses. Its declaration is made with it.
@group(0) @binding(0) var<uniform> P: Params;

override WG: u32; // invocations in a workgroup

fn linear(group: vec3<u32>) -> u32 {
    return group.y * P.grid + group.x;
}
