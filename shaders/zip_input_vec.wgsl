@group(0) @binding(3) var<storage, read> in_0: array<vec4<u32>>;
