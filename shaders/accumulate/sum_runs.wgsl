// Runs: many vec4 with {IN_VEC} elements each, which the walk finds (run_vec). All elements of a run belong to one
// segment, or to {COLUMNS} columns with {RUNS} vec4 in a row.

const NO_ELEMENTS: vec4<u32> = vec4<u32>(
//# if FLOATS
//# if BITS == 64
    0u, 0x80000000u, 0u, 0x80000000u
//# else
//# if IN_VEC == 8
    0x80008000u
//# else
    0x80000000u
//# end
//# end
//# end
);

// Vec4 i of a run; past the end one that adds nothing: of floats -0.
fn run_vec_or_none(run: Run, i: u32) -> vec4<u32> {
    return select(NO_ELEMENTS, run_vec(run, min(i, run.count - 1u)), vec4<bool>(i < run.count));
}

// Element e of a vec4. If the vec4 holds fewer than fit, each has a word.
fn run_raw(v: vec4<u32>, e: u32) -> Raw {
//# if BITS == 64
    return select(v.xy, v.zw, e == 1u);
//# else
//# if IN_VEC == E
    return raw_from(v[e >> {LOG}u], 0u, e);
//# else
    return v[e];
//# end
//# end
}
//# if COLUMNS > 1

// The sums of the columns that are not at work.
var<private> kept: array<i32, {COLUMNS * (LIMBS + COUNTS)}>;
var<private> kept_flags: array<u32, {COLUMNS}>;

fn acc_column(c: u32) -> Acc {
    for (var i = 0u; i < {LIMBS + COUNTS}u; i++) {
        limbs[i] = kept[{LIMBS + COUNTS}u * c + i];
    }
    first_limb = 0u;
    end_limb = {LIMBS}u;
    return Acc(kept_flags[c], 1u);
}

fn acc_keep(c: u32, a: Acc) {
    carry();
    for (var i = 0u; i < {LIMBS + COUNTS}u; i++) {
        kept[{LIMBS + COUNTS}u * c + i] = limbs[i];
    }
    kept_flags[c] = a.flags;
}
//# end

// Takes vec4 first..end, of a column or of all, one element after the other.
fn acc_one_by_one(own: Acc, run: Run, first: u32, end: u32, column: u32) -> Acc {
    var a = own;
//# if COLUMNS > 1
    for (var i = first + column / {IN_VEC}u; i < end;) {
        let next = min(i + {TAKES * RUNS}u, end);
        for (; i < next; i += {RUNS}u) {
            a = exact_add(a, run_element(run, i, column % {IN_VEC}u));
        }
        carry();
    }
//# else
    for (var i = first; i < end;) {
        let next = min(i + {TAKES / IN_VEC}u, end);
        for (; i < next; i++) {
            let v = run_vec(run, i);
            for (var e = 0u; e < {IN_VEC}u; e++) {
                a = exact_add(a, run_raw(v, e));
            }
        }
        carry();
    }
//# end
    a.takes = 1u;
    return a;
}
//# if (COLUMNS > 1) * (FLOATS == 0)

fn acc_columns(run: Run) {
    for (var c = 0u; c < {COLUMNS}u; c++) {
        acc_keep(c, acc_one_by_one(acc_none(), run, 0u, run.count, c));
    }
}
//# end
//# if FLOATS == 0
//# if COLUMNS == 1

fn acc_run(own: Acc, run: Run) -> Acc {
    return acc_one_by_one(own, run, 0u, run.count, 0u);
}
//# end
//# else

// Elements whose exponents are near are added in a window: a few words that begin at a place. No limb has to be found
// for an element, and {BLOCK} vec4 are added at once, as long as the window holds what comes.
struct Window {
//# for k in 0..WINDOW_WORDS
    w{k}: i32,
//# end
    minus: u32, // AND of all words that have a sign
}

struct Windows {
//# for c in 0..COLUMNS
    c{c}: Window,
//# end
}

fn windows_none() -> Windows {
    var w = Window();
    w.minus = 0xffffffffu;
    return Windows(
//# for c in 0..COLUMNS
        w,
//# end
    );
}

// The signs in a window's `minus`.
//# if (IN_VEC == 8) * (COLUMNS == 1)
const SIGNS: u32 = 0x80008000u;
//# else
const SIGNS: u32 = 0x80000000u;
//# end
// The sizes that were seen. They decide where a window may be.
struct Seen {
    most: u32, // of the sizes
    least: u32, // of those that are not 0, less one
}

fn seen_none() -> Seen {
    return Seen(0u, 0xffffffffu);
}

fn seen(s: Seen, r: Raw) -> Seen {
    let size = size_of(r);
//# if BITS == 64
    return Seen(max(s.most, size), min(s.least, (size | min(r.x, 1u)) - 1u));
//# else
    return Seen(max(s.most, size), min(s.least, size - 1u));
//# end
}

fn seen_vec(own: Seen, v: vec4<u32>) -> Seen {
    var s = own;
//# for e in 0..IN_VEC
    s = seen(s, run_raw(v, {e}u));
//# end
    return s;
}

// A window holds 0, and the sizes above `least` and below `end`. `begin` is its lowest exponent, less one.
struct Frame {
    begin: u32,
    least: u32,
    end: u32,
}

fn holds(f: Frame, s: Seen) -> bool {
    return s.most < f.end && s.least >= f.least;
}

// A frame that ends a little above the greatest size.
fn frame_of(s: Seen) -> Frame {
    let begin = max(s.most >> {31 - EXPONENT}u, {REACH - 2}u) - {REACH - 2}u;
    let least = select(0u, ((begin + 1u) << {31 - EXPONENT}u) - 1u, begin > 0u);
    return Frame(begin, least, min((begin + {REACH + 2}u) << {31 - EXPONENT}u, INFINITE));
}

fn window_add(own: Window, r: Raw, begin: u32) -> Window {
    var w = own;
    let n = number(r);
    // Any place does for 0.
//# if SQUARES
    let far = n.place - 2u * begin;
    let up = far >= 24u;
    let off = select(far, far - 24u, up) & 31u;
//# else
    let off = (n.place - begin) & 31u;
//# end
    let down = (24u - off) & 31u;
    let s0 = (n.x0 << off) & LIMB;
//# for k in 1..TERM_PIECES
    let s{k} = (n.x{k - 1} >> down) + ((n.x{k} << off) & LIMB);
//# end
    let s{TERM_PIECES} = n.x{TERM_PIECES - 1} >> down;
//# if SQUARES
    w.w0 += select(s0, 0, up);
//# for k in 1..TERM_PIECES + 1
    w.w{k} += select(s{k}, s{k - 1}, up);
//# end
    w.w{TERM_PIECES + 1} += select(0, s{TERM_PIECES}, up);
//# else
//# for k in 0..TERM_PIECES + 1
    w.w{k} += s{k};
//# end
//# end
    return w;
}
//# for r in 0..RUNS

// Adds vec4 {r} of a row of columns, or a vec4 of one segment.
fn windows_add_{r}(own: Windows, v: vec4<u32>, f: Frame) -> Windows {
    var w = own;
//# if COLUMNS > 1
//# for e in 0..IN_VEC
    w.c{r * IN_VEC + e}.minus &= run_raw(v, {e}u);
//# end
//# else
//# if BITS == 64
    w.c0.minus &= v.y & v.w;
//# else
    w.c0.minus &= v.x & v.y & v.z & v.w;
//# end
//# end
//# for e in 0..IN_VEC
//# if COLUMNS > 1
    w.c{r * IN_VEC + e} = window_add(w.c{r * IN_VEC + e}, run_raw(v, {e}u), f.begin);
//# else
    w.c0 = window_add(w.c0, run_raw(v, {e}u), f.begin);
//# end
//# end
    return w;
}
//# end

// Carries, before a word can overflow.
fn window_carry(own: Window) -> Window {
    var w = own;
//# for k in 0..WINDOW_WORDS - 1
    w.w{k + 1} += w.w{k} >> 24u;
    w.w{k} &= LIMB;
//# end
    return w;
}

fn windows_carry(w: Windows) -> Windows {
    return Windows(
//# for c in 0..COLUMNS
        window_carry(w.c{c}),
//# end
    );
}

// Whether all its elements were -0: none was positive, and their sum is 0.
fn window_minus_zeros(w: Window) -> bool {
    let sum =
//# for k in 1..WINDOW_WORDS
        w.w{k} |
//# end
        w.w0;
    return (w.minus & SIGNS) == SIGNS && sum == 0;
}

fn place_of_frame(f: Frame) -> u32 {
    return f.begin * {PLACES}u;
}

// Adds a window, which holds `count` elements, to the sum of a segment.
fn acc_window(own: Acc, w: Window, place: u32, count: u32) -> Acc {
    var a = own;
    add_piece(w.w0 & LIMB, place);
//# for k in 1..WINDOW_WORDS
    add_piece(w.w{k}, place + {24 * k}u);
//# end
    a.flags |= select(0u, select(OTHER, MINUS_ZERO, window_minus_zeros(w)), count > 0u);
//# if COUNTS
    limbs[{LIMBS}] += i32(count);
//# end
    return a;
}
//# if ONCE

// A run of {BLOCK} vec4 at most: its window, and whether that holds it.
struct Once {
    frame: Frame,
    held: bool,
    w: Window,
}

fn once_of(run: Run) -> Once {
    var s = seen_none();
//# for r in 0..BLOCK
    let v{r} = run_vec_or_none(run, {r}u);
    s = seen_vec(s, v{r});
//# end
    let f = frame_of(s);
    var w = windows_none();
//# for r in 0..BLOCK
    w = windows_add_0(w, v{r}, f);
//# end
    return Once(f, holds(f, s), window_carry(w.c0));
}

fn acc_run(own: Acc, run: Run) -> Acc {
    let once = once_of(run);
    if once.held {
        return acc_window(own, once.w, place_of_frame(once.frame), run.count * {IN_VEC}u);
    }
    return acc_one_by_one(own, run, 0u, run.count, 0u);
}
//# end
//# if NEAR

// The sum of a run, rounded, if a window holds it; else `far` is set.
var<private> far: bool;
//# if ONCE

fn near_sum(run: Run) -> vec2<u32> {
    let once = once_of(run);
    far |= !once.held;
    return window_sum(once.w, place_of_frame(once.frame));
}
//# end

// The sum in a window, rounded.
fn window_sum(w: Window, begin: u32) -> vec2<u32> {
    let negative = w.w{WINDOW_WORDS - 1} < 0;
    let turn = select(0, -1, negative);
    // Its magnitude in limbs: limb k is number k + 3. So few elements
    // leave nothing above the last word's 24 bits, or below the four highest limbs.
    let m3 = ((w.w0 & LIMB) ^ turn) - turn;
//# for k in 1..WINDOW_WORDS
    let m{k + 3} = (w.w{k} ^ turn) - turn + (m{k + 2} >> 24u);
//# end
//# for k in 0..3
    let l{k} = 0u;
//# end
//# for k in 3..WINDOW_WORDS + 3
    let l{k} = bitcast<u32>(m{k} & LIMB);
//# end
    var four = vec4<u32>(0u);
    var place = 0;
//# for k in 0..WINDOW_WORDS
    let top{k} = l{k + 3} != 0u;
    four = select(four, vec4<u32>(l{k + 3}, l{k + 2}, l{k + 1}, l{k}), vec4<bool>(top{k}));
    place = select(place, i32(begin) + {24 * k}, top{k});
//# end
    let zero = four.x == 0u;
    let bits = select(rounded(leading(four, place, false)), vec2<u32>(0u), zero);
//# if MAGNITUDES
    return bits;
//# else
    return signed_bits(bits, select(negative, window_minus_zeros(w), zero));
//# end
}
//# end
//# if ONCE == 0

// What is seen of the next {BLOCK} vec4.
fn seen_from(run: Run, i: u32) -> Seen {
    var s = seen_none();
//# for r in 0..BLOCK
    s = seen_vec(s, run_vec(run, min(i + {r}u, run.count - 1u)));
//# end
    return s;
}
//# if COLUMNS > 1

var<private> windows: array<Window, {COLUMNS}>;
//# end
//# if COLUMNS > 1

fn acc_columns(run: Run) {
    var turns = 0u;
//# else

fn acc_run(own: Acc, run: Run) -> Acc {
    var a = own;
//# end
    var i = 0u;
    while i < run.count {
        let first = i;
        let f = frame_of(seen_from(run, i));
        var w = windows_none();
//# if COLUMNS > 1
        turns += 1u;
        var near = turns < {WINDOW_TURNS}u;
//# else
        var near = true;
//# end
        // -0 fills the last block. A second loop would repeat the text of an element, which takes long to compile.
        while near && i < run.count {
            var s = seen_none();
            var next = w;
//# for r in 0..BLOCK
            let v{r} = run_vec_or_none(run, i + {r}u);
            s = seen_vec(s, v{r});
            next = windows_add_{r % RUNS}(next, v{r}, f);
//# end
            near = holds(f, s);
            if near {
                w = windows_carry(next);
                i += {BLOCK}u;
            }
        }
        i = min(i, run.count);
        if i > first {
//# if COLUMNS > 1
//# for c in 0..COLUMNS
            windows[{c}] = w.c{c};
//# end
            for (var c = 0u; c < {COLUMNS}u; c++) {
                acc_keep(c, acc_window(acc_column(c), windows[c], place_of_frame(f), (i - first) / {RUNS}u));
            }
//# else
            a = acc_window(a, w.c0, place_of_frame(f), (i - first) * {IN_VEC}u);
//# end
        }
        if !near {
            let begin = i;
//# if COLUMNS > 1
            i = select(min(i + {AFTER}u, run.count), run.count, turns >= {WINDOW_TURNS}u);
            for (var c = 0u; c < {COLUMNS}u; c++) {
                acc_keep(c, acc_one_by_one(acc_column(c), run, begin, i, c));
            }
//# else
            i = min(i + {AFTER}u, run.count);
            a = acc_one_by_one(a, run, begin, i, 0u);
//# end
        }
    }
//# if COLUMNS == 1
    return a;
//# end
}
//# end
//# end
