// What the columns of a vec4 give.
fn column_line(c: Column) -> Line {
    if INDEX != 0u {
        return line_of(column_places(c));
    }
    return line_of(column_least(c));
}

fn write_column(v: u32, end: u32, c: Column) {
    if v < end {
        write_line(v, column_line(c));
    }
}
