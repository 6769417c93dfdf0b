// The best of each column of a unit, a plane at a time. An index compares canonical keys, in which zeros tie; a value
// compares keys as they come.
struct Bests {
    key: Plane, // PACKED: for an index with the row below, until acc_placed
    at: Places,
}

struct Acc {
//# for j in 0..PLANES
    p{j}: Bests,
//# end
}

fn acc_none() -> Acc {
    return Acc(
//# for j in 0..PLANES
        Bests(Plane(PAD), Places()),
//# end
    );
}

// Takes the keys of row t of the slice, after those of all other rows. A row may be taken again if those after it are.
fn acc_take(a: Acc, k: Keys, t: u32) -> Acc {
    return Acc(
//# for j in 0..PLANES
        bests_taken(a.p{j}, k.p{j}, t),
//# end
    );
}

fn bests_taken(b: Bests, k: Plane, t: u32) -> Bests {
//# if TERMS
    return Bests(plane_combined(b.key, k), b.at);
//# else
    if INDEX == 0u {
        return Bests(plane_combined(b.key, k), b.at);
    }
    let key = plane_canonical(k);
//# if PACKED
    return Bests(min(b.key, key | Plane(packed_row(t))), b.at);
//# else
    if LAST != 0u {
        let stays = plane_less(b.key, key);
        return Bests(select(key, b.key, stays), select(Places(t), b.at, stays));
    }
    let wins = plane_less(key, b.key);
    return Bests(select(b.key, key, wins), select(b.at, Places(t), wins));
//# end
//# end
}
//# if PACKED

// A row of a slice below a key: of equal keys, the preferred row makes the least word. It is less than PAD.
fn packed_row(t: u32) -> u32 {
    return select(t, ~KEEP - 1u - t, LAST != 0u);
}
//# end

// The canonical keys, with rows of the matrix: `first` is the slice's first, `step` leads to the next.
fn acc_placed(a: Acc, first: u32, step: u32) -> Acc {
    return Acc(
//# for j in 0..PLANES
        bests_placed(a.p{j}, first, step),
//# end
    );
}

fn bests_placed(b: Bests, first: u32, step: u32) -> Bests {
    let key = plane_canonical(b.key);
//# if PACKED
    let below = b.key & Plane(~KEEP);
    let t = select(below, Plane(~KEEP - 1u) - below, LAST != 0u);
//# else
    let t = b.at;
//# end
    return Bests(key, Places(first) + t * step);
}
//# if SHARED

var<workgroup> wg_key: array<Plane, WG>;
var<workgroup> wg_at: array<Places, WG>;

// The best of the slices of a workgroup, for those of the first one.
fn acc_across(own: Acc, lid: u32) -> Acc {
    var a = own;
//# for j in 0..PLANES
    a.p{j} = bests_across(a.p{j}, lid);
//# end
    return a;
}

fn bests_across(own: Bests, lid: u32) -> Bests {
    var b = own;
    workgroupBarrier();
    wg_key[lid] = b.key;
    wg_at[lid] = b.at;
    for (var slices = P.team; slices > 1u; slices = (slices + 1u) / 2u) {
        let half = (slices + 1u) / 2u;
        let other = lid + half * P.width;
        workgroupBarrier();
        if other < slices * P.width {
            b = bests_joined(b, Bests(wg_key[other], wg_at[other]));
            wg_key[lid] = b.key;
            wg_at[lid] = b.at;
        }
    }
    return b;
}

fn bests_joined(a: Bests, b: Bests) -> Bests {
//# if TERMS
    return Bests(plane_combined(a.key, b.key), a.at);
//# else
    let tie = select(b.at < a.at, b.at > a.at, LAST != 0u);
    let wins = plane_less(b.key, a.key) | (plane_same(b.key, a.key) & tie);
    return Bests(select(a.key, b.key, wins), select(a.at, b.at, wins));
//# end
}
//# end

// Writes the results of a unit whose first column is `column` of its wide row. `slot`: its place in what is written.
//# if PARTIAL
fn acc_emit(slot: u32, column: u32, a: Acc) {
    // Joined rows lie side by side.
    var row = column / P.inner;
    var left = P.inner - (column - row * P.inner);
//# for i in 0..UNIT * 32 / BITS
//# if BITS == 64
    emit(slot + {i}u, Best(a.p{i}.key, placed(a.p{i}.at * P.step + row)));
//# else
    emit(slot + {i}u, Best(a.p{i % PLANES}.key[{i / PLANES}u], placed(a.p{i % PLANES}.at[{i / PLANES}u] * P.step + row)));
//# end
    left -= 1u;
    row += select(0u, 1u, left == 0u);
    left = select(left, P.inner, left == 0u);
//# end
}
//# else

fn acc_keys(a: Acc) -> Keys {
    return Keys(
//# for j in 0..PLANES
        a.p{j}.key,
//# end
    );
}
//# if DST_VECS
//# if BITS == 64
fn acc_emit(slot: u32, column: u32, a: Acc) {
    let at = (P.dst_delta + slot) / 2u;
    if INDEX == 0u {
        dst[at] = words_of(acc_keys(a));
    } else {
        dst[at] = vec4<u32>(a.p0.at, 0u, a.p1.at, 0u);
    }
}
//# else
fn acc_emit(slot: u32, column: u32, a: Acc) {
    if INDEX == 0u {
        dst[(P.dst_delta + slot) / E] = words_of(acc_keys(a));
        return;
    }
//# for q in 0..PLANES
    emit_four(slot + {4 * q}u, vec4<u32>(
//# for i in 4 * q..4 * q + 4
        a.p{i % PLANES}.at[{i / PLANES}u],
//# end
    ));
//# end
}

fn emit_four(slot: u32, rows: vec4<u32>) {
    let at = P.dst_delta + slot;
    if OUT == 1u {
        dst[at / 2u] = vec4<u32>(rows.x, 0u, rows.y, 0u);
        dst[at / 2u + 1u] = vec4<u32>(rows.z, 0u, rows.w, 0u);
    } else {
        dst[at / 4u] = rows;
    }
}
//# end
//# else
fn acc_emit(slot: u32, column: u32, a: Acc) {
    if INDEX == 0u {
        let bits = words_of(acc_keys(a));
        let at = word_of(P.dst_delta + slot);
//# for w in 0..UNIT
        dst[at + {w}u] = bits[{w}u];
//# end
        return;
    }
//# for i in 0..UNIT * 32 / BITS
//# if BITS == 64
    write_bits(slot + {i}u, vec2<u32>(a.p{i}.at, 0u));
//# else
    write_bits(slot + {i}u, vec2<u32>(a.p{i % PLANES}.at[{i / PLANES}u], 0u));
//# end
//# end
}
//# end
//# end
