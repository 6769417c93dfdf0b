// Results that share words, each of some neighbouring invocations. A workgroup owns whole words.
//# if PARTIAL + PARTIAL_SUM == 0
var<workgroup> wg_value: array<u32, WG>;

// Writes the values that the first of every `lanes` invocations has, at the top of a word; `first` is the number of the
// workgroup's first one, in whole words.
fn write_gathered(lid: u32, lanes: u32, first: u32, value: u32) {
    if lid % lanes == 0u {
        wg_value[lid / lanes] = value;
    }
    workgroupBarrier();
    if lid * per_word() < WG / lanes {
        var bits = 0u;
        var mask = 0u;
        for (var j = 0u; j < per_word(); j++) {
            if output_at(first / per_word() + lid, j) < P.items {
                bits |= lane_bits(wg_value[lid * per_word() + j], j);
                mask |= lane_mask(j);
            }
        }
        write_word(first / per_word() + lid, bits, mask);
    }
}
//# end
