// The columns in a vec4 of 64-bit elements.
struct Column {
    a: Side,
    b: Side,
}

fn column(k: Keys, t: u32) -> Column {
    return Column(side(k.a, t), side(k.b, t));
}

fn column_taken(c: Column, k: Keys, t: u32) -> Column {
    return Column(taken(c.a, k.a, t), taken(c.b, k.b, t));
}

fn column_side(c: Column, i: u32) -> Side {
    if i == 0u {
        return c.a;
    }
    return c.b;
}

fn column_least(c: Column) -> Keys {
    return Keys(c.a.least, c.b.least);
}

fn column_places(c: Column) -> Keys {
    return Keys(vec2<u32>(c.a.at, 0u), vec2<u32>(c.b.at, 0u));
}
