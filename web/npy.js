// NumPy's .npy files, of plain little-endian arrays.

const TYPES = {
    b1: "bool", i1: "int8", i2: "int16", i4: "int32", i8: "int64",
    u1: "uint8", u2: "uint16", u4: "uint32", u8: "uint64",
    f2: "float16", f4: "float32", f8: "float64",
    // NumPy has no bfloat16: it is written as two bytes without a meaning.
    V2: "bfloat16",
};

// The element type, shape, order and bytes of a file; throws why one cannot be read, as the end of a sentence.
export function readNpy(buffer) {
    const bytes = new Uint8Array(buffer);
    const magic = [0x93, ...new TextEncoder().encode("NUMPY")];
    if (bytes.length < 10 || magic.some((byte, i) => bytes[i] !== byte)) {
        throw new Error("it is not in NumPy's .npy format.");
    }
    const view = new DataView(buffer);
    const long = bytes[6] > 1;
    const start = long ? 12 : 10;
    if (bytes.length < start) {
        throw new Error("it ends within its header.");
    }
    const end = start + (long ? view.getUint32(8, true) : view.getUint16(8, true));
    if (end > bytes.length) {
        throw new Error("it ends within its header.");
    }
    const header = new TextDecoder("latin1").decode(bytes.subarray(start, end));
    const descr = /'descr':\s*'([<>=|]?)(\w\d+)'/.exec(header);
    const order = /'fortran_order':\s*(True|False)/.exec(header);
    const dims = /'shape':\s*\(([\d,\s]*)\)/.exec(header);
    if (!order || !dims || !/'descr'/.test(header)) {
        throw new Error("its header is malformed.");
    }
    const dtype = descr && TYPES[descr[2]];
    if (!dtype) {
        const [, code] = /'descr':\s*'([^']*)'/.exec(header) ?? [];
        throw new Error(`its elements are ${code ? `of NumPy's type “${code}”` : "records"}, which cannot be reduced.`);
    }
    if (descr[1] === ">" && !descr[2].endsWith("1")) {
        throw new Error("its elements are big-endian, and this page reads little-endian ones.");
    }
    const shape = dims[1].split(",").map((dim) => dim.trim()).filter(Boolean).map(Number);
    const size = dtype === "bool" ? 1 : Number(/\d+/.exec(descr[2])[0]);
    const expected = shape.reduce((all, dim) => all * dim, size);
    if (expected !== bytes.length - end) {
        const [wanted, there] = [expected, bytes.length - end].map((n) => n.toLocaleString("en"));
        throw new Error(`its header says ${dtype} of shape [${shape.join(", ")}], ${wanted} bytes, and ${there} follow it.`);
    }
    return { dtype, shape, fortran: order[1] === "True", data: bytes.subarray(end) };
}
