// The elements that indices point to, as far as they lie in the window: what the gathers share.
// INDEX_WORDS words an index; indices count from the segment's start, the window begins at base.
override INDEX_WORDS: u32;

// Where an output's element lies: its place, and whether it is in the window.
struct There {
    e: u32,
    yes: bool,
}

// Index number n of the binding, as a place in the window's segment.
fn index_at(n: u32) -> There {
    let w = INDEX_WORDS * n;
    let lo = indices[w];
    var hi = 0u;
    if INDEX_WORDS == 2u {
        hi = indices[w + 1u];
    }
    let i = lo - P.base_lo;
    let high = hi - P.base_hi - select(0u, 1u, lo < P.base_lo);
    return There(i, high == 0u && i < P.len);
}

// Output word w, or what of it is there.
fn write_picked(w: u32) {
    if OUT < 5u {
        if w < P.items {
            let t = there(w);
            if t.yes {
                write_bits(w, pack(raw(t.e)));
            }
        }
        return;
    }
    var bits = 0u;
    var mask = 0u;
    for (var j = 0u; j < per_word(); j++) {
        let o = output_at(w, j);
        if o < P.items {
            let t = there(o);
            if t.yes {
                bits |= lane_bits(pack(raw(t.e)).x, j);
                mask |= lane_mask(j);
            }
        }
    }
    write_word(w, bits, mask);
}
