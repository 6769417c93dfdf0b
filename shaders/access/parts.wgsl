// Parts of segments. SLICED: each segment is cut into P.slices parts of P.slice elements from P.begin on, numbered as `finish`
// takes partial results: the parts of P.inner neighbouring segments lie side by side. STEPPED: the elements of a part are
// P.step apart.
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
    return P.begin + select(part, part * P.slice, part_step() == 1u);
//# else
    return 0u;
//# end
}

// A constant where it can be: with a step from P, long segments took 1.5 times as long on lavapipe.
fn part_step() -> u32 {
//# if STEPPED
    return P.step;
//# else
    return 1u;
//# end
}

fn part_end(part: u32) -> u32 {
//# if SLICED
    return min(part_begin(part) + P.slice * part_step(), P.len);
//# else
    return P.len;
//# end
}
