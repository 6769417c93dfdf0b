fn tile_four(t: Tile, k: vec4<u32>) -> Tile {
    return tile_one(tile_one(tile_one(tile_one(t, k.x), k.y), k.z), k.w);
}

// Takes the elements of a vec4, in order.
fn tile_taken(t: Tile, v: vec4<u32>) -> Tile {
    let l = line_of(keys_of(v));
    var next = t;
    if E == 16u {
        next = tile_four(tile_four(next, l.a), l.b);
    }
    if E >= 8u {
        next = tile_four(next, l.c);
    }
    return tile_four(next, l.d);
}
