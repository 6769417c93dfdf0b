// The destination, as words.
@group(0) @binding(2) var<storage, read_write> dst: array<u32>;
