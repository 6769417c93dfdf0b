// Strided: an invocation takes a part of a segment of a view, element by element, whatever the
// strides; or a word of outputs, if their segments are whole.
override WG: u32;
override RAW: u32; // 1: the element's bits as they are

fn reduced(o: u32, part: u32) -> Acc {
    let start = segment(o);
    let end = part_end(part);
    let begin = part_begin(part);
    var a = acc_none(begin);
    for (var i = begin; i < end; i += P.step) {
        a = acc_take(a, raw(start + along(P.kept_dims, P.dims, i)), i);
    }
    return a;
}

// The value of output o, at the top of the word.
fn value(o: u32) -> u32 {
    if RAW != 0u {
        return pack(raw(segment(o))).x;
    }
    return pack(acc_element(reduced(o, 0u))).x;
}

@compute @workgroup_size(WG)
fn strided(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let w = linear(group) * WG + lid;
    if OUT < 5u {
        if w < P.items {
            if RAW != 0u {
                write_bits(w, pack(raw(segment(w))));
            } else {
                let p = part_of(w);
                // A shorter window has fewer parts.
                if part_begin(p.part) < P.len {
                    acc_emit(w, reduced(p.output, p.part));
                }
            }
        }
        return;
    }
    write_values(w);
}
