// Writes ONNX's node tests, folders as scripts/onnx_cases.py makes them, as one JSON text; of no folder none.
//
//   node web/onnx.mjs FOLDER

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [folder] = process.argv.slice(2);
const hex = (...path) => readFileSync(join(...path)).toString("hex");

function official(name) {
    const set = join(folder, name, "test_data_set_0");
    const files = (kind) => readdirSync(set).filter((file) => file.startsWith(kind)).length;
    const tensors = (kind) => Array.from({ length: files(kind) }, (_, i) => hex(set, `${kind}_${i}.pb`));
    return { name, model: hex(folder, name, "model.onnx"), inputs: tensors("input"), outputs: tensors("output") };
}

const names = existsSync(folder) ? readdirSync(folder).filter((name) => existsSync(join(folder, name, "model.onnx"))) : [];
process.stdout.write(JSON.stringify(names.map(official)));
