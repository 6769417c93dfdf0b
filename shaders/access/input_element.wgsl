// An input of an elementwise kernel that is read element by element, whatever its place. Input 0
// stands for each: its number and binding are put in.
@group(0) @binding(3) var<storage, read> in_0: array<u32>;

fn raw_0(e: u32) -> Raw {
    let w = word_of(e);
    return raw_from(in_0[w], in_0[w + HIGH], e);
}
