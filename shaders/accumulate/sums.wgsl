// An exact sum whose elements are taken one by one.
alias Acc = Exact;

fn acc_none() -> Acc {
    return exact_none();
}

fn acc_take(a: Acc, r: Raw, at: u32) -> Acc {
    return exact_take(a, r);
}

fn acc_join_partial(a: Acc, r: u32) -> Acc {
    return exact_join_partial(a, r);
}

fn acc_element(a: Acc) -> Raw {
    return exact_element(a);
}

fn acc_emit(slot: u32, a: Acc) {
//# if PARTIAL_SUM
    exact_write(P.dst_delta + slot, a);
//# else
    write_bits(slot, pack(exact_element(a)));
//# end
}
//# if TEAMS

fn acc_across(lid: u32, a: Acc) -> Acc {
    return exact_across(lid, a);
}
//# end
