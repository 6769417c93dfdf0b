// The columns in a vec4 of 8-bit elements.
struct Column {
    a: Four,
    b: Four,
    c: Four,
    d: Four,
}

fn column(k: Keys, t: u32) -> Column {
    return Column(four(k.a, t), four(k.b, t), four(k.c, t), four(k.d, t));
}

fn column_taken(f: Column, k: Keys, t: u32) -> Column {
    let a = four_taken(f.a, k.a, t);
    let b = four_taken(f.b, k.b, t);
    return Column(a, b, four_taken(f.c, k.c, t), four_taken(f.d, k.d, t));
}

fn column_side(f: Column, i: u32) -> Side {
    switch i & 3u {
        case 0u: {
            return four_side(f.a, i >> 2u);
        }
        case 1u: {
            return four_side(f.b, i >> 2u);
        }
        case 2u: {
            return four_side(f.c, i >> 2u);
        }
        default: {
            return four_side(f.d, i >> 2u);
        }
    }
}

fn column_least(c: Column) -> Keys {
    return Keys(c.a.least, c.b.least, c.c.least, c.d.least);
}

fn column_places(c: Column) -> Keys {
    return Keys(c.a.at, c.b.at, c.c.at, c.d.at);
}
