//# if BY_FLOATS == 0
// Digits by integers, of elements that additions of float32 do not split. The magnitude of an element is shifted to its place above
// the lowest bit of the window, and cut into {N} pieces of {PIECE} bits: its digits. Of squares pieces have half as many bits, and
// `acc_take` multiplies them.

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
    let up = u32(i32(n.place) - a.lowest);
    let off = up & 31u;
    let t0 = n.m0 << off;
//# for k in 1..BITS / 32
    let t{k} = (n.m{k} << off) | ((n.m{k - 1} >> 1u) >> (31u - off));
//# end
    let t{BITS / 32} = (n.m{BITS / 32 - 1} >> 1u) >> (31u - off);
//# for q in 1..(PIECE * N - MANTISSA) / 32 + 1
    let up{q} = (up >> 5u) == {q}u;
//# end
//# for k in 0..(PIECE * N + 31) / 32
    var w{k} = t{k};
//# for q in 1..(PIECE * N - MANTISSA) / 32 + 1
//# if k >= q
    w{k} = select(w{k}, t{k - q}, up{q});
//# else
    w{k} = select(w{k}, 0u, up{q});
//# end
//# end
//# end
//# else
    let w0 = n.m0;
//# for k in 1..(PIECE * N + 31) / 32
    let w{k} = n.m{k};
//# end
//# end
    // Nothing lies above the last one.
//# for d in 0..N
//# if PIECE * d % 32 > 32 - PIECE
    let d{d} = (w{PIECE * d / 32} >> {PIECE * d % 32}u) | (w{PIECE * d / 32 + 1} << {32 - PIECE * d % 32}u);
//# else
    let d{d} = w{PIECE * d / 32} >> {PIECE * d % 32}u;
//# end
//# end
    return Digits(
//# for d in 0..N
        (bitcast<i32>(d{N - 1 - d} & {4294967295 >> ((32 - PIECE) * (d > 0))}u) ^ n.sign) - n.sign,
//# end
    );
}
//# end
