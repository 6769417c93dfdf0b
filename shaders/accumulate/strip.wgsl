// Eight runs of columns an invocation, a vec4 of each: what a CPU likes, which then reads long
// stretches of every row. Eight neighbouring invocations read the eight neighbouring vec4 of a run.
const TEAM: u32 = 8u;
const RUNS: u32 = 8u;

struct Strip {
    a: Acc,
    b: Acc,
    c: Acc,
    d: Acc,
    e: Acc,
    f: Acc,
    g: Acc,
    h: Acc,
}

fn strip_none(s: Slice) -> Strip {
    let none = column_none(s);
    return Strip(none, none, none, none, none, none, none, none);
}

// Takes wide row t, of which the invocation's first vec4 is `at`. Past the end of a row the next
// one is read, and not written.
fn strip_take(r: Strip, at: u32, t: u32) -> Strip {
    return Strip(
        acc_take(r.a, src[at], E, t),
        acc_take(r.b, src[at + TEAM], E, t),
        acc_take(r.c, src[at + 2u * TEAM], E, t),
        acc_take(r.d, src[at + 3u * TEAM], E, t),
        acc_take(r.e, src[at + 4u * TEAM], E, t),
        acc_take(r.f, src[at + 5u * TEAM], E, t),
        acc_take(r.g, src[at + 6u * TEAM], E, t),
        acc_take(r.h, src[at + 7u * TEAM], E, t),
    );
}

// Takes a block of wide rows from t on.
fn strip_block(r: Strip, at: u32, t: u32) -> Strip {
    let pitch = P.width;
    return Strip(
        column_block(r.a, at, pitch, t),
        column_block(r.b, at + TEAM, pitch, t),
        column_block(r.c, at + 2u * TEAM, pitch, t),
        column_block(r.d, at + 3u * TEAM, pitch, t),
        column_block(r.e, at + 4u * TEAM, pitch, t),
        column_block(r.f, at + 5u * TEAM, pitch, t),
        column_block(r.g, at + 6u * TEAM, pitch, t),
        column_block(r.h, at + 7u * TEAM, pitch, t),
    );
}

fn run_of(r: Strip, j: u32) -> Acc {
    switch j {
        case 0u: {
            return r.a;
        }
        case 1u: {
            return r.b;
        }
        case 2u: {
            return r.c;
        }
        case 3u: {
            return r.d;
        }
        case 4u: {
            return r.e;
        }
        case 5u: {
            return r.f;
        }
        case 6u: {
            return r.g;
        }
        default: {
            return r.h;
        }
    }
}

fn strip_emit(s: Slice, first: u32, r: Strip) {
    for (var j = 0u; j < RUNS; j++) {
        let v = first + j * TEAM;
        if v < P.width {
            column_emit(s, v, column_all(s, v, run_of(r, j)));
        }
    }
}
