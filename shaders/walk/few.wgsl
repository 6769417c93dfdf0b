// Few: an invocation takes a part of a segment and keeps its {ENTRIES} best elements in registers, in order. For short segments, and
// for columns, of which neighbouring invocations take neighbouring ones.

const NONE: u32 = 0xffffffffu; // the number of no element

struct List {
//# for j in 0..ENTRIES
    k{j}: Key,
    n{j}: u32,
//# end
}

// Elements come from the last to the first: of equal ones the later is before those that are there, which may be none.
fn list_with(list: List, k: Key, n: u32) -> List {
    var l = list;
    let b{ENTRIES - 1} = !less(l.k{ENTRIES - 1}, k);
    if b{ENTRIES - 1} {
//# for j in 0..ENTRIES - 1
        let b{j} = !less(l.k{j}, k);
//# end
//# for i in 1..ENTRIES
        l.k{ENTRIES - i} = select(select(l.k{ENTRIES - i}, k, b{ENTRIES - i}), l.k{ENTRIES - i - 1}, b{ENTRIES - i - 1});
        l.n{ENTRIES - i} = select(select(l.n{ENTRIES - i}, n, b{ENTRIES - i}), l.n{ENTRIES - i - 1}, b{ENTRIES - i - 1});
//# end
        l.k0 = select(l.k0, k, b0);
        l.n0 = select(l.n0, n, b0);
    }
    return l;
}

@compute @workgroup_size(WG)
fn few(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let part = item / P.outputs;
    let output = item - part * P.outputs;
    let start = segment(output);
    let end = min((part + 1u) * P.slice, P.len);
    var list: List;
//# for j in 0..ENTRIES
    list.k{j} = PAD;
    list.n{j} = NONE;
//# end
    let first = part * P.slice;
    for (var turns = (end - first + {LOADS - 1}u) / {LOADS}u; turns > 0u; turns--) {
        let n = first + (turns - 1u) * {LOADS}u;
//# if UNITS
//# for i in 0..LOADS / PER
        let w{i} = unit((start + n) / {PER}u + select(0u, {i}u, n + {i * PER}u < end));
//# end
//# for i in 0..LOADS / PER
        let k{i} = unit_keys(w{i});
//# for e in 0..PER
        var x{i * PER + e} = key_{e}(k{i});
//# end
//# end
//# else
//# for i in 0..LOADS
        let v{i} = raw(start + (n + select(0u, {i}u, n + {i}u < end)) * P.stride);
//# end
//# for i in 0..LOADS
        var x{i} = key(v{i});
//# end
//# end
        // Elements that are not there come after all others. Only the last part has any: the others are whole loads, so these
        // have numbers beyond the segment.
//# if ENTRIES > 4
        // A loop: the text of an element is long.
        for (var i = {LOADS}u; i > 0u; i--) {
            list = list_with(list, select(PAD, canonical(x{LOADS - 1}), n + i <= end), n + i - 1u);
//# for i in 1..LOADS
            x{LOADS - i} = x{LOADS - i - 1};
//# end
        }
//# else
//# for i in 0..LOADS
        list = list_with(list, select(PAD, canonical(x{LOADS - 1 - i}), n + {(LOADS - 1 - i) / PER * PER}u < end), n + {LOADS - 1 - i}u);
//# end
//# end
    }
//# for j in 0..ENTRIES
    leave(output, part, {j}u, list.k{j}, list.n{j}, start);
//# end
}
