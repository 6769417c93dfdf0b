// Both extremes from the same keys: in the opposite order a key is what TURN leaves of it.
override TURN: u32;
//# if BITS == 64
override TURN_LO: u32;

fn turned_key(k: Key) -> Key {
    return vec2<u32>(TURN_LO - k.x, TURN - k.y - select(0u, 1u, k.x > TURN_LO));
}

// The same of a canonical key.
fn turned_canonical(k: Key) -> Key {
    return turned_key(k);
}

fn plane_turned(k: Plane) -> Plane {
    return turned_key(k);
}

fn plane_turned_canonical(k: Plane) -> Plane {
    return turned_key(k);
}
//# else

fn turned_key(k: Key) -> Key {
    return TURN - k;
}

// The same of a canonical key.
fn turned_canonical(k: Key) -> Key {
    return turned_key(k) & KEEP;
}

fn plane_turned(k: Plane) -> Plane {
    return Plane(TURN) - k;
}

fn plane_turned_canonical(k: Plane) -> Plane {
    return plane_turned(k) & Plane(KEEP);
}
//# end
