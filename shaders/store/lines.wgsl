// Lines: the results of E neighbouring segments, as whole vec4 of values or of indices. A team of P.team neighbouring
// invocations takes as many neighbouring lines, P.coarsening times. In `panels` the groups that share a panel count
// instead of invocations.

fn first_line(invocation: u32) -> u32 {
    let team = invocation / P.team;
    return team * P.team * P.coarsening + invocation - team * P.team;
}

fn end_line(first: u32, lines: u32) -> u32 {
    return min(first + P.team * P.coarsening, lines);
}

//# if BITS == 64
// A line of keys, or of places, each with a high word of 0.
alias Line = Keys;

fn line_pushed(l: Line, x: Key) -> Line {
    return Line(l.p1, x);
}

fn line_select(no: Line, yes: Line, which: bool) -> Line {
    return Line(select(no.p0, yes.p0, which), select(no.p1, yes.p1, which));
}

fn line_of(k: Keys) -> Line {
    return k;
}

fn line_keys(l: Line) -> Keys {
    return l;
}

fn place_key(place: u32) -> Key {
    return vec2<u32>(place, 0u);
}

// Places as keys.
fn places_plane(p: Places) -> Plane {
    return place_key(p);
}

fn key_at(places: Plane, off: u32) -> Plane {
    return key(raw(places.x + off));
}
//# else
// A line of keys, or of places, in order.
struct Line {
//# for q in 0..PLANES
    q{q}: vec4<u32>,
//# end
}

// Appends x, and drops the first.
fn line_pushed(l: Line, x: u32) -> Line {
    return Line(
//# for q in 0..PLANES - 1
        vec4<u32>(l.q{q}.yzw, l.q{q + 1}.x),
//# end
        vec4<u32>(l.q{PLANES - 1}.yzw, x),
    );
}

fn line_select(no: Line, yes: Line, which: bool) -> Line {
    return Line(
//# for q in 0..PLANES
        select(no.q{q}, yes.q{q}, which),
//# end
    );
}

// Element i is in plane i % {PLANES}, at i / {PLANES}.
fn line_of(k: Keys) -> Line {
    return Line(
//# for q in 0..PLANES
        vec4<u32>(
//# for i in 4 * q..4 * q + 4
            k.p{i % PLANES}[{i / PLANES}u],
//# end
        ),
//# end
    );
}

fn line_keys(l: Line) -> Keys {
    return Keys(
//# for j in 0..PLANES
        vec4<u32>(
//# for n in 0..4
            l.q{(n * PLANES + j) / 4}[{(n * PLANES + j) % 4}u],
//# end
        ),
//# end
    );
}

fn place_key(place: u32) -> Key {
    return place;
}

// Places as keys.
fn places_plane(p: Places) -> Plane {
    return p;
}

fn key_at(places: Plane, off: u32) -> Plane {
    let p = places + vec4<u32>(off);
    return key4(vec4<u32>(raw(p.x), raw(p.y), raw(p.z), raw(p.w)));
}
//# end

// The keys of the elements at these places plus `off`.
fn keys_at(places: Keys, off: u32) -> Keys {
    return Keys(
//# for j in 0..PLANES
        key_at(places.p{j}, off),
//# end
    );
}
//# if PARTIAL == 0

fn write_line(v: u32, l: Line) {
    if INDEX != 0u {
        write_places(v, l);
    } else {
        dst[P.dst_delta / E + v] = words_of(line_keys(l));
    }
}

//# if BITS == 64
// Indices of 64 bits: two of 32 would be half a vec4.
fn write_places(v: u32, l: Line) {
    dst[P.dst_delta / E + v] = vec4<u32>(l.p0, l.p1);
}
//# else
// Writes four indices: group n of the binding's results.
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
//# for q in 0..PLANES
    write_four(v * {PLANES}u + {q}u, l.q{q});
//# end
}
//# end
//# end
