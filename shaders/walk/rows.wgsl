// Rows: a segment is contiguous. LANES neighbouring invocations take a slice of it together,
// in blocks of eight vec4. A first or a last vec4 that holds elements of its neighbours too every
// lane reads for itself; the lanes share the whole vec4 in between.
// A block is reduced first and only its place remembered; its element is found at the end.
override WG: u32;
const BLOCK: u32 = 8u; // vec4
override COARSENED: u32; // 1: lanes take items one after the other; 0: one

var<workgroup> wg_key: array<Key, WG>;
var<workgroup> wg_place: array<u32, WG>;

// A canonical key and the vec4 its block begins with.
struct Found {
    key: Key,
    block: u32,
}

// The block of a lane that has met nothing.
const NOTHING: u32 = 0xffffffffu;

fn low_in(s: Span, v: u32) -> u32 {
    return max(v * E, s.begin) - v * E;
}

fn high_in(s: Span, v: u32) -> u32 {
    return min(v * E + E, s.end) - v * E;
}

fn edge_key(s: Span, v: u32) -> Key {
    return canonical(part_key(edge(v), low_in(s, v), high_in(s, v)));
}

fn taken(found: Found, k: Key, block: u32) -> Found {
    let wins = replaces(k, found.key);
    return Found(select(found.key, k, wins), select(found.block, block, wins));
}

fn scan(s: Span, w: Walk) -> Found {
    let more = s.last * E < s.end;
    // Should nothing ever win, the first that is met counts.
    var found = Found(PAD, select(NOTHING, s.last, more));
    if w.at < w.end {
        found.block = w.at;
    }
    if s.first * E > s.begin {
        found = Found(edge_key(s, s.first - 1u), s.first - 1u);
    }
    let step = lane_step();
    for (var at = w.at; at < w.end; at += BLOCK * step) {
        var f = fold_of(src[at]);
        f = fold(f, src[min(at + step, w.last)]);
        f = fold(f, src[min(at + 2u * step, w.last)]);
        f = fold(f, src[min(at + 3u * step, w.last)]);
        f = fold(f, src[min(at + 4u * step, w.last)]);
        f = fold(f, src[min(at + 5u * step, w.last)]);
        f = fold(f, src[min(at + 6u * step, w.last)]);
        f = fold(f, src[min(at + 7u * step, w.last)]);
        found = taken(found, canonical(fold_key(f)), at);
    }
    if more {
        found = taken(found, edge_key(s, s.last), s.last);
    }
    return found;
}

fn preferred(a: u32, b: u32) -> u32 {
    return select(min(a, b), max(a, b), LAST != 0u);
}

fn four_from(v: u32, last: u32) -> Rows {
    let step = lane_step();
    let a = src[min(v, last)];
    let b = src[min(v + step, last)];
    let c = src[min(v + 2u * step, last)];
    return Rows(a, b, c, src[min(v + 3u * step, last)]);
}

// The place in the binding of the element a lane found.
fn find(s: Span, w: Walk, found: Found) -> u32 {
    let v = found.block;
    if v == NOTHING {
        return nowhere().x;
    }
    if v < s.first || v >= s.last {
        return v * E + part_find(edge(v), found.key, low_in(s, v), high_in(s, v));
    }
    let step = lane_step();
    let late = four_from(v + 4u * step, w.last);
    let place = eight_find(four_from(v, w.last), late, last_equal(found.key));
    return min(v + place / E * step, w.last) * E + place % E;
}

// The least key of a group of lanes, for all of them.
fn group_key(lid: u32, own: Key) -> Key {
    wg_key[lid] = own;
    let lane = lid % LANES;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half && less(wg_key[lid + half], wg_key[lid]) {
            wg_key[lid] = wg_key[lid + half];
        }
    }
    workgroupBarrier();
    let key = wg_key[lid - lane];
    workgroupBarrier();
    return key;
}

// The preferred place of a group of lanes, for its first.
fn group_place(lid: u32, own: u32) -> u32 {
    wg_place[lid] = own;
    let lane = lid % LANES;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            wg_place[lid] = preferred(wg_place[lid], wg_place[lid + half]);
        }
    }
    let place = wg_place[lid];
    workgroupBarrier();
    return place;
}

// The best of an item, for its first lane.
fn best_of(item: u32, lid: u32) -> Best {
    let start = P.src_delta + item / P.slices * P.len;
    let s = item_span(item);
    let w = walk(s, lid % LANES);
    let found = scan(s, w);
    var key = found.key;
    if LANES > 1u {
        key = group_key(lid, found.key);
    }
    var place = nowhere().x;
    if INDEX != 0u {
        if same(key, found.key) {
            place = find(s, w, found);
        }
        if LANES > 1u {
            place = group_place(lid, place);
        }
    }
    return Best(key, placed(place - start));
}

// Lanes without an item repeat the last one, so that all arrive at the barriers.
fn take(item: u32, lid: u32) {
    let best = best_of(min(item, P.items - 1u), lid);
    if lid % LANES == 0u && item < P.items {
        emit(item, best);
    }
}

// Lanes take P.width neighbouring items, one after the other.
@compute @workgroup_size(WG)
fn rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = linear(group) * (WG / LANES) + lid / LANES;
    // Software rasterisers run a loop in a loop slower: none where none is needed.
    if COARSENED == 0u {
        take(first, lid);
        return;
    }
    for (var i = 0u; i < P.width; i++) {
        take(first * P.width + i, lid);
    }
}
