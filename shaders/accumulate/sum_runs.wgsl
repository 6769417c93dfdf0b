// Runs: many vec4 with {IN_VEC} elements each, which the walk finds (run_vec), and that of them (run_raw).
//# if LIMBS == 0

fn acc_run(own: Acc, run: Run) -> Acc {
    var a = own;
    for (var i = 0u; i < run.count; i++) {
        a = acc_vec(a, run_vec(run, i));
    }
    return a;
}
//# else

// Takes vec4 first..end one element after the other.
fn acc_one_by_one(own: Acc, run: Run, first: u32, end: u32) -> Acc {
    var a = own;
    carry();
    for (var i = first; i < end;) {
        let next = min(i + {TAKES / IN_VEC}u, end);
        for (; i < next; i++) {
            let v = run_vec(run, i);
            for (var e = 0u; e < {IN_VEC}u; e++) {
                a = acc_add(a, run_raw(v, e));
            }
        }
        carry();
    }
    a.takes = 0u;
    return a;
}
//# if FLOATS == 0

fn acc_run(own: Acc, run: Run) -> Acc {
    return acc_one_by_one(own, run, 0u, run.count);
}
//# else

// Elements whose exponents are near are added in a window, a few words that begin at a place. Elements go there without
// looking for a limb, {BLOCK} vec4 at once, as long as the window holds what comes.
struct Window {
//# for k in 0..WORDS
    w{k}: i32,
//# end
}

// What is seen of elements: the sizes decide where a window may be.
struct Seen {
    most: u32, // of the sizes
    least: u32, // of those that are not 0, less one
    signs: u32,
}

fn seen(s: Seen, r: Raw) -> Seen {
    let size = size_of(r);
//# if BITS == 64
    return Seen(max(s.most, size), min(s.least, (size | min(r.x, 1u)) - 1u), s.signs & r.y);
//# else
    return Seen(max(s.most, size), min(s.least, size - 1u), s.signs & r);
//# end
}

// A window holds sizes below `end`, and those above `least` and 0. It begins at exponent `begin`, less one.
struct Frame {
    begin: u32,
    least: u32,
    end: u32,
}

fn holds(f: Frame, s: Seen) -> bool {
    return s.most < f.end && s.least >= f.least;
}

// One whose reach ends a little above the greatest.
fn frame_of(s: Seen) -> Frame {
    let top = max(s.most >> {31 - EXPONENT}u, 1u);
    let begin = max(top, {REACH}u) - {REACH}u;
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
//# if REACH > 24
    let s0 = (n.x0 << off) & LIMB;
    let s1 = (n.x0 << 7u) >> (31u - off);
//# else
    let down = (24u - off) & 31u;
    let s0 = (n.x0 << off) & LIMB;
//# for k in 1..PIECES
    let s{k} = (n.x{k - 1} >> down) + ((n.x{k} << off) & LIMB);
//# end
    let s{PIECES} = n.x{PIECES - 1} >> down;
//# end
//# if SQUARES
    w.w0 += select(s0, 0, up);
//# for k in 1..PIECES + 1
    w.w{k} += select(s{k}, s{k - 1}, up);
//# end
    w.w{PIECES + 1} += select(0, s{PIECES}, up);
//# else
//# for k in 0..PIECES + 1
    w.w{k} += s{k};
//# end
//# end
    return w;
}

// Brings all words but the last into 0..2^24.
fn window_carry(own: Window) -> Window {
    var w = own;
//# for k in 0..WORDS - 1
    w.w{k + 1} += w.w{k} >> 24u;
    w.w{k} &= LIMB;
//# end
    return w;
}

const NO_ELEMENTS: vec4<u32> = vec4<u32>(
//# if BITS == 64
    0u, 0x80000000u, 0u, 0x80000000u
//# else
//# if IN_VEC == 8
    0x80008000u
//# else
    0x80000000u
//# end
//# end
);

// Vec4 i of a run. What stands for none is -0, which adds nothing.
fn run_vec_or_none(run: Run, i: u32) -> vec4<u32> {
    return select(NO_ELEMENTS, run_vec(run, min(i, run.count - 1u)), vec4<bool>(i < run.count));
}

fn acc_run(own: Acc, run: Run) -> Acc {
    var a = own;
    for (var i = 0u; i < run.count;) {
        let first = i;
        var s = Seen(0u, 0xffffffffu, 0xffffffffu);
//# for r in 0..BLOCK
        var v{r} = run_vec_or_none(run, i + {r}u);
//# for e in 0..IN_VEC
        s = seen(s, run_raw(v{r}, {e}u));
//# end
//# end
        let f = frame_of(s);
        if holds(f, s) {
            var w = Window();
            var any = 0u; // whether any element is not -0
            loop {
//# for r in 0..BLOCK
//# for e in 0..IN_VEC
                w = window_add(w, run_raw(v{r}, {e}u), f.begin);
//# end
//# end
                w = window_carry(w);
                any |= s.most | (~s.signs & 0x80000000u);
                i += {BLOCK}u;
                s = Seen(0u, 0xffffffffu, 0xffffffffu);
//# for r in 0..BLOCK
                v{r} = run_vec_or_none(run, i + {r}u);
//# for e in 0..IN_VEC
                s = seen(s, run_raw(v{r}, {e}u));
//# end
//# end
                if i >= run.count || !holds(f, s) {
                    break;
                }
            }
//# for k in 0..WORDS
            add_piece(w.w{k}, f.begin * {PLACES}u + {24 * k}u);
//# end
            a.flags |= select(OTHER, MINUS_ZERO, any == 0u);
//# if COUNTS
            limbs[{LIMBS}] += i32((min(i, run.count) - first) * {IN_VEC}u);
//# end
            a = took(a);
        } else {
            i = min(i + {AFTER}u, run.count);
            a = acc_one_by_one(a, run, first, i);
        }
    }
    return a;
}
//# end
//# end
