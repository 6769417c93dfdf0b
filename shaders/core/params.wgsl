// What a dispatch works on. Mirrored by `Params` in src/kernel/params.rs.
//
// A dispatch sees one region: `outer` x `len` x `inner` elements, contiguous in memory, of which
// `len` is reduced. Element positions are u32 and count from the start of the binding.
struct Params {
    grid: u32, // workgroups in a row of the folded grid
    items: u32, // work items: outputs, slices of them, lines, or panels
    lanes: u32, // strips: invocations a wide row, shared columns: of a part of one; lines: invocations a team; strided: kept dimensions
    len: u32,
    inner: u32,
    slices: u32, // parts a segment is cut into; panels: of a matrix
    slice: u32, // rows, strided: elements in a part; columns: its wide rows; short rows, lines or runs of them, panels: so many a lane
    width: u32, // columns: vec4 in a wide row, or a row; rows, each, finish: items a lane; strided: from one element of a part to the next
    total: u32, // columns: elements in a matrix, len * inner; strided: all dimensions
    src_delta: u32, // elements before the region in the source binding
    dst_delta: u32, // outputs before the region in the destination binding
    merge: u32, // 1: combine with the records that are there
    base_lo: u32, // added to every index: the region's place in the segment
    base_hi: u32,
    fill_lo: u32, // the element that fills, low and high word
    fill_hi: u32,
}

@group(0) @binding(0) var<uniform> P: Params;

fn linear(group: vec3<u32>) -> u32 {
    return group.y * P.grid + group.x;
}
