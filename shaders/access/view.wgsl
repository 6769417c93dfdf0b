// A strided view: where its elements lie in the source. The first P.kept_dims dimensions in Z are kept, the others
// reduced. Strides wrap: a negative one is a large number.

// The distance of number `place` of the dimensions first..end from their first element. The first dimension needs no
// division.
fn along(first: u32, end: u32, place: u32) -> u32 {
    var at = 0u;
    var rest = place;
    for (var d = end; d > first + 1u; d--) {
        let dim = Z.shape[d - 1u];
        let quotient = product(rest, dim.y).y >> dim.z;
        at += (rest - quotient * dim.x) * Z.strides[2u * d - 2u].x;
        rest = quotient;
    }
    // Without dimensions the place is 0.
    return at + rest * Z.strides[2u * min(first, 31u)].x;
}

// Where the segment of output o begins.
fn segment(o: u32) -> u32 {
    return Z.starts[0].x + along(0u, P.kept_dims, o);
}

// The distance of element i of a segment from its first one.
fn offset_of(i: u32) -> u32 {
    return along(P.kept_dims, P.dims, i);
}
