// The slice of a row that an item is, and the part of it that each of LANES invocations takes.
override LANES: u32; // a power of two that divides WG
override BLOCKED: u32; // 1: a lane walks a run of its own; 0: the lanes walk abreast

// The elements begin..end of the binding; the vec4 first..last lie wholly among them.
struct Span {
    begin: u32,
    end: u32,
    first: u32,
    last: u32,
}

// A lane's part of the whole vec4: from at on, a lane_step() apart. `last` is the last of them.
struct Walk {
    at: u32,
    end: u32,
    last: u32,
}

fn lane_step() -> u32 {
    return select(LANES, 1u, BLOCKED != 0u);
}

fn span(begin: u32, len: u32) -> Span {
    let first = (begin + E - 1u) / E;
    return Span(begin, begin + len, first, max(first, (begin + len) / E));
}

fn walk(s: Span, lane: u32) -> Walk {
    if BLOCKED == 0u {
        let at = s.first + lane;
        return Walk(at, s.last, s.last - 1u - (s.last - 1u - at) % LANES);
    }
    let run = (s.last - s.first + LANES - 1u) / LANES;
    let at = min(s.first + lane * run, s.last);
    let end = min(at + run, s.last);
    return Walk(at, end, end - 1u);
}

// Of item number `item`: a row has P.slices of them.
fn item_span(item: u32) -> Span {
    let row = item / P.slices;
    let skip = (item - row * P.slices) * P.slice;
    return span(P.src_delta + row * P.len + skip, min(P.slice, P.len - skip));
}
