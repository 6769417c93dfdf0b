// An exact sum whose elements are taken one by one, wherever they are.
struct Elements {
    segment: u32, // where it begins
    first: u32, // the number of the first one in it
    step: u32,
    count: u32,
}
alias Acc = Elements;

fn acc_of(segment: u32, begin: u32, end: u32, step: u32) -> Acc {
    return Elements(segment, begin, step, (end - begin + step - 1u) / step);
}
//# if PARTIAL_SUM

fn acc_emit(slot: u32, e: Acc) {
    leave_sum(0u, slot, true, 0u, One(), false, e);
}
//# else

fn acc_element(e: Acc) -> Raw {
    return result_of(far_of(0u, e));
}

fn acc_emit(slot: u32, e: Acc) {
    write_bits(slot, pack(acc_element(e)));
}
//# end
