// Columns in whole vec4: they are counted by these. A run of lines lies in one matrix.
fn line_width() -> u32 {
    return 1u;
}

fn matrix_width() -> u32 {
    return P.width;
}

fn take(v: u32, s: Start) {
    run(P.src_delta / E + s.matrix * P.len * P.width + s.column, v, v + RUNS);
}
