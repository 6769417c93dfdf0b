// What the columns of a vec4 give.
fn column_line(c: Column) -> Line {
    if INDEX != 0u {
        return line_of(column_places(c));
    }
    return line_of(column_least(c));
}
