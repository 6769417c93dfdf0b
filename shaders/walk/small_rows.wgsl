// Small rows, wherever they begin. A tile is E rows: as many vec4 as a row has elements. An invocation takes these one
// after the other, unrolled for rows of {UNROLLED} elements; 0: in a loop.
override WG: u32;

//# if PACKED
// The best of a row: its key; for an index, packed with its place.
alias Cell = Key;

fn cell_first(k: Key) -> Cell {
    return cell_of(k, 0u);
}

fn cell_of(k: Key, place: u32) -> Cell {
    if INDEX == 0u {
        return k;
    }
    return packed(k, place);
}

fn cell_result(c: Cell) -> Key {
    if INDEX != 0u {
        return place_key(place_of(c));
    }
    return c;
}

fn cell_next(c: Cell, k: Key, place: u32) -> Cell {
    return combined(c, cell_of(k, place));
}

fn cell_select(no: Cell, yes: Cell, which: bool) -> Cell {
    return select(no, yes, which);
}
//# else
// The best of a row, and its place.
struct Cell {
    key: Key,
    at: u32,
}

// The key to compare: for an index the canonical one.
fn cell_key(k: Key) -> Key {
    if INDEX != 0u {
        return canonical(k);
    }
    return k;
}

fn cell_result(c: Cell) -> Key {
    if INDEX != 0u {
        return place_key(c.at);
    }
    return c.key;
}

// A row's first element.
fn cell_first(k: Key) -> Cell {
    return Cell(cell_key(k), 0u);
}

// Another one, at its place in the row.
fn cell_next(c: Cell, k: Key, place: u32) -> Cell {
    let key = cell_key(k);
    if INDEX == 0u {
        return Cell(combined(c.key, key), 0u);
    }
    let wins = replaces(key, c.key);
    return Cell(select(c.key, key, wins), select(c.at, place, wins));
}

fn cell_select(no: Cell, yes: Cell, which: bool) -> Cell {
    return Cell(select(no.key, yes.key, which), select(no.at, yes.at, which));
}
//# end
//# if UNROLLED == 0

// A walk through a tile in a loop.
struct Tile {
    line: Line, // of the rows that are done
    cell: Cell,
    next: u32, // the place of the next element in its row
}

// An element of a row of any length.
fn tile_one(t: Tile, k: Key) -> Tile {
    let other = cell_next(t.cell, k, t.next);
    let first = cell_first(k);
    let begins = t.next == 0u;
    let cell = cell_select(other, first, begins);
    let next = t.next + 1u;
    let done = next == P.len;
    let line = line_select(t.line, line_pushed(t.line, cell_result(cell)), done);
    return Tile(line, cell, select(next, 0u, done));
}

fn small_rows_at(first: u32) -> Line {
    var t: Tile;
    for (var i = 0u; i < P.len; i++) {
        let k = keys_of(src[first + i]);
//# for e in 0..E
        t = tile_one(t, plane_key(k.p{e % PLANES}, {e / PLANES}u));
//# end
    }
    return t.line;
}
//# else

fn small_rows_at(first: u32) -> Line {
    var line: Line;
    var c: Cell;
//# for i in 0..UNROLLED
    let k{i} = keys_of(src[first + {i}u]);
//# for e in i * E..(i + 1) * E
//# if e % UNROLLED == 0
    c = cell_first(plane_key(k{i}.p{e % PLANES}, {e % E / PLANES}u));
//# else
    c = cell_next(c, plane_key(k{i}.p{e % PLANES}, {e % E / PLANES}u), {e % UNROLLED}u);
//# end
//# if e % UNROLLED == UNROLLED - 1
    line = line_pushed(line, cell_result(c));
//# end
//# end
//# end
    return line;
}
//# end

@compute @workgroup_size(WG)
fn small_rows(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = first_line(linear(group) * WG + lid);
//# if COARSENED
    let end = end_line(first, P.items);
    for (var v = first; v < end; v += P.team) {
        write_line(v, small_rows_at(P.src_delta / E + v * P.len));
    }
//# else
    if first < P.items {
        write_line(first, small_rows_at(P.src_delta / E + first * P.len));
    }
//# end
}
