// The best of a segment by runs of vec4 (run_vec). A block of eight vec4 is reduced first, and only its place is kept;
// the place of the element is found at the end. Acc: a canonical key, and where it was met: its place in the segment,
// or that of its block's first element.
struct Acc {
    key: Key,
    at: u32,
    run: Run,
}

fn acc_none(first: u32) -> Acc {
    return Acc(PAD, nowhere().x, Run());
}

// The place in the segment of the first element of vec4 i.
fn run_place(run: Run, i: u32) -> u32 {
    return (run.at + i * run.step) * E - run.origin;
}

//# if ONCE

// Takes a whole row, of at most {BLOCK} vec4. Past the end it reads the last vec4 again.
fn acc_run(own: Acc, run: Run) -> Acc {
    let last = run.count - 1u;
    let v0 = run_vec(run, 0u);
//# for r in 1..4
//# if r < BLOCK
    let v{r} = once(run_vec(run, min({r}u, last)), {r}u <= last);
//# else
    let v{r} = once(v{BLOCK - 1}, false);
//# end
//# end
    let four = Rows(v0, v1, v2, v3);
//# if PACKED
    if INDEX != 0u {
        var best = vec_packed(v0, 0u);
//# for r in 1..BLOCK
        best = min(best, vec_packed(v{r}, {r}u));
//# end
        let packed = least(best);
        let place = place_of(packed);
        return Acc(packed & KEEP, min(place / E, last) * E + place % E, run);
    }
//# end
    let key = canonical(four_key(four));
    if INDEX == 0u {
        return Acc(key, 0u, run);
    }
    let place = four_find(four, last_equal(key));
    return Acc(key, min(place / E, last) * E + place % E, run);
}

fn acc_place(a: Acc) -> u32 {
    return a.at;
}
//# else

//# if ENDS
// A float's key rises or falls with its bits, by its sign, and NaNs have the least one. So the least key of a block is
// that of its least or greatest element as unsigned integers, or of its greatest as a signed one. A key for each element
// would take three times as many operations.
struct Block {
    low: vec4<u32>,
    high: vec4<u32>,
    top: vec4<i32>,
}

fn block_with(b: Block, v: vec4<u32>) -> Block {
    var low = b.low;
    var high = b.high;
    var top = b.top;
//# for j in 0..PLANES
    let w{j} = v << vec4<u32>({32 - BITS * (j + 1)}u);
    low = min(low, w{j});
    high = max(high, w{j});
    top = max(top, bitcast<vec4<i32>>(w{j}));
//# end
    return Block(low, high, top);
}

fn block_of(v: vec4<u32>) -> Block {
    return block_with(Block(v, v, bitcast<vec4<i32>>(v)), v);
}

fn block_key(b: Block) -> Key {
    let high = max(b.high.xy, b.high.zw);
    let top = max(b.top.xy, b.top.zw);
    let ends = vec4<u32>(least(b.low), max(high.x, high.y), bitcast<vec2<u32>>(top));
    return canonical(vec_combined(key4(ends)));
}
//# else
alias Block = Plane;

fn block_with(b: Block, v: vec4<u32>) -> Block {
    return plane_combined(b, vec_keys(v));
}

fn block_of(v: vec4<u32>) -> Block {
    return vec_keys(v);
}

fn block_key(b: Block) -> Key {
    return canonical(vec_combined(b));
}
//# end

// Takes the least key of the block that begins with vec4 i.
fn acc_block(own: Acc, run: Run, i: u32, k: Key) -> Acc {
    var a = own;
    if INDEX == 0u {
        a.key = combined(a.key, k);
    } else {
        let wins = replaces(k, a.key);
        a.key = select(a.key, k, wins);
        a.at = select(a.at, run_place(run, i), wins);
    }
    return a;
}

fn acc_run(own: Acc, run: Run) -> Acc {
    // If nothing ever wins, the first vec4 counts.
    var a = Acc(own.key, select(own.at, run_place(run, 0u), run.count > 0u), run);
    var i = 0u;
    for (; i + 8u <= run.count; i += 8u) {
        var b = block_of(run_vec(run, i));
//# for r in 1..8
        b = block_with(b, run_vec(run, i + {r}u));
//# end
        a = acc_block(a, run, i, block_key(b));
    }
    // The rest. The loop runs at most once: software rasterisers skip a loop, but not a branch.
    for (; i < run.count; i += 8u) {
        var b = block_of(run_vec(run, i));
//# for r in 1..8
        let v{r} = run_vec(run, min(i + {r}u, run.count - 1u));
        b = block_with(b, once(v{r}, i + {r}u < run.count));
//# end
        a = acc_block(a, run, i, block_key(b));
    }
    return a;
}

fn preferred(a: u32, b: u32) -> u32 {
    return select(min(a, b), max(a, b), LAST != 0u);
}

// Takes an element at t, before or behind the run.
fn acc_take(a: Acc, r: Raw, t: u32) -> Acc {
    let k = canonical(key(r));
    if INDEX == 0u {
        return Acc(combined(a.key, k), a.at, a.run);
    }
    let wins = less(k, a.key) || (same(k, a.key) && preferred(t, a.at) == t);
    return Acc(select(a.key, k, wins), select(a.at, t, wins), a.run);
}

fn four_from(run: Run, i: u32) -> Rows {
    let last = run.count - 1u;
    let a = run_vec(run, min(i, last));
    let b = run_vec(run, min(i + 1u, last));
    let c = run_vec(run, min(i + 2u, last));
    return Rows(a, b, c, run_vec(run, min(i + 3u, last)));
}

// The place in the segment of an invocation's best.
fn acc_place(a: Acc) -> u32 {
    let run = a.run;
    let v = (a.at + run.origin) / E;
    if run.count == 0u || v < run.at || v > run.at + (run.count - 1u) * run.step {
        return a.at;
    }
    let i = (v - run.at) / run.step;
    let place = eight_find(four_from(run, i), four_from(run, i + 4u), last_equal(a.key));
    return run_place(run, min(i + place / E, run.count - 1u)) + place % E;
}
//# end
//# if SHARED

var<workgroup> wg_key: array<Key, WG>;
var<workgroup> wg_place: array<u32, WG>;

// The combined key of LANES neighbouring invocations, for all of them.
fn key_across(lid: u32, own_key: Key) -> Key {
    wg_key[lid] = own_key;
    let lane = lid % LANES;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            wg_key[lid] = combined(wg_key[lid], wg_key[lid + half]);
        }
    }
    workgroupBarrier();
    let key = wg_key[lid - lane];
    workgroupBarrier();
    return key;
}

// The preferred place of LANES neighbouring invocations, for the first of them.
fn preferred_across(lid: u32, own: u32) -> u32 {
    wg_place[lid] = own;
    let lane = lid % LANES;
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        workgroupBarrier();
        if lane < half {
            wg_place[lid] = preferred(wg_place[lid], wg_place[lid + half]);
        }
    }
    let place = wg_place[lid];
    workgroupBarrier();
    return place;
}

// The best of LANES neighbouring invocations, for the first of them. Only those that have the least key look for its
// place.
fn acc_across(lid: u32, own: Acc) -> Acc {
    let key = key_across(lid, own.key);
    var place = nowhere().x;
    if INDEX != 0u {
        if same(key, own.key) {
            place = acc_place(own);
        }
        place = preferred_across(lid, place);
    }
    return Acc(key, place, own.run);
}
//# end

fn acc_element(a: Acc) -> Raw {
    return element(a.key);
}

fn acc_emit(slot: u32, a: Acc) {
    var place = a.at;
//# if SHARED == 0
    if INDEX != 0u {
        place = acc_place(a);
    }
//# end
    emit(slot, Best(a.key, placed(place)));
}
