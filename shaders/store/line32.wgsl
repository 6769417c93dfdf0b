// A line of keys of 32 bits and less, or of places: the last E of these, in order.
struct Line {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
    d: vec4<u32>,
}

// With another one behind the last.
fn line_pushed(l: Line, x: u32) -> Line {
    let a = vec4<u32>(l.a.yzw, l.b.x);
    let b = vec4<u32>(l.b.yzw, l.c.x);
    return Line(a, b, vec4<u32>(l.c.yzw, l.d.x), vec4<u32>(l.d.yzw, x));
}

fn line_select(no: Line, yes: Line, which: bool) -> Line {
    let w = vec4<bool>(which);
    let a = select(no.a, yes.a, w);
    let b = select(no.b, yes.b, w);
    return Line(a, b, select(no.c, yes.c, w), select(no.d, yes.d, w));
}

// Writes four indices, number n of the binding's results in fours.
fn write_four(n: u32, places: vec4<u32>) {
    if OUT == 1u {
        let at = P.dst_delta / 2u + 2u * n;
        dst[at] = vec4<u32>(places.x, 0u, places.y, 0u);
        dst[at + 1u] = vec4<u32>(places.z, 0u, places.w, 0u);
    } else {
        dst[P.dst_delta / 4u + n] = places;
    }
}

fn write_places(v: u32, l: Line) {
    let end = (v + 1u) * (E / 4u);
    if E == 16u {
        write_four(end - 4u, l.a);
        write_four(end - 3u, l.b);
    }
    if E >= 8u {
        write_four(end - 2u, l.c);
    }
    write_four(end - 1u, l.d);
}

fn place_key(place: u32) -> Key {
    return place;
}

fn raw4(places: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(raw(places.x), raw(places.y), raw(places.z), raw(places.w));
}
