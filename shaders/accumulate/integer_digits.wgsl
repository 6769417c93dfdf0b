//# if BY_FLOATS == 0
// Digits by integers, of elements that additions of float32 do not split: the magnitude of an element, or its square, is shifted
// to its place above the lowest bit of the window, and cut.

fn acc_begin(l: Look) -> Window {
    var a: Window;
    a.top = {W - 1}u;
//# if FLOATS
    let most = most_of_look(l) >> {31 - EXPONENT}u;
    let least = max((least_of_look(l) + 1u) >> {31 - EXPONENT}u, 1u);
    a.top = max(({PLACES}u * max(most, 1u) + {MAGNITUDE - PLACES - 1}u) / DIGIT, a.top);
    let lowest = lowest_of(a);
    a.far = most >= {INFINITY}u || {PLACES}u * (least - 1u) < lowest;
    // The greatest exponent whose bits it holds, and the least one.
    let cap = min((DIGIT * (a.top + 1u) + {PLACES}u - {MAGNITUDE}u) / {PLACES}u, {INFINITY - 1}u);
    a.holds_most = (cap << {31 - EXPONENT}u) | {2147483647 >> EXPONENT}u;
    a.holds_least = select(0u, (((lowest + {PLACES - 1}u) / {PLACES}u + 1u) << {31 - EXPONENT}u) - 1u, lowest > 0u);
//# end
    return a;
}

// The place of the lowest bit of a window.
fn lowest_of(a: Window) -> u32 {
    return DIGIT * (a.top - {N - 1}u);
}

// The elements of a unit, always exactly.
fn elements_of(v: Unit, exactly: bool) -> Keys {
    return keys_of(vec4<u32>(v));
}

struct Digits {
//# for d in 0..N
    s{d}: i32,
//# end
}

fn digits_of(a: Window, x: Key) -> Digits {
    let n = magnitude_of(x & KEEP);
//# if FLOATS
    let up = n.place - lowest_of(a);
    let off = up & 31u;
    let t0 = n.m0 << off;
//# for k in 1..WORDS_OF
    let t{k} = (n.m{k} << off) | ((n.m{k - 1} >> 1u) >> (31u - off));
//# end
    let t{WORDS_OF} = (n.m{WORDS_OF - 1} >> 1u) >> (31u - off);
//# for k in WORDS_OF + 1..(22 * N + 31) / 32
    let t{k} = 0u;
//# end
//# for q in 1..(22 * N - MAGNITUDE) / 32 + 1
    let up{q} = (up >> 5u) == {q}u;
//# end
//# for k in 0..(22 * N + 31) / 32
    var w{k} = t{k};
//# for q in 1..(22 * N - MAGNITUDE) / 32 + 1
//# if k >= q
    w{k} = select(w{k}, t{k - q}, up{q});
//# else
    w{k} = select(w{k}, 0u, up{q});
//# end
//# end
//# end
//# else
//# for k in 0..WORDS_OF
    let w{k} = n.m{k};
//# end
//# for k in WORDS_OF..(22 * N + 31) / 32
    let w{k} = 0u;
//# end
//# end
    // The highest first.
//# for d in 0..N
//# if 22 * d % 32 > 10
    let d{d} = bitcast<i32>((w{22 * d / 32} >> {22 * d % 32}u) | (w{22 * d / 32 + 1} << {32 - 22 * d % 32}u)) & BELOW;
//# else
    let d{d} = bitcast<i32>(w{22 * d / 32} >> {22 * d % 32}u) & BELOW;
//# end
//# end
    return Digits(
//# for d in 0..N
        (d{N - 1 - d} ^ n.sign) - n.sign,
//# end
    );
}
//# if BY_VEC

fn acc_take(own: Window, k: Keys, at: u32) -> Window {
    var a = own;
//# for j in 0..SUMS
//# for c in 0..COLUMNS
    let x{j}_{c} = digits_of(own, plane_key(k.p{(BITS == 64) * c + j}, {c}u));
//# end
//# for d in 0..N
    a.s0_{j}_{d} += Ints(
//# for c in 0..COLUMNS
        x{j}_{c}.s{d},
//# end
    );
//# end
//# end
    return a;
}
//# end
//# end
