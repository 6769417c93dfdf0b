// Writes the sum of an invocation: a partial result, or the result.
fn acc_emit(slot: u32, a: Acc) {
    if OUT == 0u {
        acc_write(P.dst_delta + slot, a);
    } else {
        write_bits(slot, pack(acc_element(a)));
    }
}
