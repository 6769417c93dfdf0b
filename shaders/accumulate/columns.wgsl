// Accumulators of the columns of a unit. A plane of columns is taken together, by vec4 where it is four elements.
//
//   acc_none()                    nothing
//   acc_take(acc, unit, t)        and the unit of row t of a slice, in order; a row may be taken twice, if all after it are
//   acc_placed(acc, first, step)  with rows of the matrix: `first` is the slice's first, `step` leads to the next
//   acc_across(lid, acc)          the join of the slices of a workgroup, for those of the first one
//   acc_emit(slot, column, acc)   writes the results of the unit that begins with `column` of its wide row

//# if INDEX == 0
// The least key, or the sum of terms.
alias Bests = Plane;

fn bests_none() -> Bests {
    return Plane(PAD);
}

fn bests_taken(b: Bests, k: Plane, t: u32) -> Bests {
    return plane_combined(b, k);
}

fn bests_placed(b: Bests, first: u32, step: u32) -> Bests {
    return plane_canonical(b);
}

fn bests_key(b: Bests) -> Plane {
    return b;
}

fn bests_at(b: Bests) -> Places {
    return Places(0u);
}
//# else
struct Bests {
    key: Plane, // below 32 bits with the row below it, until acc_placed
    at: Places,
}

fn bests_none() -> Bests {
    return Bests(Plane(PAD), Places(0u));
}

fn bests_key(b: Bests) -> Plane {
    return b.key;
}

fn bests_at(b: Bests) -> Places {
    return b.at;
}
//# if BITS < 32

// A row as it is packed below a key, and back: of equal keys, the preferred row makes the least word.
fn row_below(t: Places) -> Places {
    return select(t, Places(~KEEP) - t, LAST != 0u);
}

fn bests_taken(b: Bests, k: Plane, t: u32) -> Bests {
    return Bests(min(b.key, k | row_below(Places(t))), b.at);
}

fn bests_placed(b: Bests, first: u32, step: u32) -> Bests {
    return Bests(b.key & Plane(KEEP), Places(first) + row_below(b.key & Plane(~KEEP)) * step);
}
//# else

fn bests_taken(b: Bests, key: Plane, t: u32) -> Bests {
    if LAST != 0u {
        let stays = plane_less(b.key, key);
        return Bests(select(key, b.key, stays), select(Places(t), b.at, stays));
    }
    let wins = plane_less(key, b.key);
    return Bests(select(b.key, key, wins), select(b.at, Places(t), wins));
}

fn bests_placed(b: Bests, first: u32, step: u32) -> Bests {
    return Bests(b.key, Places(first) + b.at * step);
}
//# end
//# end

// Of both extremes each plane has two.
struct Acc {
//# for j in 0..PLANES
//# for s in 0..1 + BOTH
    p{j}_{s}: Bests,
//# end
//# end
//# if SIGNS
    signs: Signs,
//# end
}

fn acc_none() -> Acc {
    return Acc(
//# for j in 0..PLANES
//# for s in 0..1 + BOTH
        bests_none(),
//# end
//# end
//# if SIGNS
        signs_none(),
//# end
    );
}

fn acc_take(a: Acc, v: vec4<u32>, t: u32) -> Acc {
    let k = keys_of(v);
//# for j in 0..PLANES
//# if INDEX
    let k{j}_0 = plane_canonical(k.p{j});
//# else
    let k{j}_0 = k.p{j};
//# end
//# if BOTH
    let k{j}_1 = plane_turned(k{j}_0);
//# end
//# end
    return Acc(
//# for j in 0..PLANES
//# for s in 0..1 + BOTH
        bests_taken(a.p{j}_{s}, k{j}_{s}, t),
//# end
//# end
//# if SIGNS
        signs_with(a.signs, v, vec4<u32>(0u)),
//# end
    );
}

fn acc_placed(a: Acc, first: u32, step: u32) -> Acc {
    return Acc(
//# for j in 0..PLANES
//# for s in 0..1 + BOTH
        bests_placed(a.p{j}_{s}, first, step),
//# end
//# end
//# if SIGNS
        a.signs,
//# end
    );
}
//# if SHARED

var<workgroup> wg_bests: array<Bests, WG>;

fn acc_across(lid: u32, a: Acc) -> Acc {
    return Acc(
//# for j in 0..PLANES
//# for s in 0..1 + BOTH
        bests_across(a.p{j}_{s}, lid),
//# end
//# end
//# if SIGNS
        signs_across(a.signs, lid),
//# end
    );
}

fn bests_across(own: Bests, lid: u32) -> Bests {
    var b = own;
    workgroupBarrier();
    wg_bests[lid] = b;
    for (var slices = P.team; slices > 1u; slices = (slices + 1u) / 2u) {
        let other = lid + (slices + 1u) / 2u * P.abreast;
        workgroupBarrier();
        if other < slices * P.abreast {
            b = bests_joined(b, wg_bests[other]);
            wg_bests[lid] = b;
        }
    }
    return b;
}

fn bests_joined(a: Bests, b: Bests) -> Bests {
//# if INDEX == 0
    return plane_combined(a, b);
//# else
    let nearer = select((b.at < a.at), (b.at > a.at), Mask(LAST != 0u));
    let wins = plane_less(b.key, a.key) | (plane_same(b.key, a.key) & nearer);
    return Bests(select(a.key, b.key, wins), select(a.at, b.at, wins));
//# end
}
//# if SIGNS

var<workgroup> wg_signs: array<Signs, WG>;

fn signs_across(own: Signs, lid: u32) -> Signs {
    var s = own;
    wg_signs[lid] = s;
    for (var slices = P.team; slices > 1u; slices = (slices + 1u) / 2u) {
        let other = lid + (slices + 1u) / 2u * P.abreast;
        workgroupBarrier();
        if other < slices * P.abreast {
            s = Signs(s.any | wg_signs[other].any, s.all & wg_signs[other].all);
            wg_signs[lid] = s;
        }
    }
    return s;
}
//# end
//# end

// The keys and rows of the columns of a unit, one by one.
//# for i in 0..UNIT * 32 / BITS
fn key_of_{i}(b: Bests) -> Key {
//# if BITS == 64
    return bests_key(b);
//# else
    return bests_key(b)[{i / PLANES}u];
//# end
}

fn row_of_{i}(b: Bests) -> u32 {
//# if BITS == 64
    return bests_at(b);
//# else
    return bests_at(b)[{i / PLANES}u];
//# end
}
//# end

//# if PARTIAL
//# for i in 0..UNIT * 32 / BITS
fn emit_{i}(slot: u32, a: Acc, row: u32) {
//# for s in 0..1 + BOTH
    let best{s} = Best(key_of_{i}(a.p{i % PLANES}_{s}), placed(row_of_{i}(a.p{i % PLANES}_{s}) * P.joined + row));
//# end
//# if BOTH
    var signs = vec2<u32>(0u);
//# if SIGNS
    // The sign of a column comes to the top.
//# if BITS == 64
    signs = vec2<u32>(a.signs.any[{2 * i + 1}u], a.signs.all[{2 * i + 1}u]);
//# else
    signs = vec2<u32>(a.signs.any[{i / PLANES}u], a.signs.all[{i / PLANES}u]) << vec2<u32>({(PLANES - 1 - i % PLANES) * BITS}u);
//# end
//# end
    leave(slot, best0, signs.x, false);
    leave(slot, best1, signs.y, true);
//# else
    emit(slot, best0);
//# end
}

//# end
//# end
fn acc_emit(slot: u32, column: u32, a: Acc) {
//# if PARTIAL
    // Joined rows lie side by side.
    var row = column / P.inner;
    var left = P.inner - (column - row * P.inner);
//# for i in 0..UNIT * 32 / BITS
    emit_{i}(slot + {i}u, a, row);
    left -= 1u;
    row += select(0u, 1u, left == 0u);
    left = select(left, P.inner, left == 0u);
//# end
//# else
//# if INDEX
    let at = P.dst_delta + slot;
//# if DST_VECS
//# if OUT == 1
//# for i in 0..UNIT * 16 / BITS
    dst[at / 2u + {i}u] = vec4<u32>(row_of_{2 * i}(a.p{(2 * i) % PLANES}_0), 0u, row_of_{2 * i + 1}(a.p{(2 * i + 1) % PLANES}_0), 0u);
//# end
//# else
//# for i in 0..UNIT * 8 / BITS
    dst[at / 4u + {i}u] = vec4<u32>(row_of_{4 * i}(a.p{(4 * i) % PLANES}_0), row_of_{4 * i + 1}(a.p{(4 * i + 1) % PLANES}_0), row_of_{4 * i + 2}(a.p{(4 * i + 2) % PLANES}_0), row_of_{4 * i + 3}(a.p{(4 * i + 3) % PLANES}_0));
//# end
//# end
//# else
//# for i in 0..UNIT * 32 / BITS
    write_bits(slot + {i}u, vec2<u32>(row_of_{i}(a.p{i % PLANES}_0), 0u));
//# end
//# end
//# else
    write_unit(slot, words_of(Keys(
//# for j in 0..PLANES
        bests_key(a.p{j}_0),
//# end
    )));
//# end
//# end
}
