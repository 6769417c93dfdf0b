// The destination, as whole vec4.
@group(0) @binding(2) var<storage, read_write> dst: array<vec4<u32>>;
