// Results of TopK: P.best of each output, P.inner apart. A dispatch writes those of a range.
//# if PARTIAL == 0
fn result_at(output: u32, rank: u32) -> u32 {
    let o = P.first_output + output;
    return (o / P.inner * P.best + rank) * P.inner + o % P.inner - P.first_result;
}
//# end
//# if LISTS

// Leaves element n of a segment that begins at `start`: in the part's list, or as a result. Where there is none, the entry comes after
// all others.
fn leave(output: u32, part: u32, rank: u32, key: Key, n: u32, start: u32) {
//# if PARTIAL
    let at = P.dst_delta + (output * P.lists + P.first_list + part) * P.entries + rank;
    dst[at] = record_of(Best(key, select(placed(n), nowhere(), n >= P.len)));
//# else
    // All results of the outputs are in the range.
    let at = result_at(output, rank);
//# if BESIDE
    write_bits(at, pack(raw(start + n * P.stride)));
    write_place(at, placed(n));
//# else
    write_bits(at, placed(n));
//# end
//# end
}
//# end
