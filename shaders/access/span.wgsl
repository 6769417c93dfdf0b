// The slice of a row that an item is, and the part of it that each of LANES invocations takes.
override LANES: u32; // a power of two that divides WG

// The elements begin..end of the binding; the vec4 first..last lie wholly among them.
struct Span {
    begin: u32,
    end: u32,
    first: u32,
    last: u32,
}

// The whole vec4 that an invocation takes: `count` from vec4 `at` on, `step` apart, of a segment that begins with element
// `origin`.
struct Run {
    at: u32,
    step: u32,
    count: u32,
    origin: u32,
}

fn run_vec(run: Run, i: u32) -> vec4<u32> {
    return src[run.at + i * run.step];
}

//# if WHOLE_ROWS
// A row of whole vec4.
fn row_run(row: u32) -> Run {
    let vecs = P.len / E;
    return Run(P.src_delta / E + row * vecs, 1u, vecs, P.src_delta + row * P.len);
}
//# else

fn span(begin: u32, len: u32) -> Span {
    let first = (begin + E - 1u) / E;
    return Span(begin, begin + len, first, max(first, (begin + len) / E));
}

fn run_of(s: Span, lane: u32, origin: u32) -> Run {
    let at = s.first + lane;
    return Run(at, LANES, (max(s.last, at) - at + LANES - 1u) / LANES, origin);
}

// The span of item number `item`: a row has P.slices items.
fn item_span(item: u32) -> Span {
    let row = item / P.slices;
    let skip = (item - row * P.slices) * P.slice;
    return span(P.src_delta + row * P.len + skip, min(P.slice, P.len - skip));
}
//# end
