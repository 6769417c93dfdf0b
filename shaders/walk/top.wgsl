// Top: a workgroup takes a part of a segment, {HELD} elements an invocation, and leaves the P.entries best of them in order. What
// groups of invocations have at best gives a floor: the best of the groups hold as many elements as are wanted, so that no worse
// element counts. Those that reach it are listed, and sorted. Where more reach it than a list holds (many
// equal elements, or as many wanted), a border between them is found bit by bit: at equal cost, whatever the elements.
override WG: u32;
override LIST: u32; // entries that a list holds, a power of two

const NONE: u32 = 0xffffffffu;

// Rounds of the search: bits of a key, and of a number in the part.
const ROUNDS: u32 = {BITS + NUMBER_BITS}u;

var<workgroup> wg_best: array<Key, WG>; // of each group
var<workgroup> wg_floor: Key;
// Elements that reach the floor; those beyond it, those before the border, and the counts of all rounds.
var<workgroup> wg_counts: array<atomic<u32>, {BITS + NUMBER_BITS + 3}>;
var<workgroup> wg_shared: u32; // what all invocations are to know
var<workgroup> wg_keys: array<Key, LIST>;
var<workgroup> wg_numbers: array<u32, LIST>;

// A key, and a number in the part: of equal keys the lower number comes first. Numbers beyond the part are no elements: PAD.
struct Entry {
    key: Key,
    number: u32,
}

fn before(a: Entry, b: Entry) -> bool {
    return less(a.key, b.key) | (same(a.key, b.key) & (a.number < b.number));
}

// With the bit of a round, the highest first.
fn with_bit_of(b: Entry, round: u32) -> Entry {
    var place = b;
    if round >= {BITS}u {
        place.number |= {HALF}u >> (round - {BITS}u);
    } else {
//# if BITS == 64
        let bit = 0x80000000u >> (round % 32u);
        place.key |= select(vec2<u32>(bit, 0u), vec2<u32>(0u, bit), round < 32u);
//# else
        place.key |= 0x80000000u >> round;
//# end
    }
    return place;
}

// Brings two entries of the list in order.
fn exchange(i: u32, j: u32) {
    let a = Entry(wg_keys[i], wg_numbers[i]);
    let b = Entry(wg_keys[j], wg_numbers[j]);
    if before(b, a) {
        wg_keys[i] = b.key;
        wg_numbers[i] = b.number;
        wg_keys[j] = a.key;
        wg_numbers[j] = a.number;
    }
}

@compute @workgroup_size(WG)
fn top(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group);
    // All invocations of a workgroup are of one item.
    if item >= P.items {
        return;
    }
    for (var i = lid; i < ROUNDS + 3u; i += WG) {
        atomicStore(&wg_counts[i], 0u);
    }
    let output = item / P.slices;
    let part = item - output * P.slices;
    let start = segment(output);
    let first = part * P.slice;
    let count = min(P.slice, P.len - first);
    let begin = start + first * P.stride;
    let own_begin = begin + lid * P.stride;
//# for i in 0..HELD
    let n{i} = lid + {i}u * WG;
    let there{i} = n{i} < count;
    let v{i} = raw(select(begin, own_begin + {i}u * WG * P.stride, there{i}));
//# end
//# for i in 0..HELD
    let p{i} = Entry(select(PAD, canonical(key(v{i})), there{i}), n{i});
//# end
    var own = p0.key;
//# for i in 1..HELD
    own = combined(own, p{i}.key);
//# end
    wg_best[lid] = own;
    if lid == 0u {
        wg_floor = PAD;
    }
    workgroupBarrier();
    // A power of two: nobody reads what another one writes.
    if lid < P.groups {
        for (var i = lid + P.groups; i < WG; i += P.groups) {
            own = combined(own, wg_best[i]);
        }
        wg_best[lid] = own;
    }
    workgroupBarrier();
    if lid < P.groups {
        var rank = 0u;
        for (var i = 0u; i < P.groups; i++) {
            rank += select(0u, 1u, before(Entry(wg_best[i], i), Entry(own, lid)));
        }
        // Where more elements are wanted than there are groups, none has this rank.
        if rank == P.entries - 1u {
            wg_floor = own;
        }
    }
    workgroupBarrier();
    let floor = wg_floor;
    // Bit i: the invocation's element i is to be listed.
    var mask = 0u;
//# for i in 0..HELD
    mask |= select((1u << {i}u), 0u, less(floor, p{i}.key));
//# end
    var slot = 0u;
    if mask != 0u {
        slot = atomicAdd(&wg_counts[0], countOneBits(mask));
    }
    workgroupBarrier();
    if lid == 0u {
        wg_shared = atomicLoad(&wg_counts[0]);
    }
    var listed = workgroupUniformLoad(&wg_shared);
    if listed > LIST {
        var beyond = 0u;
//# for i in 0..HELD
        beyond += select(0u, 1u, less(p{i}.key, floor));
//# end
        if beyond > 0u {
            atomicAdd(&wg_counts[1], beyond);
        }
        workgroupBarrier();
        if lid == 0u {
            // Where elements at the floor alone are too many, it is known which keys count.
            wg_shared = select(0u, {BITS}u, atomicLoad(&wg_counts[1]) <= P.entries);
        }
        let first_round = workgroupUniformLoad(&wg_shared);
        // The greatest entry before which no more than P.entries elements are.
        var border = Entry(select(Key(0u), floor, first_round > 0u), 0u);
        for (var round = first_round; round < ROUNDS; round++) {
            let higher = with_bit_of(border, round);
            var own_before = 0u;
//# for i in 0..HELD
            own_before += select(0u, 1u, before(p{i}, higher));
//# end
            if own_before > 0u {
                atomicAdd(&wg_counts[3u + round], own_before);
            }
            workgroupBarrier();
            if atomicLoad(&wg_counts[3u + round]) <= P.entries {
                border = higher;
            }
        }
        mask = 0u;
//# for i in 0..HELD
        mask |= select(0u, (1u << {i}u), before(p{i}, border));
//# end
        if mask != 0u {
            slot = atomicAdd(&wg_counts[2], countOneBits(mask));
        }
        listed = P.entries;
    }
    // In any order.
    if mask != 0u {
//# for i in 0..HELD
        if (mask & (1u << {i}u)) != 0u {
            wg_keys[slot] = p{i}.key;
            wg_numbers[slot] = p{i}.number;
            slot++;
        }
//# end
    }
    // The places behind the entries hold entries after all others.
    let last = listed - 1u;
    let half = (1u << (32u - countLeadingZeros(last))) / 2u;
    for (var i = last + 1u + lid; i < 2u * half; i += WG) {
        wg_keys[i] = PAD;
        wg_numbers[i] = NONE;
    }
    workgroupBarrier();
    // A bitonic sorter, all of whose exchanges leave the better entry at the lower place.
    for (var size = 1u; size <= half; size *= 2u) {
        for (var apart = size; apart > 0u; apart /= 2u) {
            for (var n = lid; n < half; n += WG) {
                let i = n / apart * 2u * apart + n % apart;
                exchange(i, select(i + apart, i ^ (2u * size - 1u), apart == size));
            }
            workgroupBarrier();
        }
    }
    for (var i = lid; i < P.entries; i += WG) {
        leave(output, part, i, wg_keys[i], first + wg_numbers[i], start);
    }
}
