// The segments of a region: their elements are P.pitch apart.

// Where the segment of output o begins.
fn segment(o: u32) -> u32 {
    var outer = o;
    // Runs at most once: software rasterisers skip a loop, but not a branch, and divide slowly.
    for (var known = P.pitch == 1u; !known; known = true) {
        outer = o / P.pitch;
    }
    return P.src_delta + outer * P.len * P.pitch + o - outer * P.pitch;
}

// The distance of element i of a segment from its first one.
fn offset_of(i: u32) -> u32 {
    return i * P.pitch;
}
