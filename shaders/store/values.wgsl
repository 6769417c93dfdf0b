// Results that share words, of an invocation that owns the word: `value` gives a result, at the top of a word.
//# if PARTIAL + PARTIAL_SUM == 0

fn write_values(w: u32) {
    var bits = 0u;
    var mask = 0u;
    for (var j = 0u; j < per_word(); j++) {
        let o = output_at(w, j);
        if o < P.items {
            bits |= lane_bits(value(o), j);
            mask |= lane_bits(WHOLE, j);
        }
    }
    write_word(w, bits, mask);
}
//# end
