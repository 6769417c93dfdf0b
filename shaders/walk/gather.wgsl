// Gather: writes the elements that indices point to, if they lie in the window. An index has {INDEX_WORDS} words and
// counts from the segment's start; the window begins at P.base.

@group(0) @binding({INDICES}) var<storage, {READ}> indices: array<u32>;

// Where an output's element lies: its place, and whether it is in the window.
struct There {
    e: u32,
    yes: bool,
}

// Index number n of the binding, as a place in the window's segment.
fn index_at(n: u32) -> There {
    let lo = indices[{INDEX_WORDS}u * n];
//# if INDEX_WORDS == 2
    let hi = indices[2u * n + 1u];
//# else
    let hi = 0u;
//# end
    let i = lo - P.base_lo;
    let high = hi - P.base_hi - select(0u, 1u, lo < P.base_lo);
    return There(i, high == 0u && i < P.len);
}

fn there(o: u32) -> There {
//# if STRIDED
    let t = index_at(Z.starts[0].y + o);
    let distance = t.e * P.stride;
//# else
    let t = index_at(P.indices_delta + o);
    let distance = offset_of(t.e);
//# end
//# if BEST
    // P.best results of each output, P.inner apart; the window may begin and end within a row of outputs.
    let result = P.first_result + o;
    let output = result / (P.inner * P.best) * P.inner + result % P.inner - P.first_output;
    let yes = t.yes && output < P.outputs;
    return There(segment(min(output, P.outputs - 1u)) + distance, yes);
//# else
    return There(segment(o) + distance, t.yes);
//# end
}

// Writes the outputs of word w whose elements are in the window.
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
                mask |= lane_bits(WHOLE, j);
            }
        }
    }
    write_word(w, bits, mask);
}
