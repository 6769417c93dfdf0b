// The columns in a vec4 of 32-bit elements.
alias Column = Four;

fn column(k: Keys, t: u32) -> Column {
    return four(k, t);
}

fn column_taken(c: Column, k: Keys, t: u32) -> Column {
    return four_taken(c, k, t);
}

fn column_side(c: Column, i: u32) -> Side {
    return four_side(c, i);
}

fn column_least(c: Column) -> Keys {
    return c.least;
}

fn column_places(c: Column) -> Keys {
    return c.at;
}
