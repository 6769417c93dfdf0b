// A line of keys of 64 bits, or of places, each with a high word of 0.
alias Line = Keys;

fn line_pushed(l: Line, x: Key) -> Line {
    return Line(l.b, x);
}

fn line_select(no: Line, yes: Line, which: bool) -> Line {
    return Line(select(no.a, yes.a, which), select(no.b, yes.b, which));
}

fn line_of(k: Keys) -> Line {
    return k;
}

fn line_keys(l: Line) -> Keys {
    return l;
}

// Indices of 64 bits: two of 32 would be half a vec4.
fn write_places(v: u32, l: Line) {
    dst[P.dst_delta / E + v] = vec4<u32>(l.a, l.b);
}

fn place_key(place: u32) -> Key {
    return vec2<u32>(place, 0u);
}

// The keys of the elements at these places and `off`.
fn keys_at(places: Keys, off: u32) -> Keys {
    return Keys(key(raw(places.a.x + off)), key(raw(places.b.x + off)));
}
