// Columns anywhere: they are counted by elements, each of which is read by itself.
fn line_width() -> u32 {
    return E;
}

fn matrix_width() -> u32 {
    return P.inner;
}

// The places in the first row of a line's elements.
fn line_places(s: Start) -> Keys {
    var l: Line;
    var start = s;
    for (var j = 0u; j < E; j++) {
        let at = P.src_delta + start.matrix * P.len * P.inner + start.column;
        l = line_pushed(l, place_key(at));
        start = further(start, 0u, 1u);
    }
    return line_keys(l);
}

fn best_columns(s: Start) -> Column {
    let places = line_places(s);
    var best = column(keys_at(places, 0u), 0u);
    for (var t = 1u; t < P.len; t++) {
        best = column_taken(best, keys_at(places, t * P.inner), t);
    }
    return best;
}
