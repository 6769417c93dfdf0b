// Four columns of elements of 32 bits and less: keys at the top of words.
struct Four {
    key: vec4<u32>,
    at: vec4<u32>, // the wide row of the key
}

// No wide row yet; should nothing ever win, row t.
fn four_none(t: u32) -> Four {
    return Four(vec4<u32>(PAD), vec4<u32>(t));
}

// Of earlier and of later rows.
fn four_join(earlier: Four, later: Four) -> Four {
    let tie = (later.key == earlier.key) & vec4<bool>(LAST != 0u);
    let wins = (later.key < earlier.key) | tie;
    return Four(select(earlier.key, later.key, wins), select(earlier.at, later.at, wins));
}

// Begins with the elements low..high of wide row t; the columns of the others begin with t + 1.
fn four_start(k: vec4<u32>, place: vec4<u32>, low: u32, high: u32, t: u32) -> Four {
    let valid = inside(place, low, high);
    let at = select(vec4<u32>(t + 1u), vec4<u32>(t), valid);
    return Four(select(vec4<u32>(PAD), canonical4(k), valid), at);
}

fn four_take(f: Four, k: vec4<u32>, place: vec4<u32>, high: u32, t: u32) -> Four {
    let valid = place < vec4<u32>(high);
    if INDEX == 0u {
        return Four(min(f.key, select(vec4<u32>(PAD), k, valid)), f.at);
    }
    let s = canonical4(k);
    let tie = (s == f.key) & vec4<bool>(LAST != 0u);
    let wins = valid & ((s < f.key) | tie);
    return Four(select(f.key, s, wins), select(f.at, vec4<u32>(t), wins));
}

// Takes the least keys of a block of wide rows that begins with t.
fn four_block(f: Four, k: vec4<u32>, t: u32) -> Four {
    if INDEX == 0u {
        return Four(min(f.key, k), f.at);
    }
    let s = canonical4(k);
    let tie = (s == f.key) & vec4<bool>(LAST != 0u);
    let wins = (s < f.key) | tie;
    return Four(select(f.key, s, wins), select(f.at, vec4<u32>(t), wins));
}
