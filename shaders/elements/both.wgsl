// Both extremes from the same keys: in the opposite order a key is what TURN leaves of it. Zeros tie, and so do NaNs, but their
// keys differ, so that the best one has the value; those that tie with it follow it, up to `plane_end`.
override TURN: u32;
//# if BITS == 64
override TURN_LO: u32;

fn plane_turned(k: Plane) -> Plane {
    return vec2<u32>(TURN_LO - k.x, TURN - k.y - select(0u, 1u, k.x > TURN_LO));
}

fn plane_end(k: Plane) -> Plane {
    var end = k;
//# if FLOORED
    let floor = vec2<u32>(FLOOR_LO, FLOOR);
    end = select(k, floor, less(k, floor));
//# end
//# if ZEROS
    end = select(end, vec2<u32>(ZERO_TO_LO, ZERO_TO), same(k, vec2<u32>(ZERO_LO, ZERO)));
//# end
    return end;
}
//# else

// What lies below a key borrows nothing from it.
fn plane_turned(k: Plane) -> Plane {
    return Plane(TURN | ~KEEP) - k;
}

fn plane_end(k: Plane) -> Plane {
    var end = k | Plane(~KEEP);
//# if FLOORED
    end = max(end, Plane(FLOOR | ~KEEP));
//# end
//# if ZEROS
    end = select(end, Plane(ZERO_TO | ~KEEP), end == Plane(ZERO | ~KEEP));
//# end
    return end;
}
//# end

fn turned(k: Key) -> Key {
    return plane_key(plane_turned(Plane(k)), 0u);
}

fn end_of(k: Key) -> Key {
    return plane_key(plane_end(Plane(k)), 0u);
}

// The keys of a vec4's elements, which can be turned.
fn keys_ceiled(v: vec4<u32>) -> Keys {
    let k = keys_of(v);
    return Keys(
//# for j in 0..PLANES
        plane_ceiled(k.p{j}),
//# end
    );
}

fn key_ceiled(r: Raw) -> Key {
    return plane_key(plane_ceiled(Plane(key(r))), 0u);
}

// The element of a key.
fn extreme(k: Key, high: bool) -> Raw {
    return element(bounded(select(k, turned(k), high)));
}
