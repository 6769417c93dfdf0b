// Accumulators of the columns of a unit. A plane of columns is taken together, by vec4 where it is four elements.
//
//   acc_none()                    nothing
//   acc_take(acc, unit, t)        and the unit of row t of a slice, in order; a row may be taken twice, if all after it are.
//                                 Of both extremes the keys of {LOADS} units, from row t on
//   acc_placed(acc, first, step)  with rows of the matrix: `first` is the slice's first, `step` leads to the next
//   acc_across(lid, acc)          the join of the slices of a workgroup, for those of the first one
//   acc_emit(slot, column, acc)   writes the results of the unit that begins with `column` of its wide row

// One for each plane. Of both extremes those of the greatest follow.
struct Acc {
//# for n in 0..PLANES * (1 + BOTH)
    b{n}: Bests,
//# end
}

fn acc_none() -> Acc {
    return Acc(
//# for n in 0..PLANES * (1 + BOTH)
        bests_none(),
//# end
    );
}

//# if BOTH
fn acc_take(
    own: Acc,
//# for i in 0..LOADS
    k{i}: Keys,
//# end
    t: u32,
) -> Acc {
    var a = own;
//# for j in 0..PLANES
    a.b{j} = bests_taken(
        own.b{j},
//# for i in 0..LOADS
        k{i}.p{j},
//# end
        t,
    );
    a.b{PLANES + j} = bests_taken(
        own.b{PLANES + j},
//# for i in 0..LOADS
        plane_turned(k{i}.p{j}),
//# end
        t,
    );
//# end
    return a;
}
//# else
fn acc_take(own: Acc, v: vec4<u32>, t: u32) -> Acc {
    let k = keys_of(v);
    var a = own;
//# for j in 0..PLANES
    a.b{j} = bests_taken(own.b{j}, k.p{j}, t);
//# end
    return a;
}
//# end

fn acc_placed(own: Acc, first: u32, step: u32) -> Acc {
    var a = own;
//# for n in 0..PLANES * (1 + BOTH)
    a.b{n} = bests_placed(own.b{n}, first, step);
//# end
    return a;
}
//# if SHARED

var<workgroup> wg_bests: array<Bests, WG>;

fn acc_across(lid: u32, own: Acc) -> Acc {
    var a = own;
//# for n in 0..PLANES * (1 + BOTH)
    a.b{n} = bests_across(own.b{n}, lid);
//# end
    return a;
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
//# if BOTH
    let ours = plane_end(a.key);
    let theirs = plane_end(b.key);
    let wins = plane_less(theirs, ours) | (plane_same(theirs, ours) & nearer);
    return Bests(plane_combined(a.key, b.key), select(a.at, b.at, wins));
//# else
    let wins = plane_less(b.key, a.key) | (plane_same(b.key, a.key) & nearer);
    return Bests(select(a.key, b.key, wins), select(a.at, b.at, wins));
//# end
//# end
}
//# end

//# if PARTIAL
// What is kept of column n of a plane, in joined row `row`.
fn best_at(b: Bests, n: u32, row: u32) -> Best {
//# if INDEX
    return Best(plane_key(b.key, n), placed(plane_place(b.at, n) * P.joined + row));
//# else
    return Best(plane_key(b, n), placed(row));
//# end
}

//# end
fn acc_emit(slot: u32, column: u32, a: Acc) {
//# if PARTIAL
    // Joined rows lie side by side.
    var row = column / P.inner;
    var left = P.inner - (column - row * P.inner);
//# for i in 0..PER
//# if BOTH
    leave(slot + {i}u, best_at(a.b{i % PLANES}, {i / PLANES}u, row), false);
    leave(slot + {i}u, best_at(a.b{PLANES + i % PLANES}, {i / PLANES}u, row), true);
//# else
    emit(slot + {i}u, best_at(a.b{i % PLANES}, {i / PLANES}u, row));
//# end
    left -= 1u;
    row += select(0u, 1u, left == 0u);
    left = select(left, P.inner, left == 0u);
//# end
//# else
//# if INDEX
//# for i in 0..PER
    let row{i} = plane_place(a.b{i % PLANES}.at, {i / PLANES}u);
//# end
//# if DST_VECS
    let at = P.dst_delta + slot;
//# if OUT == 1
//# for i in 0..PER / 2
    dst[at / 2u + {i}u] = vec4<u32>(row{2 * i}, 0u, row{2 * i + 1}, 0u);
//# end
//# else
//# for i in 0..PER / 4
    dst[at / 4u + {i}u] = vec4<u32>(row{4 * i}, row{4 * i + 1}, row{4 * i + 2}, row{4 * i + 3});
//# end
//# end
//# else
//# for i in 0..PER
    write_bits(slot + {i}u, vec2<u32>(row{i}, 0u));
//# end
//# end
//# else
    write_unit(slot, words_of(Keys(
//# for j in 0..PLANES
        a.b{j},
//# end
    )));
//# end
//# end
}
