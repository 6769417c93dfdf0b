// Short rows of whole vec4: an invocation takes P.slice neighbouring rows, four vec4 at a time.
override WG: u32;

// A settled key and its place in a row.
struct Winner {
    key: Key,
    at: u32,
}

// The best of four vec4 from t on of a row that begins with vec4 `first`. Past the end the last
// is taken again.
fn winner(first: u32, t: u32, last: u32) -> Winner {
    let b = min(t + 1u, last);
    let c = min(t + 2u, last);
    let d = min(t + 3u, last);
    let r = Rows(src[first + t], src[first + b], src[first + c], src[first + d]);
    let key = settle(four_key(r));
    if INDEX == 0u {
        return Winner(key, 0u);
    }
    let place = four_find(r, reach(key));
    return Winner(key, min(t + place / E, last) * E + place % E);
}

// The same of at most two vec4.
fn winner_of_two(first: u32, last: u32) -> Winner {
    let a = src[first];
    let b = src[first + last];
    let r = Rows(a, b, b, b);
    let key = settle(four_key(r));
    if INDEX == 0u {
        return Winner(key, 0u);
    }
    let place = four_find(r, reach(key));
    return Winner(key, min(place / E, last) * E + place % E);
}

fn finish_row(row: u32, best: Winner) {
    emit(row, Best(best.key, placed(best.at)));
}

@compute @workgroup_size(WG)
fn short_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let vecs = P.len / E;
    let last = vecs - 1u;
    let begin = (linear(group) * WG + lid) * P.slice;
    let end = min(begin + P.slice, P.items);
    var first = P.src_delta / E + begin * vecs;
    if vecs > 4u {
        for (var row = begin; row < end; row++) {
            var best = winner(first, 0u, last);
            for (var t = 4u; t < vecs; t += 4u) {
                let next = winner(first, t, last);
                if replaces(next.key, best.key) {
                    best = next;
                }
            }
            finish_row(row, best);
            first += vecs;
        }
        return;
    }
    // At most four: no loop in the loop, which software rasterisers run slower.
    if vecs > 2u {
        for (var row = begin; row < end; row++) {
            finish_row(row, winner(first, 0u, last));
            first += vecs;
        }
        return;
    }
    for (var row = begin; row < end; row++) {
        finish_row(row, winner_of_two(first, last));
        first += vecs;
    }
}
