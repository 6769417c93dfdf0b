// Gather: the elements that indices point to, as far as they lie in the box. INDEX_WORDS words
// an index; indices count from the segment's start, the box begins at base.
override WG: u32;
override INDEX_WORDS: u32;

@group(0) @binding(1) var<storage, read> indices: array<u32>;

// Where the element of output o lies in the box: its place, and whether it is there.
struct There {
    e: u32,
    yes: bool,
}

fn there(o: u32) -> There {
    let w = INDEX_WORDS * (P.slice + o); // P.slice: indices before the box in the binding
    let lo = indices[w];
    var hi = 0u;
    if INDEX_WORDS == 2u {
        hi = indices[w + 1u];
    }
    let i = lo - P.base_lo;
    let high = hi - P.base_hi - select(0u, 1u, lo < P.base_lo);
    let outer = o / P.inner;
    let e = P.src_delta + (outer * P.len + i) * P.inner + o - outer * P.inner;
    return There(e, high == 0u && i < P.len);
}

@compute @workgroup_size(WG)
fn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let w = linear(group) * WG + lid;
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
