// Lines: what E neighbouring segments give, whole vec4 of values or of indices. P.lanes neighbouring
// invocations, a team, take as many neighbouring lines, or runs of them, P.slice times.

fn first_line(invocation: u32) -> u32 {
    let team = invocation / P.lanes;
    return team * P.lanes * P.slice + invocation - team * P.lanes;
}

fn end_line(first: u32, lines: u32) -> u32 {
    return min(first + P.lanes * P.slice, lines);
}

fn write_line(v: u32, l: Line) {
    if INDEX != 0u {
        write_places(v, l);
    } else {
        dst[P.dst_delta / E + v] = words_of(line_keys(l));
    }
}
