// Takes the elements of a vec4, in order.
fn tile_taken(t: Tile, v: vec4<u32>) -> Tile {
    let k = keys_of(v);
    return tile_one(tile_one(t, k.a), k.b);
}
