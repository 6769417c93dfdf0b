// Parts of segments. SLICED: each segment is cut into P.slices parts of P.slice elements from P.begin on, numbered as `finish`
// takes partial results: the parts of P.inner neighbouring segments lie side by side. STEPPED: the elements of a part are
// P.step apart.
struct Part {
    output: u32,
    begin: u32, // of its elements; past the last one, where a shorter window has fewer parts
    end: u32,
}

// A constant where it can be: with a step from P, long segments took 1.5 times as long on lavapipe.
fn part_step() -> u32 {
//# if STEPPED
    return P.step;
//# else
    return 1u;
//# end
}

fn part_of(item: u32) -> Part {
//# if SLICED
    let outer = item / (P.slices * P.inner);
    let rest = item - outer * P.slices * P.inner;
    let part = rest / P.inner;
    let begin = P.begin + select(part, part * P.slice, part_step() == 1u);
    return Part(outer * P.inner + rest - part * P.inner, begin, min(begin + P.slice * part_step(), P.len));
//# else
    return Part(item, 0u, P.len);
//# end
}
