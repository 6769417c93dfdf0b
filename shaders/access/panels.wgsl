//# if UNALIGNED
// Unaligned columns: units are elements. A panel may lie in two matrices, and the last may have fewer of the P.total
// lines. If a panel is several lines, a matrix is wider than a panel.
fn panel_units() -> u32 {
    return abreast() * E;
}

fn row_units() -> u32 {
    return P.inner;
}

fn abreast() -> u32 {
    return max({RUNS}u, 1u);
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

// Whether a panel lies in one matrix, and all vec4 that are read for it lie in the binding.
fn fits(s: Start, at: u32) -> bool {
    let last = (at + (P.len - 1u) * P.inner) / E + {RUNS}u;
    return {RUNS}u != 0u && s.at + {RUNS}u * E <= P.inner && last < arrayLength(&src);
}

fn take(i: u32, s: Start, lane: u32) {
    let v = i * abreast();
    let at = P.src_delta + s.matrix * P.len * P.inner + s.at;
    if fits(s, at) {
        run(at, v, v + {RUNS}u);
        return;
    }
    var start = s;
    let end = min(v + abreast(), P.total);
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
        let at = P.src_delta + start.matrix * P.len * P.inner + start.at;
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
// Columns in whole vec4: units are panels, P.slices in a matrix. Past the end of a row an invocation reads the next
// one, or past the matrix, and writes nothing.
fn panel_units() -> u32 {
    return 1u;
}

fn row_units() -> u32 {
    return P.slices;
}

fn take(i: u32, s: Start, lane: u32) {
    let v = s.at * {STRIDE * RUNS}u + lane;
    let first = P.src_delta / E + s.matrix * P.len * P.width;
    run(first + v, s.matrix * P.width + v, (s.matrix + 1u) * P.width);
}
//# end

// Walks down {RUNS} vec4 of neighbouring columns, {STRIDE} apart. UNALIGNED: each lies in two vec4 of the source.
fn run(first: u32, v: u32, end: u32) {
    var at = first;
//# if UNALIGNED
//# for r in 0..RUNS + 1
    var w{r} = src[at / E + {r}u];
//# end
//# end
//# for r in 0..RUNS
//# if UNALIGNED
    var a{r} = acc_first(keys_of(shifted(w{r}, w{r + 1}, at % E)), 0u);
//# else
    var a{r} = acc_first(keys_of(src[at + {r * STRIDE}u]), 0u);
//# end
//# end
    for (var t = 1u; t < P.len; t++) {
//# if UNALIGNED
        at += P.inner;
//# for r in 0..RUNS + 1
        w{r} = src[at / E + {r}u];
//# end
//# for r in 0..RUNS
        a{r} = acc_take(a{r}, keys_of(shifted(w{r}, w{r + 1}, at % E)), t);
//# end
//# else
        at += P.width;
//# for r in 0..RUNS
        a{r} = acc_take(a{r}, keys_of(src[at + {r * STRIDE}u]), t);
//# end
//# end
    }
//# for r in 0..RUNS
    write_column(v + {r * STRIDE}u, end, a{r});
//# end
}
