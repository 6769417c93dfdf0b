// Where an output's elements lie in each input, for elementwise operators and views. Mirrored by `StrideTable` in
// src/kernel/params.rs. The number of an output in its region is split into coordinates, by multiplication with
// precomputed reciprocals. A stride of 0 repeats an input.
struct StrideTable {
    shape: array<vec4<u32>, 32>, // a dimension: size, reciprocal, shift, unused
    strides: array<vec4<u32>, 64>, // two a dimension, as the parts of Offsets
    starts: array<vec4<u32>, 2>, // of the inputs, from the bindings' start
}

@group(0) @binding(1) var<uniform> Z: StrideTable;

struct Offsets {
    a: vec4<u32>, // of inputs 0 to 3
    b: vec4<u32>, // of inputs 4 and 5, of the output, and along the dimension in which an invocation takes several vec4
}

// P.dims dimensions; the first needs no division.
fn offsets(place: u32) -> Offsets {
    var at = Offsets(Z.starts[0], Z.starts[1]);
    var rest = place;
    for (var d = P.dims; d > 1u; d--) {
        let dim = Z.shape[d - 1u];
        let quotient = product(rest, dim.y).y >> dim.z;
        let i = rest - quotient * dim.x;
        at.a += i * Z.strides[2u * d - 2u];
        at.b += i * Z.strides[2u * d - 1u];
        rest = quotient;
    }
    at.a += rest * Z.strides[0];
    at.b += rest * Z.strides[1];
    return at;
}
