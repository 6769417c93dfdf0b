// Extreme rows: like extremes, for contiguous segments, in blocks of four vec4. P.step invocations take a slice of
// P.slice elements striped, and each leaves its partials. All of them read the first and the last vec4, which may hold
// elements outside the slice.
override WG: u32;

// The elements begin..end of the binding and the vec4 they lie in.
struct Span {
    begin: u32,
    end: u32,
    first: u32,
    last: u32,
}

fn low_in(s: Span, v: u32) -> u32 {
    return max(v * E, s.begin) - v * E;
}

fn high_in(s: Span, v: u32) -> u32 {
    return min(v * E + E, s.end) - v * E;
}

fn rows_at(at: u32) -> Rows {
    let a = whole4(src[at]);
    let b = whole4(src[at + P.step]);
    let c = whole4(src[at + 2u * P.step]);
    return Rows(a, b, c, whole4(src[at + 3u * P.step]));
}

// The place in the binding of the preferred element with a side's key, in its block.
fn find(s: Span, found: Side, turn: bool) -> u32 {
    let alone = found.at == s.first || found.at == s.last;
    var place = nowhere().x;
    for (var j = 0u; j < 4u; j++) {
        let v = select(min(found.at + j * P.step, s.last - 1u), found.at, alone);
        let x = whole4(edge(v));
        let at = part_find(select(x, turned4(x), turn), found.key, low_in(s, v), high_in(s, v));
        let here = select(v * E + at, nowhere().x, at == E);
        place = select(min(place, here), max(place, here), LAST != 0u);
    }
    return place;
}

@compute @workgroup_size(WG)
fn extreme_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let p = part_of(item);
    let slice = p.part / P.step;
    let skip = slice * P.slice;
    // A shorter window has fewer parts.
    if skip >= P.len {
        return;
    }
    let start = segment(p.output);
    let begin = start + skip;
    let end = begin + min(P.slice, P.len - skip);
    let s = Span(begin, end, begin / E, (end - 1u) / E);
    let first = whole4(edge(s.first));
    let l = low_in(s, s.first);
    let h = high_in(s, s.first);
    var low = side(part_key(first, l, h), s.first);
    var high = side(part_key(turned4(first), l, h), s.first);
    var at = s.first + 1u + p.part - slice * P.step;
    for (; at + 3u * P.step < s.last; at += 4u * P.step) {
        let k = both_keys(rows_at(at));
        low = taken(low, k.low, at);
        high = taken(high, k.high, at);
    }
    for (; at < s.last; at += P.step) {
        let v = whole4(src[at]);
        low = taken(low, part_key(v, 0u, E), at);
        high = taken(high, part_key(turned4(v), 0u, E), at);
    }
    if s.last > s.first {
        let v = whole4(edge(s.last));
        low = taken(low, part_key(v, 0u, high_in(s, s.last)), s.last);
        high = taken(high, part_key(turned4(v), 0u, high_in(s, s.last)), s.last);
    }
    low.at = find(s, low, false) - start;
    high.at = find(s, high, true) - start;
    leave(item, low);
    leave(P.items + item, high);
}
