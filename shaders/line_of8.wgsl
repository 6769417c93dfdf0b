fn line_of(k: Keys) -> Line {
    return Line(
        vec4<u32>(k.a.x, k.b.x, k.c.x, k.d.x),
        vec4<u32>(k.a.y, k.b.y, k.c.y, k.d.y),
        vec4<u32>(k.a.z, k.b.z, k.c.z, k.d.z),
        vec4<u32>(k.a.w, k.b.w, k.c.w, k.d.w),
    );
}

fn line_keys(l: Line) -> Keys {
    return Keys(
        vec4<u32>(l.a.x, l.b.x, l.c.x, l.d.x),
        vec4<u32>(l.a.y, l.b.y, l.c.y, l.d.y),
        vec4<u32>(l.a.z, l.b.z, l.c.z, l.d.z),
        vec4<u32>(l.a.w, l.b.w, l.c.w, l.d.w),
    );
}

// The keys of the elements at these places and `off`.
fn keys_at(places: Keys, off: u32) -> Keys {
    let o = vec4<u32>(off);
    let a = key4(raw4(places.a + o));
    let b = key4(raw4(places.b + o));
    return Keys(a, b, key4(raw4(places.c + o)), key4(raw4(places.d + o)));
}
