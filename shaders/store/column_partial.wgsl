// Leaves the columns of a vec4, number v of those in the box, as records.
fn write_column(v: u32, end: u32, c: Column) {
    if v >= end {
        return;
    }
    for (var i = 0u; i < E; i++) {
        let s = column_side(c, i);
        var best = Best(canonical(s.least), nowhere());
        if INDEX != 0u {
            best = Best(s.key, placed(s.at));
        }
        emit(v * E + i, best);
    }
}
