// Rows: contiguous segments. {LANES} neighbouring invocations share a row. Each reads {LOADS} units of it, {LANES} apart,
// before it uses one, so that no load waits for another.
//# if ROWS == 0

// A row, or a slice of one.
struct Part {
    first: u32, // its first whole unit, of the binding's
    units: u32, // its whole units, at least one
    lead: u32, // its elements before them
    len: u32, // all its elements
    skip: u32, // the elements of the row before it
}

fn part_of(item: u32) -> Part {
//# if LOOPED
    let row = item / P.slices;
    let skip = (item - row * P.slices) * P.slice;
    let len = min(P.slice, P.len - skip);
//# else
    let row = item;
    let skip = 0u;
    let len = P.len;
//# end
    let begin = P.src_delta + row * P.len + skip;
//# if MASKED
    let first = (begin + PER - 1u) / PER;
    return Part(first, (begin + len) / PER - first, first * PER - begin, len, skip);
//# else
    return Part(begin / PER, len / PER, 0u, len, skip);
//# end
}

// Where positions that count within an invocation's loads lie in the segment.
struct Frame {
    first: u32, // the number of the first unit
    last: u32, // no unit is beyond
    origin: u32, // the position of the first element of unit 0; wraps
    most: u32, // no position is beyond
}

fn position(f: Frame, at: u32) -> u32 {
    let number = min(f.first + at / {LANES * PER}u * {LANES}u, f.last);
    return min(f.origin + number * PER + at % PER, f.most);
}

// The units lane + base, {LANES} further, and so on. Past the end the last unit is read again.
//# if EXACT + BOTH
fn block(before: Acc, p: Part, lane: u32, base: u32) -> Acc {
//# else
fn block(p: Part, lane: u32, base: u32) -> Placed {
//# end
    let last = p.units - 1u;
//# for i in 0..LOADS
    let n{i} = base + lane + {i * LANES}u;
//# if LOOPED + (i == LOADS - 1)
    let v{i} = unit_once(unit(p.first + min(n{i}, last)), n{i} <= last);
//# else
    let v{i} = unit(p.first + n{i});
//# end
//# end
//# if BOTH
//# for i in 0..LOADS
    let k{i} = keys_ceiled(vec4<u32>(v{i}));
    let least{i} = least_of(k{i});
    let greatest{i} = least_of(keys_turned(k{i}));
//# end
    return Acc(
        bests_taken(
            before.least,
//# for i in 0..LOADS
            least{i},
//# end
            base / {LANES}u,
        ),
        bests_taken(
            before.greatest,
//# for i in 0..LOADS
            greatest{i},
//# end
            base / {LANES}u,
        ),
    );
//# else
//# if EXACT == 0
    var own = acc_none();
//# for i in 0..LOADS
    let k{i} = unit_keys(v{i});
//# for e in 0..PER
    own = acc_take(own, key_{e}(k{i}), {i * LANES * PER + e}u);
//# end
//# end
    return acc_placed(own, Frame(base + lane, last, p.skip + p.lead, 0xffffffffu));
//# else
    var l = before.look;
//# for i in 0..LOADS
    l = look(l, v{i});
//# end
//# for i in 0..TURNS * MASKED
    // With the first block, what lies before and behind the whole units.
    let e{i} = edge_of(p, lane + {i * LANES}u, base == 0u);
    l = look(l, e{i});
//# end
    var sum = sum_for(before, l, {LOADS * PER + MASKED * TURNS * PER / PIECES}u, false);
    var own = sum.window;
    if takes(own) {
//# for i in 0..LOADS
        let k{i} = elements_of(v{i}, false);
//# for e in 0..PER
        own = acc_take(own, key_{e}(k{i}), 0u);
//# end
//# end
//# for i in 0..TURNS * MASKED
        let f{i} = elements_of(e{i}, false);
//# for e in 0..PER / PIECES
        own = acc_take(own, plane_key(f{i}.p{e}, 0u), 0u);
//# end
//# end
    }
//# if BY_FLOATS
    for (var i = select({LOADS}u, 0u, own.again); i < {LOADS}u; i++) {
        let n = base + lane + i * {LANES}u;
        let k = elements_of(unit_once(unit(p.first + min(n, last)), n <= last), true);
//# for e in 0..PER
        own = acc_take_more(own, key_{e}(k));
//# end
    }
//# if MASKED
    for (var i = select({TURNS}u, 0u, own.again); i < {TURNS}u; i++) {
        var v = e0;
//# for i in 1..TURNS
        v = select(v, e{i}, i == {i}u);
//# end
        let k = elements_of(v, true);
//# for e in 0..PER / PIECES
        own = acc_take_more(own, plane_key(k.p{e}, 0u));
//# end
    }
//# end
//# end
    sum.window = own;
    return sum;
//# end
//# end
}
//# if MASKED

// What lies before and behind a row's whole units, in pieces: {PIECES} of the unit before them, then as many of the unit
// behind. A piece is a word, or an element of two words. So that many invocations share them, each takes few.
fn piece_at(p: Part, number: u32) -> vec2<u32> {
    let unit = select(p.first - 1u, p.first + p.units, number >= {PIECES}u);
    let last = arrayLength(&words) - 1u;
    let w = unit * {WORDS}u + number % {PIECES}u * {WORDS / PIECES}u;
    return vec2<u32>(words[min(w, last)], words[min(w + {WORDS / PIECES - 1}u, last)]);
}

// The elements of a piece that belong to the row. In an exact sum as a unit: others, and all if it is not `wanted`, add nothing.
//# if EXACT
fn edge_of(p: Part, number: u32, wanted: bool) -> Unit {
//# else
fn edge_of(p: Part, number: u32, piece: vec2<u32>) -> Placed {
//# end
    let behind = number >= {PIECES}u;
    // The places of the unit that belong to the row, and the first one of the piece.
    let low = select(PER - p.lead, 0u, behind);
    let high = select(PER, p.len - p.lead - p.units * PER, behind);
    let place = number % {PIECES}u * {PER / PIECES}u;
    let there = number < {2 * PIECES}u;
//# if EXACT == 0
//# for e in 0..PER / PIECES
    let there{e} = there & (place + {e}u >= low) & (place + {e}u < high);
//# end
//# if BOTH
    let k = keys_ceiled(piece.xyxy);
    let unit = select(0u, p.units + 1u, behind);
    var own = placed_of(plane_key(k.p0, 0u), unit, there0);
//# for e in 1..PER / PIECES
    own = acc_join(own, placed_of(plane_key(k.p{e}, 0u), unit, there{e}));
//# end
    return own;
//# else
    let k = keys_of(piece.xyxy);
    var own = acc_none();
//# for e in 0..PER / PIECES
    own = acc_take_if(own, plane_key(k.p{e}, 0u), {e}u, there{e});
//# end
    let before = select(0u, p.lead + p.units * PER, behind);
    // Before the row's first element it wraps. What is found there is nothing, and must not lie beyond the row.
    let origin = p.skip + before + place - low;
    return acc_placed(own, Frame(0u, 0u, origin, p.skip + p.len - 1u));
//# end
//# else
//# if BITS == 64
    var w = vec2<u32>(0u, {NO_ELEMENT}u);
    if wanted {
        w = select(w, piece_at(p, number), there & (place >= low) & (place < high));
    }
    return w.xyxy;
//# else
    var w = {NO_ELEMENT}u;
    if wanted {
        let piece = piece_at(p, number).x;
//# for e in 0..PER / PIECES
        w = select(w, (w & ~({MASK_0}u << {BITS * e}u)) | (piece & ({MASK_0}u << {BITS * e}u)), there & (place + {e}u >= low) & (place + {e}u < high));
//# end
    }
    return Unit(w);
//# end
//# end
}
//# end
//# if BOTH

// The units that an invocation keeps, by their numbers in the part: number 0 is the one before the whole ones.
fn numbered(b: Bests, p: Part, lane: u32) -> Pair {
    return Pair(plane_key(b.key, 0u), min(lane + plane_place(b.at, 0u) * {LANES}u, p.units - 1u) + 1u);
}

// Where the key is in its unit: the position in the segment.
fn found(p: Part, s: Pair, high: bool) -> Pair {
    let u = p.first + s.at - 1u;
//# if MASKED & (WORDS == 4)
    let most = arrayLength(&words) - 1u;
    let v = vec4<u32>(words[4u * u], words[min(4u * u + 1u, most)], words[min(4u * u + 2u, most)], words[min(4u * u + 3u, most)]);
//# else
    let v = unit(u);
//# end
    let k = keys_ceiled(vec4<u32>(v));
    // Wraps in the unit before.
    let first = p.lead + (s.at - 1u) * PER;
    let end = end_of(s.key);
    var at = 0u;
//# for e in 0..PER
    let n{e} = first + select({PER - 1 - e}u, {e}u, LAST != 0u);
    let k{e} = select(key_{PER - 1 - e}(k), key_{e}(k), LAST != 0u);
    at = select(at, n{e}, !less(end, select(k{e}, turned(k{e}), high)) & (n{e} < p.len));
//# end
    return Pair(s.key, p.skip + at);
}
//# end

fn reduced(item: u32, lane: u32) -> Placed {
    let p = part_of(item);
//# for i in 0..TURNS * MASKED * (EXACT == 0)
    let e{i} = piece_at(p, lane + {i * LANES}u);
//# end
//# if EXACT + BOTH
    var own = acc_none();
//# if LOOPED
    for (var base = 0u; base < p.units; base += {LANES * LOADS}u) {
        own = block(own, p, lane, base);
    }
//# else
    own = block(own, p, lane, 0u);
//# end
//# end
//# if EXACT
    return sum_placed(own);
//# else
//# if BOTH
    var a = Placed(numbered(own.least, p, lane), numbered(own.greatest, p, lane));
//# else
//# if LOOPED
    var a: Placed;
    for (var base = 0u; base < p.units; base += {LANES * LOADS}u) {
        let b = block(p, lane, base);
        if base == 0u {
            a = b;
        } else {
            a = acc_join(a, b);
        }
    }
//# else
    var a = block(p, lane, 0u);
//# end
//# end
//# for i in 0..TURNS * MASKED
    a = acc_join(a, edge_of(p, lane + {i * LANES}u, e{i}));
//# end
    return a;
//# end
}

@compute @workgroup_size(WG)
fn rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let lane = lid % {LANES}u;
    let first = linear(group) * (WG / {LANES}u);
    var item = first + lid / {LANES}u;
//# if SUBWORDS
    item = output_at(0u, item);
//# end
    // Invocations without an item repeat the last one, so that all arrive at the barriers.
    let own = min(item, P.items - 1u);
    var a = reduced(own, lane);
//# if EXACT
//# if TEAMS
    clear_most(lid);
//# end
//# end
//# if LANES > 1
    a = acc_across(lid, a);
//# end
    let there = lane == 0u && item < P.items;
//# if EXACT
    let p = part_of(own);
    let e = Elements(p.first * PER - p.lead, 1u, p.len);
//# if PARTIAL_SUM
    leave_sum(lid, select(NOWHERE, item, there), is_far(lid, a), a.top - {W - 1}u, one_of(a), is_minus(a), e);
//# else
    var s = near_of(a.top, one_of(a), is_minus(a), e.count);
//# if FLOATS
    if is_far(lid, a) {
        s = far_of(lid, e);
    }
//# end
//# end
//# else
    let s = a;
//# end
//# if SUBWORDS
    write_gathered(lid, first, pack(acc_element(s)).x);
//# else
//# if PARTIAL_SUM == 0
    if there {
//# if BOTH
        let p = part_of(own);
        acc_emit(item, Placed(found(p, s.least, false), found(p, s.greatest, true)));
//# else
        acc_emit(item, s);
//# end
    }
//# end
//# end
}
//# else

// An invocation takes {ROWS} rows of {LEN} elements, which are whole units and whose results are whole words.
@compute @workgroup_size(WG)
fn rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let first = P.src_delta / PER + item * {LOADS}u;
//# for i in 0..LOADS
    let v{i} = unit(first + {i}u);
//# end
//# if EXACT
    // Digits that hold the elements of all rows.
    var l = look_none();
//# for i in 0..LOADS
    l = look(l, v{i});
    let u{i} = unit_keys(v{i});
    let k{i} = elements_of(v{i}, false);
//# end
//# for r in 0..ROWS
    var a{r} = acc_begin(l);
    a{r}.count = {LEN}u;
    var signs{r} = 0u;
//# for e in 0..LEN
    signs{r} |= vec2<u32>(~key_{(r * LEN + e) % PER}(u{(r * LEN + e) / PER}) & KEEP).y;
//# end
//# end
    if takes(a0) {
//# for r in 0..ROWS
//# for e in 0..LEN
        a{r} = acc_take(a{r}, key_{(r * LEN + e) % PER}(k{(r * LEN + e) / PER}), {e}u);
//# end
//# end
    }
    let elements = P.src_delta + item * {ROWS * LEN}u;
//# if BY_FLOATS
    for (var e = select({LEN}u, 0u, a0.again); e < {LEN}u; e++) {
//# for r in 0..ROWS
        let x{r} = elements_of(Unit(raw(elements + {r * LEN}u + e)), true).p{PLANES - 1}.x;
        a{r} = acc_take_more(a{r}, x{r});
//# end
    }
//# end
//# for r in 0..ROWS
    var p{r} = carried(placed_of(a{r}));
    p{r}.signs = signs{r};
    var t{r} = near_of(p{r}.top, one_of(p{r}), is_minus(p{r}), {LEN}u);
//# end
//# if FLOATS
    let far =
//# for r in 0..ROWS
        p{r}.far ||
//# end
        false;
    for (var row = 0u; far && row < {ROWS}u; row++) {
        let t = far_of(lid, Elements(elements + row * {LEN}u, 1u, {LEN}u));
//# for r in 0..ROWS
        if row == {r}u {
            t{r} = t;
        }
//# end
    }
//# end
//# else
//# for i in 0..LOADS
    let k{i} = unit_keys(v{i});
//# end
//# for r in 0..ROWS
    var a{r} = acc_none();
//# for e in 0..LEN
    a{r} = acc_take(a{r}, key_{(r * LEN + e) % PER}(k{(r * LEN + e) / PER}), {e}u);
//# end
    let t{r} = acc_placed(a{r}, Frame());
//# end
//# end
//# for r in 0..ROWS
//# if OUT < 3
    let e{r} = acc_best(t{r}).index;
//# else
    let e{r} = pack(acc_element(t{r}));
//# end
//# end
//# if DST_PAIRS
//# for r in 0..ROWS
    write_bits(item * {ROWS}u + {r}u, e{r});
//# end
//# else
//# if RESULT_WORDS > ROWS
//# for r in 0..ROWS
    let w{2 * r} = e{r}.x;
    let w{2 * r + 1} = e{r}.y;
//# end
//# else
//# for n in 0..RESULT_WORDS
    let w{n} =
//# for j in 0..SHARE
        lane_bits(e{n * SHARE + j}.x, {j}u) |
//# end
        0u;
//# end
//# end
//# if DST_VECS
    let to = P.dst_delta / {4 * ROWS / RESULT_WORDS}u + item * {RESULT_WORDS / 4}u;
//# for n in 0..RESULT_WORDS / 4
    dst[to + {n}u] = vec4<u32>(w{4 * n}, w{4 * n + 1}, w{4 * n + 2}, w{4 * n + 3});
//# end
//# else
    let to = P.dst_delta * {RESULT_WORDS}u / {ROWS}u + item * {RESULT_WORDS}u;
//# for n in 0..RESULT_WORDS
    dst[to + {n}u] = w{n};
//# end
//# end
//# end
}
//# end
