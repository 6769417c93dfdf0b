// An input of an elementwise kernel that lies in whole vec4, as the output does. Input 0 stands for
// each: its number and binding are put in.
@group(0) @binding(3) var<storage, read> in_0: array<vec4<u32>>;
