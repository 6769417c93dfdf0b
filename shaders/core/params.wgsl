// What a dispatch works on. Mirrored by `Params` in src/kernel/params.rs.
//
// A dispatch sees one region: `outer` x `len` x `inner` elements, contiguous in memory, of which
// `len` is reduced; or the first columns of one matrix, whose rows are `inner` elements apart. Element
// positions are u32 and count from the start of the binding.
struct Params {
    grid: u32, // workgroups in a row of the folded grid
    items: u32, // what invocations take: outputs, words of them, slices; columns that workgroups merge: workgroups
    team: u32, // columns: slices in a part; sums of columns: invocations side by side
    coarsening: u32, // items that an invocation takes, one after the other
    len: u32, // elementwise: size of the dimension in which an invocation takes several vec4
    inner: u32, // elements from a row to the next; columns: columns of a row; finish: outputs side by side
    slices: u32, // parts that a segment is cut into
    slice: u32, // elements in such a part; columns: wide rows of a slice
    abreast: u32, // columns: units of a wide row that a workgroup takes
    width: u32, // columns: units side by side; parts of segments: segments side by side
    step: u32, // views: from one element of a part to the next; columns: rows that are joined to a wide row
    total: u32, // columns: units from one wide row to the next; shallow sums: invocations
    kept_dims: u32, // views: dimensions that are kept
    dims: u32, // all dimensions in the stride table
    src_delta: u32, // elements before the region in the source binding
    dst_delta: u32, // outputs before the region in the destination binding
    indices_delta: u32, // gather: indices before the region in their binding
    apart: u32, // both extremes: partial results of the least, before those of the greatest
    merge: u32, // 1: combine with the partial results that are there
    base_lo: u32, // added to every index: the region's place in the segment
    base_hi: u32,
    fill_lo: u32, // the element that fills, or what a mean is divided by; low and high word
    fill_hi: u32,
}

@group(0) @binding(0) var<uniform> P: Params;

fn linear(group: vec3<u32>) -> u32 {
    return group.y * P.grid + group.x;
}
