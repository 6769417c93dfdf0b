fn line_of(k: Keys) -> Line {
    let none = vec4<u32>(0u);
    let c = vec4<u32>(k.even.x, k.odd.x, k.even.y, k.odd.y);
    return Line(none, none, c, vec4<u32>(k.even.z, k.odd.z, k.even.w, k.odd.w));
}

fn line_keys(l: Line) -> Keys {
    return Keys(vec4<u32>(l.c.xz, l.d.xz), vec4<u32>(l.c.yw, l.d.yw));
}

// The keys of the elements at these places and `off`.
fn keys_at(places: Keys, off: u32) -> Keys {
    let o = vec4<u32>(off);
    return Keys(key4(raw4(places.even + o)), key4(raw4(places.odd + o)));
}
