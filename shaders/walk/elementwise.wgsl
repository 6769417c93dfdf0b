// Elementwise: the least of the inputs for every output; CHAINED: and of the results that are there.
//# if VECS == 0

// An invocation writes a word of outputs: any shapes, any alignment.
fn result(o: u32) -> Raw {
    let at = offsets(o);
    var k = key(raw_0(at));
//# for i in 1..INPUTS
    k = combined(k, key(raw_{i}(at)));
//# end
//# if CHAINED
    let e = P.dst_delta + o;
    let w = word_of(e);
    k = combined(k, key(raw_from(dst[w], dst[w + {BITS / 64}u], e)));
//# end
    return element(canonical(k));
}

// At the top of the word.
fn value(o: u32) -> u32 {
    return pack(result(o)).x;
}

@compute @workgroup_size(WG)
fn elementwise(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let w = linear(group) * WG + lid;
    if OUT < 5u {
        if w < P.items {
            write_bits(w, pack(result(w)));
        }
        return;
    }
    write_values(w);
}
//# else

// An invocation writes {VECS} vec4: everything is aligned to 16 bytes, and the last dimension is whole vec4. They lie
// along one dimension of P.along coordinates, apart by the strides behind those of the dimensions in Z.

// Number n of them; where the dimension has ended, the first one again.
fn further(at: Offsets, n: u32) -> Offsets {
    let a = Z.strides[2u * P.dims];
    let b = Z.strides[2u * P.dims + 1u];
    let m = select(0u, n, at.b.w + n * b.w < P.along);
    return Offsets(at.a + m * a, at.b + m * b);
}

fn keys_combined(a: Keys, b: Keys) -> Keys {
    return Keys(
//# for j in 0..PLANES
        plane_combined(a.p{j}, b.p{j}),
//# end
    );
}

@compute @workgroup_size(WG)
fn elementwise(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lid: u32) {
    let item = linear(group) * WG + lid;
    if item >= P.items {
        return;
    }
    let at0 = offsets(item);
    if at0.b.w >= P.along {
        return;
    }
//# for r in 1..VECS
    let at{r} = further(at0, {r}u);
//# end
    // No load waits for another.
//# for r in 0..VECS
//# for i in 0..INPUTS
    let v{r}_{i} = vec_{i}(at{r});
//# end
//# if CHAINED
    let v{r}_{INPUTS} = dst[P.dst_delta + at{r}.b.z];
//# end
//# end
//# for r in 0..VECS
    var k{r} = keys_of(v{r}_0);
//# for i in 1..INPUTS + CHAINED
    k{r} = keys_combined(k{r}, keys_of(v{r}_{i}));
//# end
    dst[P.dst_delta + at{r}.b.z] = words_of(k{r});
//# end
}
//# end
