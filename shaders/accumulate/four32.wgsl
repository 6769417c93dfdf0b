// Four columns, each as `Side`.
struct Four {
    least: vec4<u32>,
    key: vec4<u32>,
    at: vec4<u32>,
}

fn four(k: vec4<u32>, t: u32) -> Four {
    return Four(k, canonical4(k), vec4<u32>(t));
}

fn four_taken(f: Four, k: vec4<u32>, t: u32) -> Four {
    let s = canonical4(k);
    let wins = (s < f.key) | ((s == f.key) & vec4<bool>(LAST != 0u));
    return Four(min(f.least, k), select(f.key, s, wins), select(f.at, vec4<u32>(t), wins));
}

fn four_side(f: Four, i: u32) -> Side {
    return Side(f.least[i], f.key[i], f.at[i]);
}
