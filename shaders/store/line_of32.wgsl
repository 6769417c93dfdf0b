fn line_of(k: Keys) -> Line {
    let none = vec4<u32>(0u);
    return Line(none, none, none, k);
}

fn line_keys(l: Line) -> Keys {
    return l.d;
}

// The keys of the elements at these places and `off`.
fn keys_at(places: Keys, off: u32) -> Keys {
    return key4(raw4(places + vec4<u32>(off)));
}
