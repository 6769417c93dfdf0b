// Top: a workgroup takes a part of a segment, {HELD} elements an invocation, and leaves the P.entries best of them in order. What
// groups of invocations have at best gives a floor: the best of the groups hold as many elements as are wanted, so that no worse
// element counts. Those that reach it are listed, and sorted. Where more reach it than a list holds (many equal elements, or as
// many wanted), a border between them is found bit by bit: at equal cost, whatever the elements.
//
// An invocation holds planes of keys (vec32.wgsl, vec64.wgsl), of vec4 that it reads or of {PLANE} elements that are WG apart.
const LIST: u32 = {LIST}u; // entries that a list holds, a power of two

// Beyond all numbers in the part.
const NONE: u32 = {2 * HALF}u;

// Rounds of the search: bits of a key, and of a number in the part.
const ROUNDS: u32 = {BITS + NUMBER_BITS}u;

var<workgroup> wg_best: array<Key, WG>; // of each group
var<workgroup> wg_floor: Key;
// Elements that reach the floor, those before the border, those beyond the floor, and the counts of all rounds.
var<workgroup> wg_counts: array<atomic<u32>, {BITS + NUMBER_BITS + 3}>;
var<workgroup> wg_shared: u32; // what all invocations are to know
var<workgroup> wg_keys: array<Key, LIST>;
var<workgroup> wg_numbers: array<u32, LIST>;

// A key, and a number in the part: of equal keys the lower number comes first.
struct Entry {
    key: Key,
    number: u32,
}

fn before(a: Entry, b: Entry) -> bool {
    return less(a.key, b.key) | (same(a.key, b.key) & (a.number < b.number));
}

// How far plane q is from the first one, in elements of the part.
fn ahead_of(q: u32) -> u32 {
    return q / {EACH}u * {TAKEN}u * WG + q % {EACH}u;
}

// Which elements of a plane, so many ahead of these numbers, come before an entry.
fn plane_before(p: Plane, numbers: Places, ahead: u32, b: Entry) -> Mask {
    return plane_less(p, Plane(b.key)) | (plane_same(p, Plane(b.key)) & is_below(numbers, ahead, b.number));
}

//# if BITS == 64
// The numbers of the first plane's elements.
fn numbers_of(first: u32, step: u32) -> Places {
    return first;
}

// Which elements, so many ahead of these numbers, have lower numbers.
fn is_below(numbers: Places, ahead: u32, number: u32) -> Mask {
    return i32(numbers) < i32(number - ahead);
}

fn plane_best(p: Plane) -> Key {
    return p;
}

// A bit for each element.
fn bits_of(m: Mask) -> u32 {
    return select(0u, 1u, m);
}
//# else
fn numbers_of(first: u32, step: u32) -> Places {
    return vec4<u32>(first) + vec4<u32>(0u, step, 2u * step, 3u * step);
}

fn is_below(numbers: Places, ahead: u32, number: u32) -> Mask {
    return vec4<i32>(numbers) < vec4<i32>(i32(number - ahead));
}

fn plane_best(p: Plane) -> Key {
    return combined(combined(p.x, p.y), combined(p.z, p.w));
}

fn bits_of(m: Mask) -> u32 {
    let bits = select(vec4<u32>(0u), vec4<u32>(1u, 2u, 4u, 8u), m);
    return bits.x | bits.y | bits.z | bits.w;
}
//# end

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
//# if UNITS
    let numbers = numbers_of(lid * PER, {PLANES}u);
//# else
    let numbers = numbers_of(lid, WG);
//# end
//# for i in 0..LOADS
//# if UNITS
    let at{i} = lid + {i}u * WG;
    let there{i} = at{i} * PER < count;
    let v{i} = unit(begin / PER + select(0u, at{i}, there{i}));
//# else
//# for c in 0..PLANE
    let at{i * PLANE + c} = lid + {i * PLANE + c}u * WG;
    let v{i * PLANE + c} = raw(begin + select(0u, at{i * PLANE + c}, at{i * PLANE + c} < count) * P.stride);
//# end
    let there{i} = at{i * PLANE} < count;
//# end
//# end
//# for i in 0..LOADS
//# if UNITS
    let k{i} = unit_keys(v{i});
//# for j in 0..PLANES
    var p{i * PLANES + j} = k{i}.p{j};
//# end
    var bests{i} = p{i * PLANES};
//# for j in 1..PLANES
    bests{i} = plane_combined(bests{i}, p{i * PLANES + j});
//# end
//# else
//# if BITS == 64
    var p{i} = key(v{i});
//# else
    var p{i} = key4(vec4<u32>(v{i * 4}, v{i * 4 + 1}, v{i * 4 + 2}, v{i * 4 + 3}));
//# end
    let bests{i} = select(Plane(PAD), p{i}, is_below(numbers, ahead_of({i}u), count));
//# end
    let best{i} = select(PAD, canonical(plane_best(bests{i})), there{i});
//# end
    var own = best0;
//# for i in 1..LOADS
    own = combined(own, best{i});
//# end
    wg_best[lid] = own;
    if lid == 0u {
        wg_floor = PAD;
    }
    workgroupBarrier();
    // A power of two: nobody reads what another one writes.
    var group_best = own;
    if lid < P.groups {
        for (var i = lid + P.groups; i < WG; i += P.groups) {
            group_best = combined(group_best, wg_best[i]);
        }
        wg_best[lid] = group_best;
    }
    workgroupBarrier();
    if lid < P.groups {
        var rank = 0u;
        for (var i = 0u; i < P.groups; i++) {
            rank += select(0u, 1u, before(Entry(wg_best[i], i), Entry(group_best, lid)));
        }
        // Where more elements are wanted than there are groups, none has this rank.
        if rank == P.entries - 1u {
            wg_floor = group_best;
        }
    }
    workgroupBarrier();
    let floor = wg_floor;
    // Those before the border are listed: at first all that reach the floor.
    var border = Entry(floor, NONE);
    // A bit for each element of the invocation.
//# for w in 0..MASKS
    var mask{w} = 0u;
//# end
    var slot = 0u;
    var listed = 0u;
    for (var searched = 0u; searched < 2u; searched++) {
//# for w in 0..MASKS
        mask{w} = 0u;
//# end
        if !less(border.key, own) {
//# for i in 0..LOADS
            if there{i} & !less(border.key, best{i}) {
//# for q in i * EACH..(i + 1) * EACH
                mask{q * PLANE / 32} |= bits_of(plane_before(plane_canonical(p{q}), numbers, ahead_of({q}u), border) & is_below(numbers, ahead_of({q}u), count)) << {q * PLANE % 32}u;
//# end
            }
//# end
        }
        let mine = (
//# for w in 0..MASKS
            countOneBits(mask{w}) +
//# end
            0u
        );
        if mine > 0u {
            slot = atomicAdd(&wg_counts[searched], mine);
        }
        workgroupBarrier();
        if lid == 0u {
            wg_shared = atomicLoad(&wg_counts[searched]);
        }
        listed = workgroupUniformLoad(&wg_shared);
        if listed <= LIST {
            break;
        }
        var beyond = 0u;
//# for q in 0..HELD / PLANE
        p{q} = select(Plane(PAD), plane_canonical(p{q}), is_below(numbers, ahead_of({q}u), count));
        beyond += countOneBits(bits_of(plane_less(p{q}, Plane(floor))));
//# end
        if beyond > 0u {
            atomicAdd(&wg_counts[2], beyond);
        }
        workgroupBarrier();
        if lid == 0u {
            // Where elements at the floor alone are too many, it is known which keys count.
            wg_shared = select(0u, {BITS}u, atomicLoad(&wg_counts[2]) <= P.entries);
        }
        let first_round = workgroupUniformLoad(&wg_shared);
        // The greatest entry before which no more than P.entries elements are.
        border = Entry(select(Key(0u), floor, first_round > 0u), 0u);
        for (var round = first_round; round < ROUNDS; round++) {
            let higher = with_bit_of(border, round);
            var own_before = 0u;
//# for q in 0..HELD / PLANE
            own_before += countOneBits(bits_of(plane_before(p{q}, numbers, ahead_of({q}u), higher)));
//# end
            if own_before > 0u {
                atomicAdd(&wg_counts[3u + round], own_before);
            }
            workgroupBarrier();
            if atomicLoad(&wg_counts[3u + round]) <= P.entries {
                border = higher;
            }
        }
    }
    // In any order.
//# for w in 0..MASKS
    if mask{w} != 0u {
//# for q in w * HELD / MASKS / PLANE..(w + 1) * HELD / MASKS / PLANE
        if (mask{w} & ({PLANE_BITS}u << {q * PLANE % 32}u)) != 0u {
//# for c in 0..PLANE
            if (mask{w} & (1u << {(q * PLANE + c) % 32}u)) != 0u {
                wg_keys[slot] = canonical(plane_key(p{q}, {c}u));
                wg_numbers[slot] = plane_place(numbers, {c}u) + ahead_of({q}u);
                slot++;
            }
//# end
        }
//# end
    }
//# end
    // The places behind the entries hold entries after all others. A short part may have fewer than are wanted.
    let last = max(listed, P.entries) - 1u;
    let half = (1u << (32u - countLeadingZeros(last))) / 2u;
    for (var i = listed + lid; i < max(2u * half, 1u); i += WG) {
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
