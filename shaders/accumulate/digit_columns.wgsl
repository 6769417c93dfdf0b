// Exact sums of the columns of a unit: see accumulate/digits and accumulate/columns. A plane of columns is taken together.

// The columns that are there, of a plane or of upper words, each of them twice. What else these hold means nothing.
fn columns_of(p: vec4<u32>) -> Bits {
    return Bits(
//# for c in 0..COLUMNS
        p[{c}],
//# end
    );
}

// Column c of them. An index that is not constant makes FXC write out the loop around it.
fn column_of(x: Ints, c: u32) -> i32 {
//# if COLUMNS == 1
    return x;
//# end
//# if COLUMNS == 2
    return select(x.x, x.y, c == 1u);
//# end
//# if COLUMNS == 4
    return select(select(x.x, x.y, c == 1u), select(x.z, x.w, c == 3u), c > 1u);
//# end
}

// Of one whose last window has been kept.
fn acc_placed(s: Acc, first: u32, step: u32) -> Placed {
    var p = s.placed;
    p.signs = columns_of(s.look.plus);
    return p;
}
//# if SHARED

var<workgroup> wg_digit: array<Ints, WG>;

// The slices of a workgroup agree on the highest digits, and add up one digit after the other.
fn acc_across(lid: u32, own: Placed) -> Placed {
    wg_digit[lid] = Ints(i32(own.top));
    workgroupBarrier();
    var top = 0;
    for (var at = lid % P.abreast; at < P.team * P.abreast; at += P.abreast) {
        top = max(top, column_of(wg_digit[at], 0u));
    }
    var p = raised(own, u32(top));
    // One word after the other: whether it is far, the signs that any slice lacks, the digits.
    for (var n = 0u; n < {2 + SUMS * (W + 1)}u; n++) {
        var x = select(Ints(i32(p.far)), bitcast<Ints>(p.signs), n == 1u);
//# for i in 0..SUMS * (W + 1)
        x = select(x, p.d{i / (W + 1)}_{i % (W + 1)}, n == {2 + i}u);
//# end
        x = across(lid, x, n < 2u);
        p.far = select(p.far, column_of(x, 0u) != 0, n == 0u);
        p.signs = select(p.signs, bitcast<Bits>(x), n == 1u);
//# for i in 0..SUMS * (W + 1)
        p.d{i / (W + 1)}_{i % (W + 1)} = select(p.d{i / (W + 1)}_{i % (W + 1)}, x, n == {2 + i}u);
//# end
    }
    return carried(p);
}

// What the slices have, added, or their bits `together`; for those of the first one.
fn across(lid: u32, own: Ints, together: bool) -> Ints {
    var x = own;
    workgroupBarrier();
    wg_digit[lid] = x;
    for (var slices = P.team; slices > 1u; slices = (slices + 1u) / 2u) {
        let other = lid + (slices + 1u) / 2u * P.abreast;
        workgroupBarrier();
        if other < slices * P.abreast {
            let y = wg_digit[other];
            x = select(x + y, x | y, together);
            wg_digit[lid] = x;
        }
    }
    return x;
}
//# end

// The digits of column c of a plane.
fn one_of(p: Placed, c: u32, plane: u32) -> One {
    var o: One;
//# for d in 0..W + 1
    var d{d} = p.d0_{d};
//# for j in 1..SUMS
    d{d} = select(d{d}, p.d{j}_{d}, plane == {j}u);
//# end
    o.d{d} = column_of(d{d}, c);
//# end
    return o;
}

// Whether all elements of column c of a plane are negative, or -0.
fn is_minus(p: Placed, c: u32, plane: u32) -> bool {
    let signs = u32(column_of(bitcast<Ints>(p.signs), c));
    return ((signs << ({(32 - BITS) * (BITS < 32)}u - {BITS}u * plane)) & 0x80000000u) == 0u;
}

fn acc_emit(slot: u32, elements: Elements, p: Placed) {
//# if PARTIAL_SUM == 0
    var r: vec4<u32>;
//# end
    for (var e = 0u; e < {PER}u; e++) {
        let c = e / {SUMS}u;
        let plane = e % {SUMS}u;
        let column = Elements(elements.first + e, elements.step, elements.count);
        let minus = is_minus(p, c, plane);
        let o = one_of(p, c, plane);
//# if PARTIAL_SUM
        leave_sum(0u, slot + e, p.far, p.top - {W - 1}u, o, minus, column);
//# else
        var t = near_of(p.top, o, minus, elements.count);
//# if FLOATS
        if p.far {
            t = far_of(0u, column);
        }
//# end
        let x = acc_element(t);
//# if BITS == 64
        r = select(r, x.xyxy, vec4<u32>(0u, 0u, 1u, 1u) == vec4<u32>(c));
//# else
        let word = vec4<u32>(x >> ({32 - BITS}u - {BITS}u * plane));
        r |= select(vec4<u32>(0u), word, vec4<u32>(0u, 1u, 2u, 3u) == vec4<u32>(c));
//# end
//# end
    }
//# if PARTIAL_SUM == 0
    write_unit(slot, r);
//# end
}
