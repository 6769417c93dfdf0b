// The columns in a vec4 of 16-bit elements.
struct Column {
    even: Four,
    odd: Four,
}

fn column(k: Keys, t: u32) -> Column {
    return Column(four(k.even, t), four(k.odd, t));
}

fn column_taken(c: Column, k: Keys, t: u32) -> Column {
    return Column(four_taken(c.even, k.even, t), four_taken(c.odd, k.odd, t));
}

fn column_side(c: Column, i: u32) -> Side {
    if (i & 1u) == 0u {
        return four_side(c.even, i >> 1u);
    }
    return four_side(c.odd, i >> 1u);
}

fn column_least(c: Column) -> Keys {
    return Keys(c.even.least, c.odd.least);
}

fn column_places(c: Column) -> Keys {
    return Keys(c.even.at, c.odd.at);
}
