// The source, as words: any word of it can be read, whatever the size of the binding.
@group(0) @binding(3) var<storage, read> words: array<u32>;
