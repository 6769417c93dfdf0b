// The segments of a region: their elements are P.inner apart, and none is cut into parts.
struct Part {
    output: u32,
    part: u32,
}

fn part_of(item: u32) -> Part {
    return Part(item, 0u);
}

fn part_begin(part: u32) -> u32 {
    return 0u;
}

// Not a parameter: with a step from P, long segments took 1.5 times as long on lavapipe.
fn part_step() -> u32 {
    return 1u;
}

fn part_end(part: u32) -> u32 {
    return P.len;
}

// Where the segment of output o begins.
fn segment(o: u32) -> u32 {
    var outer = o;
    // Runs at most once: software rasterisers skip a loop, but not a branch, and divide slowly.
    for (var known = P.inner == 1u; !known; known = true) {
        outer = o / P.inner;
    }
    return P.src_delta + outer * P.len * P.inner + o - outer * P.inner;
}

// The distance of element i of a segment from its first one.
fn offset_of(i: u32) -> u32 {
    return i * P.inner;
}
