//# if UNALIGNED
// Unaligned columns, counted in elements. If a run is several lines, a matrix is wider than a run.
fn line_width() -> u32 {
    return E;
}

fn matrix_width() -> u32 {
    return P.inner;
}

// The sixteen bytes that begin so many elements into the first of two vec4.
fn shifted(a: vec4<u32>, b: vec4<u32>, elements: u32) -> vec4<u32> {
    let bits = elements * {BITS}u;
    let odd = vec4<bool>((bits & 32u) != 0u);
    let high = vec4<bool>((bits & 64u) != 0u);
    let one = select(vec4<u32>(a.yzw, b.x), vec4<u32>(a.w, b.xyz), high);
    let two = select(b, b.zwzw, high);
    let words = select(select(a, vec4<u32>(a.zw, b.xy), high), one, odd);
//# if BITS >= 32
    return words;
//# else
    let rest = vec4<u32>(bits & 31u);
    let next = vec4<u32>(words.yzw, select(two.x, two.y, odd.x));
    return (words >> rest) | ((next << vec4<u32>(1u)) << (vec4<u32>(31u) - rest));
//# end
}

// Whether all lines of a run lie in one matrix, and all vec4 that are read for them lie in the binding.
fn fits(s: Start, at: u32) -> bool {
    let last = (at + (P.len - 1u) * P.inner) / E + {RUNS}u;
    return {RUNS}u != 0u && s.column + {RUNS}u * E <= P.inner && last < arrayLength(&src);
}

fn take(v: u32, s: Start) {
    let at = P.src_delta + s.matrix * P.len * P.inner + s.column;
    if fits(s, at) {
        run(at, v, v + {RUNS}u);
        return;
    }
    var start = s;
    let end = min(v + abreast(), P.items);
    for (var l = v; l < end; l++) {
        write_column(l, end, best_columns(start));
        start = further(start, 0u, E);
    }
}

// Element by element.
fn best_columns(s: Start) -> Acc {
    // The places of a line's elements in the first row.
    var l: Line;
    var start = s;
    for (var j = 0u; j < E; j++) {
        let at = P.src_delta + start.matrix * P.len * P.inner + start.column;
        l = line_pushed(l, place_key(at));
        start = further(start, 0u, 1u);
    }
    let places = line_keys(l);
    var best = acc_first(keys_at(places, 0u), 0u);
    for (var t = 1u; t < P.len; t++) {
        best = acc_take(best, keys_at(places, t * P.inner), t);
    }
    return best;
}
//# else
// Columns in whole vec4, counted in vec4. A run of lines lies in one matrix.
fn line_width() -> u32 {
    return 1u;
}

fn matrix_width() -> u32 {
    return P.width;
}

fn take(v: u32, s: Start) {
    run(P.src_delta / E + s.matrix * P.len * P.width + s.column, v, v + {RUNS}u);
}
//# end
