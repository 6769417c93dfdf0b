// Columns in whole vec4: they are counted by these.
fn line_width() -> u32 {
    return 1u;
}

fn matrix_width() -> u32 {
    return P.width;
}

fn best_columns(s: Start) -> Column {
    var at = P.src_delta / E + s.matrix * P.len * P.width + s.column;
    var best = column(keys_of(src[at]), 0u);
    for (var t = 1u; t < P.len; t++) {
        at += P.width;
        best = column_taken(best, keys_of(src[at]), t);
    }
    return best;
}
