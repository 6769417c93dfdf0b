// Tiles: short rows, wherever they begin: E rows, a tile, are as many vec4 as a row has elements.
// `tile_at` takes them one after the other, written out for one LEN or in a loop.
override WG: u32;
override LEN: u32; // elements of a row that the kernel is made for; 0: P.len

struct Tile {
    line: Line, // of the rows that are done
    key: Key, // the best of this one
    at: u32,
    next: u32, // the place of the next element in its row
}

fn tile_none() -> Tile {
    var t: Tile;
    return t;
}

fn row_len() -> u32 {
    return select(P.len, LEN, LEN != 0u);
}

fn tile_one(t: Tile, k: Key) -> Tile {
    var key = k;
    if INDEX != 0u {
        key = settle(k);
    }
    let wins = t.next == 0u || replaces(key, t.key);
    let best = select(t.key, key, wins);
    let at = select(t.at, t.next, wins);
    var result = best;
    if INDEX != 0u {
        result = place_key(at);
    }
    let next = t.next + 1u;
    let done = next == row_len();
    let line = line_select(t.line, line_pushed(t.line, result), done);
    return Tile(line, best, at, select(next, 0u, done));
}

@compute @workgroup_size(WG)
fn tiles(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let first = first_line(linear(group) * WG + lid);
    let end = end_line(first, P.items);
    for (var v = first; v < end; v += P.lanes) {
        write_line(v, tile_at(P.src_delta / E + v * row_len()).line);
    }
}
