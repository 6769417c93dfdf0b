// Short rows of whole vec4: an invocation takes P.slice neighbouring rows, four vec4 at a time. Of at
// most {VECS} vec4, where that is not 0, a row has no loop: software rasterisers run one in another slower.
override WG: u32;

// A canonical key and its place in a row.
struct Winner {
    key: Key,
    at: u32,
}

// The best of four vec4, of which those behind vec4 `last` do not count.
fn winner(r: Rows, last: u32) -> Winner {
//# if PACKED
    if INDEX == 0u {
        return Winner(canonical(four_key(r)), 0u);
    }
    var best = vec_packed(r.a, 0u);
//# if ABREAST > 1
    best = min(best, vec_packed(r.b, 1u));
//# end
//# if ABREAST > 2
    best = min(best, min(vec_packed(r.c, 2u), vec_packed(r.d, 3u)));
//# end
    let both = least(best);
    let key = both & KEEP;
    let place = place_of(both);
//# else
    let key = canonical(four_key(r));
    if INDEX == 0u {
        return Winner(key, 0u);
    }
    let place = four_find(r, last_equal(key));
//# end
    return Winner(key, min(place / E, last) * E + place % E);
}

// Vec4 t of a row that begins with vec4 `first`; past the end the last again.
fn vec_at(first: u32, t: u32, last: u32) -> vec4<u32> {
    return once(src[first + min(t, last)], t <= last);
}

fn four_at(first: u32, t: u32, last: u32) -> Rows {
    return Rows(
        src[first + t],
        vec_at(first, t + 1u, last),
        vec_at(first, t + 2u, last),
        vec_at(first, t + 3u, last),
    );
}

fn row_best(first: u32, last: u32) -> Winner {
//# if VECS == 1
    let a = src[first];
    let again = once(a, false);
    return winner(Rows(a, again, again, again), 0u);
//# else
//# if VECS == 2
    let a = src[first];
    let b = once(src[first + last], last > 0u);
    let again = once(b, false);
    return winner(Rows(a, b, again, again), last);
//# else
    var best = winner(four_at(first, 0u, last), last);
//# if VECS == 0
    for (var t = 4u; t <= last; t += 4u) {
        var next = winner(four_at(first, t, last), last - t);
        next.at += t * E;
        if INDEX == 0u {
            best.key = combined(next.key, best.key);
        } else if replaces(next.key, best.key) {
            best = next;
        }
    }
//# end
    return best;
//# end
//# end
}

// What is known of a word of small results.
struct Word {
    bits: u32,
    mask: u32,
}

fn finish_row(row: u32, best: Winner, word: Word) -> Word {
    if OUT < 5u {
        emit(row, Best(best.key, placed(best.at)));
        return word;
    }
    let place = row + P.dst_delta % per_word();
    let j = place % per_word();
    let bits = word.bits | lane_bits(pack(element(best.key)).x, j);
    let mask = word.mask | lane_mask(j);
    if j + 1u < per_word() && row + 1u < P.items {
        return Word(bits, mask);
    }
    write_word(place / per_word(), bits, mask);
    return Word(0u, 0u);
}

@compute @workgroup_size(WG)
fn short_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let vecs = P.len / E;
    let last = vecs - 1u;
    // The rows of whole words of results.
    let skip = P.dst_delta % per_word();
    let place = (linear(group) * WG + lid) * P.slice;
    let begin = max(place, skip) - skip;
    let end = min(place + P.slice, P.items + skip) - skip;
    var first = P.src_delta / E + begin * vecs;
    var word = Word(0u, 0u);
//# if COARSENED
    for (var row = begin; row < end; row++) {
        word = finish_row(row, row_best(first, last), word);
        first += vecs;
    }
//# else
    if begin < end {
        word = finish_row(begin, row_best(first, last), word);
    }
//# end
}
