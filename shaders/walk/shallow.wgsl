// Shallow: columns of few rows. An invocation takes {RUNS} neighbouring lines of columns at once; 0: one line, element
// by element. Lines are counted through all matrices.
override WG: u32;

// Where the first column of a run of lines is.
struct Start {
    matrix: u32,
    column: u32,
}

fn abreast() -> u32 {
    return max({RUNS}u, 1u);
}

// So many matrices and columns further, without a division: software rasterisers divide slowly.
fn further(s: Start, matrices: u32, columns: u32) -> Start {
    let column = s.column + columns;
    let wraps = column >= matrix_width();
    let matrix = s.matrix + matrices + select(0u, 1u, wraps);
    return Start(matrix, column - select(0u, matrix_width(), wraps));
}

@compute @workgroup_size(WG)
fn shallow(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = first_line(linear(group) * WG + lid);
    let runs = (P.items + abreast() - 1u) / abreast();
    let at = first * abreast() * line_width();
    let matrix = at / matrix_width();
    var start = Start(matrix, at - matrix * matrix_width());
//# if COARSENED
    let end = end_line(first, runs);
    let step = P.team * abreast() * line_width();
    let matrices = step / matrix_width();
    let columns = step - matrices * matrix_width();
    for (var i = first; i < end; i += P.team) {
        take(i * abreast(), start);
        start = further(start, matrices, columns);
    }
//# else
    if first < runs {
        take(first * abreast(), start);
    }
//# end
}
