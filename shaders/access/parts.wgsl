// Parts of the segments of a view: P.slice elements, P.step apart. Items are numbered as `finish` takes partials:
// P.inner neighbouring outputs of the same part lie side by side.
struct Part {
    output: u32,
    part: u32,
}

fn part_of(item: u32) -> Part {
    let outer = item / (P.slices * P.inner);
    let rest = item - outer * P.slices * P.inner;
    let part = rest / P.inner;
    return Part(outer * P.inner + rest - part * P.inner, part);
}

fn part_begin(part: u32) -> u32 {
    return select(part, part * P.slice, P.step == 1u);
}

fn part_step() -> u32 {
    return P.step;
}

fn part_end(part: u32) -> u32 {
    return min(part_begin(part) + P.slice * P.step, P.len);
}

// The distance of element i of a segment from its first one.
fn offset_of(i: u32) -> u32 {
    return along(P.kept_dims, P.dims, i);
}
