// Writes the results of vec4 v of the region's columns, if it is before `end`.
fn write_column(v: u32, end: u32, a: Acc) {
    if v >= end {
        return;
    }
//# if PARTIAL
    for (var i = 0u; i < E; i++) {
        var best = Best(canonical(acc_key(a, i)), nowhere());
        if INDEX != 0u {
            best.index = placed(acc_at(a, i));
        }
        emit(v * E + i, best);
    }
//# else
    write_line(v, line_of(Keys(
//# for j in 0..PLANES
        column_results(a.p{j}),
//# end
    )));
//# end
}
//# if PARTIAL == 0

fn column_results(b: Bests) -> Plane {
    if INDEX != 0u {
        return places_plane(bests_places(b, 0u));
    }
    return b.key;
}
//# end
