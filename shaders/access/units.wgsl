// The source in units of {WORDS} words, which hold {PER} elements. A walk reads several before it uses one.
const PER: u32 = {PER}u;
//# if WORDS == 4
alias Unit = vec4<u32>;

fn unit(u: u32) -> Unit {
    return src[u];
}

fn unit_once(u: Unit, first: bool) -> Unit {
    return once(u, first);
}
//# else
alias Unit = u32;

fn unit(u: u32) -> Unit {
    return words[u];
}

fn unit_once(u: Unit, first: bool) -> Unit {
    return once(vec4<u32>(u), first).x;
}
//# end

fn unit_keys(u: Unit) -> Keys {
    return keys_of(vec4<u32>(u));
}
//# for i in 0..PER

fn key_{i}(k: Keys) -> Key {
    return plane_key(k.p{i % PLANES}, {i / PLANES}u);
}
//# end
