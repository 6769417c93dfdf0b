// Strided: an invocation takes a part of a segment, element by element, wherever the elements are; or a word of
// outputs, if their segments are whole. For views, and for segments that no other walk takes.

fn reduced(p: Part) -> Placed {
    let start = segment(p.output);
//# if EXACT
    return acc_of(Elements(start, p.begin, part_step(), (p.end - p.begin + part_step() - 1u) / part_step()));
//# else
//# if BOTH
    var a = placed_of(PAD, 0u, false);
    for (var i = p.begin; i < p.end; i += part_step()) {
        a = acc_join(a, placed_of(key_ceiled(raw(start + offset_of(i))), i, true));
    }
    return a;
//# else
    var a = acc_none();
    for (var i = p.begin; i < p.end; i += part_step()) {
        a = acc_take(a, key(raw(start + offset_of(i))), i);
    }
    return acc_placed(a, Frame());
//# end
//# end
}
//# if PARTIAL + PARTIAL_SUM == 0

// The value of output o, at the top of the word.
fn value(o: u32) -> u32 {
    return pack(acc_element(reduced(part_of(o)))).x;
}
//# end

fn take(w: u32) {
//# if PARTIAL + PARTIAL_SUM == 0
    if OUT >= 5u {
        write_values(w);
        return;
    }
//# end
    if w < P.items {
        let p = part_of(w);
        if p.begin < P.len {
            acc_emit(w, reduced(p));
        }
    }
}

@compute @workgroup_size(WG)
fn strided(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
//# if COARSENED
    for (var i = 0u; i < P.coarsening; i++) {
        take(item * P.coarsening + i);
    }
//# else
    take(item);
//# end
}
