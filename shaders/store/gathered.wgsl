// Results that share words, each of {LANES} neighbouring invocations. A workgroup owns whole words.
//# if PARTIAL + PARTIAL_SUM == 0
var<workgroup> wg_value: array<u32, WG>;

// The workgroup's results are numbered from a multiple of WG / {LANES} on, in whole words.
fn value(o: u32) -> u32 {
    return wg_value[(o + P.dst_delta % per_word()) % (WG / {LANES}u)];
}

// Writes what the first of every {LANES} invocations has, at the top of a word; `first` is the number of the workgroup's
// first one.
fn write_gathered(lid: u32, first: u32, own: u32) {
    if lid % {LANES}u == 0u {
        wg_value[lid / {LANES}u] = own;
    }
    workgroupBarrier();
    if lid * per_word() < WG / {LANES}u {
        write_values(first / per_word() + lid);
    }
}
//# end
