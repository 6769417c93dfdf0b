// Merge: P.group neighbouring lists of an output, each in order, become one of their P.best first entries. An invocation takes an
// entry and counts those before it. Of one list those of some ranks become results.

@group(0) @binding(1) var<storage, {READ}> src: array<Record>;

fn entry(list: u32, i: u32) -> Best {
    return best_of(src[P.src_delta + list * P.entries + i]);
}

// How many entries of a list come before one; of entries alike, those of lists before its own.
fn count_before(list: u32, own: Best, is_before: bool) -> u32 {
    var low = 0u;
    var high = P.entries;
    while low < high {
        let middle = (low + high) / 2u;
        let e = entry(list, middle);
        if better(e, own) | (is_before & !better(own, e)) {
            low = middle + 1u;
        } else {
            high = middle;
        }
    }
    return low;
}

@compute @workgroup_size(WG)
fn merge(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let id = linear(group) * WG + lid;
    if id >= P.items {
        return;
    }
    let number = P.first_rank + id % P.taken;
    let list = id / P.taken % P.group;
    let merged = id / P.taken / P.group;
    let output = merged / P.groups;
    let first = merged % P.groups * P.group;
    let lists = min(P.group, P.lists - first);
    // Lists that the last group lacks have nothing but entries after all others.
    var own = Best(PAD, nowhere());
    var rank = list * P.entries + number;
    if list < lists {
        own = entry(output * P.lists + first + list, number);
        rank = number;
        for (var i = 0u; i < lists; i++) {
            if i != list {
                rank += count_before(output * P.lists + first + i, own, i < list);
            }
        }
    }
    if rank < P.best {
//# if PARTIAL
        dst[P.dst_delta + merged * P.best + rank] = record_of(own);
//# else
        let at = result_at(output, rank);
        if at < P.results {
            write_bits(at, own.index);
        }
//# end
    }
}
