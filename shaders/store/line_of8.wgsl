fn line_of(k: Keys) -> Line {
    return Line(
        vec4<u32>(k.a.x, k.b.x, k.c.x, k.d.x),
        vec4<u32>(k.a.y, k.b.y, k.c.y, k.d.y),
        vec4<u32>(k.a.z, k.b.z, k.c.z, k.d.z),
        vec4<u32>(k.a.w, k.b.w, k.c.w, k.d.w),
    );
}

// The same turn of rows and columns leads back.
fn line_keys(l: Line) -> Keys {
    let k = line_of(Keys(l.a, l.b, l.c, l.d));
    return Keys(k.a, k.b, k.c, k.d);
}

// The keys of the elements at these places and `off`.
fn keys_at(places: Keys, off: u32) -> Keys {
    let o = vec4<u32>(off);
    let a = key4(raw4(places.a + o));
    let b = key4(raw4(places.b + o));
    return Keys(a, b, key4(raw4(places.c + o)), key4(raw4(places.d + o)));
}
