// The segments of a region: their elements are P.pitch apart. SLICED: each is cut into P.slices parts of P.slice elements,
// numbered as `finish` takes partial results: the parts of P.inner neighbouring segments lie side by side.
struct Part {
    output: u32,
    part: u32,
}

fn part_of(item: u32) -> Part {
//# if SLICED
    let outer = item / (P.slices * P.inner);
    let rest = item - outer * P.slices * P.inner;
    let part = rest / P.inner;
    return Part(outer * P.inner + rest - part * P.inner, part);
//# else
    return Part(item, 0u);
//# end
}

fn part_begin(part: u32) -> u32 {
//# if SLICED
    return part * P.slice;
//# else
    return 0u;
//# end
}

// Not a parameter: with a step from P, long segments took 1.5 times as long on lavapipe.
fn part_step() -> u32 {
    return 1u;
}

fn part_end(part: u32) -> u32 {
//# if SLICED
    return min(part * P.slice + P.slice, P.len);
//# else
    return P.len;
//# end
}

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
