// What a kernel writes. OUT: 0 partial result, 1 index of 64 bits, 2 index of 32 bits,
// 3 value of 32 bits, 4 value of 64 bits, 5 value of 16 bits, 6 value of 8 bits.
// If results share a word, one invocation owns the word, so that no two write it.
override OUT: u32;

const WHOLE: u32 = 0xffffffffu;

// Results in a word of the destination.
fn per_word() -> u32 {
    return select(select(1u, 2u, OUT == 5u), 4u, OUT == 6u);
}

// An element from the top of a word to place j; of WHOLE, the mask of that place.
fn lane_bits(top: u32, j: u32) -> u32 {
    let bits = 32u / per_word();
    return (top >> (32u - bits)) << (j * bits);
}

// The output that place j of word w holds, counting words from the first output's. Wraps to a
// large number before the first output.
fn output_at(w: u32, j: u32) -> u32 {
    return w * per_word() + j - P.dst_delta % per_word();
}

//# if BESIDE

// An index that is written beside a value.
//# if BESIDE == 1
alias Place = u32;

fn place_of(index: vec2<u32>) -> Place {
    return index.x;
}
//# else
alias Place = vec2<u32>;

fn place_of(index: vec2<u32>) -> Place {
    return index;
}
//# end
//# if BOTH == 0

@group(0) @binding(4) var<storage, read_write> places: array<Place>;

fn write_place(o: u32, index: vec2<u32>) {
    places[P.beside_0 + o] = place_of(index);
}
//# end
//# end

//# if PARTIAL
// The destination, as partial results.
@group(0) @binding(2) var<storage, read_write> dst: array<Record>;
//# else
//# if DST_VECS
// The destination, as whole vec4.
@group(0) @binding(2) var<storage, read_write> dst: array<vec4<u32>>;
//# else
//# if DST_PAIRS
// The destination, as results of two words.
@group(0) @binding(2) var<storage, read_write> dst: array<vec2<u32>>;

// Writes the bits of an element or index, as result o.
fn write_bits(o: u32, bits: vec2<u32>) {
    dst[P.dst_delta + o] = bits;
}
//# else
// The destination, as words.
@group(0) @binding(2) var<storage, read_write> dst: array<u32>;

// Writes the bits of word v that are in the mask. Words count as in output_at; the other bytes belong to others.
fn write_word(v: u32, bits: u32, mask: u32) {
    let w = P.dst_delta / per_word() + v;
    if mask == WHOLE {
        dst[w] = bits;
    } else if mask != 0u {
        dst[w] = (dst[w] & ~mask) | bits;
    }
}

// Writes the bits of an element or index that has words of its own, as result o.
fn write_bits(o: u32, bits: vec2<u32>) {
    let at = P.dst_delta + o;
    if OUT == 2u || OUT == 3u {
        dst[at] = bits.x;
    } else {
        dst[2u * at] = bits.x;
        dst[2u * at + 1u] = bits.y;
    }
}
//# end
//# end
//# end
