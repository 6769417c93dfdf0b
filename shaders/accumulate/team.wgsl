// The join of {LANES} neighbouring invocations, for the first of them.
//# if LANES > 1

var<workgroup> wg_acc: array<Placed, WG>;

// Written out, but for sums: a loop costs a driver's bound of its iterations, and short rows more than their elements.
fn acc_across(lid: u32, own: Placed) -> Placed {
    let lane = lid % {LANES}u;
    var a = own;
    wg_acc[lid] = a;
//# if EXACT
    for (var lanes = {LANES / 2}u; lanes > 0u; lanes >>= 1u) {
        workgroupBarrier();
        if lane < lanes {
            a = acc_join(a, wg_acc[lid + lanes]);
            wg_acc[lid] = a;
        }
    }
//# else
//# for s in 1..LOG_LANES + 1
    workgroupBarrier();
    if lane < {LANES >> s}u {
        a = acc_join(a, wg_acc[lid + {LANES >> s}u]);
        wg_acc[lid] = a;
    }
//# end
//# end
    return a;
}
//# end
