// Shallow: columns of few rows. An invocation takes the columns of a line, whatever matrices they are
// of, and some lines one after the other.
override WG: u32;

// Where the first column of a line is.
struct Start {
    matrix: u32,
    column: u32,
}

// So many columns further; software rasterisers divide slowly.
fn further(s: Start, matrices: u32, columns: u32) -> Start {
    let column = s.column + columns;
    let wraps = column >= matrix_width();
    let matrix = s.matrix + matrices + select(0u, 1u, wraps);
    return Start(matrix, column - select(0u, matrix_width(), wraps));
}

@compute @workgroup_size(WG)
fn shallow(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = first_line(linear(group) * WG + lid);
    let end = end_line(first);
    let at = first * line_width();
    let matrix = at / matrix_width();
    var start = Start(matrix, at - matrix * matrix_width());
    let step = P.lanes * line_width();
    let matrices = step / matrix_width();
    let columns = step - matrices * matrix_width();
    for (var v = first; v < end; v += P.lanes) {
        write_line(v, column_line(best_columns(start)));
        start = further(start, matrices, columns);
    }
}
