// Strided: an invocation takes a part of a segment, element by element, wherever the elements are; or a word of
// outputs, if their segments are whole. For views, and for segments that no other walk takes.
override WG: u32;
override RAW: u32; // 1: the element's bits as they are

fn reduced(o: u32, part: u32) -> Acc {
    let start = segment(o);
    let end = part_end(part);
    let begin = part_begin(part);
//# if EXACT
    return acc_of(Elements(start, begin, part_step(), (end - begin + part_step() - 1u) / part_step()));
//# else
    var a = acc_none();
    for (var i = begin; i < end; i += part_step()) {
        a = acc_take(a, raw(start + offset_of(i)), i);
    }
    return a;
//# end
}
//# if PARTIAL + PARTIAL_SUM == 0

// The value of output o, at the top of the word.
fn value(o: u32) -> u32 {
    if RAW != 0u {
        return pack(raw(segment(o))).x;
    }
    return pack(acc_element(reduced(o, 0u))).x;
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
//# if PARTIAL + PARTIAL_SUM == 0
        if RAW != 0u {
            write_bits(w, pack(raw(segment(w))));
            return;
        }
//# end
        let p = part_of(w);
        // A shorter window has fewer parts.
        if part_begin(p.part) < P.len {
            acc_emit(w, reduced(p.output, p.part));
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
