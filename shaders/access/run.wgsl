// Walks down {RUNS} vec4 of neighbouring columns, {STRIDE} apart. UNALIGNED: each lies in two vec4 of the source.
fn run(first: u32, v: u32, end: u32) {
    var at = first;
//# if UNALIGNED
//# for r in 0..RUNS + 1
    var w{r} = src[at / E + {r}u];
//# end
//# end
//# for r in 0..RUNS
//# if UNALIGNED
    var a{r} = acc_first(keys_of(shifted(w{r}, w{r + 1}, at % E)), 0u);
//# else
    var a{r} = acc_first(keys_of(src[at + {r * STRIDE}u]), 0u);
//# end
//# end
    for (var t = 1u; t < P.len; t++) {
//# if UNALIGNED
        at += P.inner;
//# for r in 0..RUNS + 1
        w{r} = src[at / E + {r}u];
//# end
//# for r in 0..RUNS
        a{r} = acc_take(a{r}, keys_of(shifted(w{r}, w{r + 1}, at % E)), t);
//# end
//# else
        at += P.width;
//# for r in 0..RUNS
        a{r} = acc_take(a{r}, keys_of(src[at + {r * STRIDE}u]), t);
//# end
//# end
    }
//# for r in 0..RUNS
    write_column(v + {r * STRIDE}u, end, a{r});
//# end
}
