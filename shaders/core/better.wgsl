// The tie rule: the lower key wins, then the lower index; the higher with LAST. Accumulators that keep order have it shorter.
override LAST: u32;

// A candidate: a canonical key and its place in the segment, low and high word.
struct Best {
    key: Key,
    index: vec2<u32>,
}

fn after(a: vec2<u32>, b: vec2<u32>) -> bool {
    return (a.y > b.y) | ((a.y == b.y) & (a.x > b.x));
}

fn better(a: Best, b: Best) -> bool {
    let tie = select(after(b.index, a.index), after(a.index, b.index), LAST != 0u);
    return less(a.key, b.key) | (same(a.key, b.key) & tie);
}

// The result of two candidates of a segment.
fn joined(a: Best, b: Best) -> Best {
//# if TERMS
    return Best(combined(a.key, b.key), a.index);
//# else
    if better(a, b) {
        return a;
    }
    return b;
//# end
}

// Whether a key met later in the segment replaces one met before.
fn replaces(later: Key, best: Key) -> bool {
    return less(later, best) | ((LAST != 0u) & same(later, best));
}

// The place of an element that is not there: it loses every tie.
fn nowhere() -> vec2<u32> {
    return vec2<u32>(select(0xffffffffu, 0u, LAST != 0u));
}

// The place in the whole segment of a place in the region.
fn placed(i: u32) -> vec2<u32> {
    let lo = i + P.base_lo;
    return vec2<u32>(lo, P.base_hi + select(0u, 1u, lo < i));
}
