// The page: asks for a device, takes numbers or a file, shows what came out.

import init, { Device, charts_of, elements_of, most_bytes } from "./wgreduce_web.js";
import { readNpy } from "./npy.js";

const $ = (id) => document.getElementById(id);
const OPERATORS = ["ArgMin", "ArgMax", "ReduceMin", "ReduceMax", "TopK",
    "ReduceSum", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare"];
// The fields of options that not every operator has.
const OPTIONS = {
    k: (op) => op === "TopK",
    largest: (op) => op === "TopK",
    keepdims: (op) => op !== "TopK",
    last: (op) => op.startsWith("Arg"),
};
const TYPES = ["float32", "float16", "bfloat16", "float64", "int8", "int16", "int32", "int64",
    "uint8", "uint16", "uint32", "uint64", "bool"];

// Characters; text takes much more room once it is read.
const MOST_TYPED = 4_000_000;

let device;
let file;
// The shape and type of the typed numbers, while those of a file are shown.
let typed;
let saved;
let stopped;

// A program that traps, out of memory or by a panic, answers no more: whoever waits for it must be told.
let end;
const ended = new Promise((_, refuse) => end = refuse);
ended.catch(() => {});
let lastWords = "it had no memory left, or met what it did not foresee";

function notice(error) {
    if (!(error instanceof WebAssembly.RuntimeError)) {
        return;
    }
    const sentence = `The page's program has ended: ${lastWords}. Nothing more can be asked of it: reload the page.`;
    for (const control of document.querySelectorAll("fieldset, #check")) {
        control.dataset.ended = control.disabled = true;
    }
    say("status", sentence, "bad");
    end(new Error(sentence));
}

addEventListener("error", (event) => notice(event.error));
addEventListener("unhandledrejection", (event) => notice(event.reason));

function sentence(words) {
    return words.charAt(0).toUpperCase() + words.slice(1) + (words.endsWith(".") ? "" : ".");
}

// What the program answers, if it lives.
async function asked(call) {
    try {
        return await Promise.race([call(), ended]);
    } catch (error) {
        notice(error);
        throw error instanceof WebAssembly.RuntimeError ? await ended.catch((why) => why) : new Error(sentence(error.message));
    }
}

function enable(control) {
    control.disabled = Boolean(control.dataset.ended);
}

function say(id, text, kind = "") {
    $(id).textContent = text;
    $(id).className = kind;
}

// The whole numbers of a field.
function integers(id, least = -Infinity) {
    const words = $(id).value.split(/[\s,()[\]]+/).filter(Boolean);
    const numbers = words.map(Number);
    const odd = words.find((_, i) => !Number.isSafeInteger(numbers[i]) || numbers[i] < least);
    if (odd !== undefined) {
        const name = $(id).labels[0].textContent.trim();
        throw new Error(`${name}: “${odd}” is no whole number${least === 0 ? " from 0" : ""}.`);
    }
    return numbers;
}

// The one number of TopK's field.
function count() {
    const numbers = integers("k", 0);
    if (numbers.length !== 1) {
        throw new Error(`k: one whole number is needed, and there are ${numbers.length}.`);
    }
    return numbers[0];
}

async function about() {
    // Browsers tell more of an adapter than its name, which some keep to themselves.
    const { vendor, architecture, description } = (await navigator.gpu.requestAdapter())?.info ?? {};
    const adapter = [vendor, architecture, description].filter(Boolean).join(" ") || "the browser does not say";
    return { adapter, ...JSON.parse(device.about()) };
}

function describe(about) {

    const limits = Object.entries(about.limits).map(([name, value]) => [name, value.toLocaleString("en")]);
    const rows = [
        ["adapter", about.adapter],
        ["tuned as", about.class],
        ["timestamps", about.timestamps ? "yes" : "no"],
        ["browser", navigator.userAgent],
        ...limits,
    ];
    $("about").replaceChildren(...rows.flatMap(([name, value]) => {
        const [term, text] = [document.createElement("dt"), document.createElement("dd")];
        term.textContent = name;
        text.textContent = value;
        return [term, text];
    }));
    $("about").hidden = false;
}

async function takeFile(blob) {
    const fields = $("try").firstElementChild;
    fields.disabled = true;
    forgetFile();
    try {
        if (blob.size > most_bytes()) {
            throw new Error(`it has ${blob.size.toLocaleString("en")} bytes, and this page takes `
                + `${most_bytes().toLocaleString("en")} at most: the tool wgreduce takes files of any size.`);
        }
        file = readNpy(await blob.arrayBuffer());
        typed = { shape: $("shape").value, dtype: $("dtype").value };
        $("dtype").value = file.dtype;
        $("shape").value = file.shape.join(", ");
        $("name").textContent = $("name").title = blob.name;
        $("kind").textContent = `: ${file.dtype}, ${file.data.length.toLocaleString("en")} bytes`;
    } catch (error) {
        say("verdict", `${blob.name} cannot be read: ${error.message}`, "bad");
    }
    enable(fields);
    showInput();
}

// Back to the typed numbers; nothing of the file is left, nor a result.
function forgetFile() {
    for (const [id, value] of Object.entries(typed ?? {})) {
        $(id).value = value;
    }
    file = typed = undefined;
    say("verdict", "");
    $("result").hidden = true;
    showInput();
}

function showInput() {
    $("file").hidden = $("forget").hidden = !file;
    $("numbers").disabled = $("shape").disabled = $("dtype").disabled = Boolean(file);
    for (const [id, has] of Object.entries(OPTIONS)) {
        $(id).labels[0].hidden = !has($("op").value);
    }
}

// Type and shape, and the values in rows of the last dimension.
function shown(output) {
    const width = output.shape.at(-1) ?? 1;
    const lines = [`${output.dtype} [${output.shape.join(", ")}]`];
    for (let i = 0; i < output.shown.length; i += width) {
        lines.push(output.shown.slice(i, i + width).join("  "));
    }
    if (output.shown.length < output.elements) {
        lines.push(`… ${(output.elements - output.shown.length).toLocaleString("en")} more`);
    }
    return lines.join("\n");
}

async function reduce(event) {
    event.preventDefault();
    const fields = $("try").firstElementChild;
    fields.disabled = true;
    $("result").hidden = true;
    say("verdict", "Reducing …");
    try {
        const [op, dtype] = [$("op").value, $("dtype").value];
        const request = {
            op,
            dtype,
            shape: integers("shape", 0),
            axes: integers("axes"),
            ignore_nan: $("ignore-nan").checked,
            fortran: file?.fortran ?? false,
            ...OPTIONS.keepdims(op) && { keepdims: $("keepdims").checked },
            ...OPTIONS.last(op) && { select_last_index: $("last").checked },
            ...OPTIONS.k(op) && { k: count(), largest: $("largest").checked },
        };
        const text = $("numbers").value;
        if (!file && text.length > MOST_TYPED) {
            throw new Error(`${text.length.toLocaleString("en")} characters are typed, and this page reads `
                + `${MOST_TYPED.toLocaleString("en")} at most: drop an .npy file.`);
        }
        const answer = JSON.parse(await asked(() =>
            device.reduce(JSON.stringify(request), file ? file.data : elements_of(dtype, text))));
        // Of several outputs each has its name: TopK's.
        const names = answer.outputs.length > 1 ? ["values: ", "indices: "] : [""];
        $("result").textContent = answer.outputs.map((output, i) => names[i] + shown(output)).join("\n");
        $("result").hidden = false;
        const verdict = answer.difference ?? "the CPU reference agrees, byte for byte";
        say("verdict", `${answer.milliseconds.toFixed(2)} ms with upload and readback; ${verdict}.`,
            answer.difference ? "bad" : "good");
    } catch (error) {
        say("verdict", error.message, "bad");
    }
    enable(fields);
    showInput();
}

function row(measured) {
    const line = document.createElement("tr");
    const cell = (text, kind = "") => {
        const cell = line.insertCell();
        cell.textContent = text;
        cell.className = kind;
        return cell;
    };
    cell(measured.case);
    cell(measured.op);
    cell(measured.dtype);
    const shapes = measured.inputs.map((shape) => `[${shape.join(", ")}]`).join(" ");
    const axes = measured.axes.join(" ");
    cell(axes ? `${shapes}, ${axes}` : shapes, "shape");
    if (!measured.verified) {
        cell(measured.error, "bad").colSpan = 3;
        return line;
    }
    cell(((measured.gpu_ns ?? measured.wall_ns) / 1e6).toFixed(3), "number");
    cell(measured.gbps.toFixed(2), "number");
    const share = document.createElement("meter");
    share.value = Math.min(measured.ratio, 1);
    cell(`${measured.ratio.toFixed(2)} `).append(share);
    return line;
}

async function measure(event) {
    event.preventDefault();
    const fields = $("measure").firstElementChild;
    fields.disabled = $("save").hidden = true;
    $("rows").hidden = true;
    $("charts").replaceChildren();
    $("running").hidden = false;
    $("stop").disabled = stopped = false;
    say("measured", "");
    let wanted = 0;
    try {
        const measured = await asked(() => device.measure($("filter").value.trim(), (done, all, next) => {
            $("measuring").max = wanted = all;
            $("measuring").value = done;
            say("measured", `${done} of ${all}: ${next}`);
            return stopped;
        }));
        const rows = JSON.parse(measured);
        if (rows.length === 0) {
            throw new Error("Stopped before the first case was measured.");
        }
        // Nothing of it comes from elsewhere: names of cases, operators and types, and numbers.
        $("charts").innerHTML = await asked(() => charts_of(measured));
        const { adapter, limits } = await about();
        saved = rows.map((row) => ({ ...row, device: adapter, driver: navigator.userAgent, limits }));
        $("rows").tBodies[0].replaceChildren(...rows.map(row));
        $("rows").hidden = $("save").hidden = false;
        const wrong = rows.filter((row) => !row.verified).length;
        const shares = rows.filter((row) => row.verified).map((row) => row.ratio).sort((a, b) => a - b);
        const middle = shares.length ? ` The median share of the ceiling is ${shares[shares.length >> 1].toFixed(2)}.` : "";
        const part = rows.length < wanted ? `Stopped after ${rows.length} of ${wanted} cases. ` : "";
        const clock = rows.some((row) => row.timed_by === "timestamps") ? "the GPU's clock" : "the page's clock, many to a submission";
        say("measured", `${part}${rows.length - wrong} of ${rows.length} cases are right, timed by ${clock}.${middle}`,
            wrong ? "bad" : "good");
    } catch (error) {
        say("measured", error.message, "bad");
    }
    $("running").hidden = true;
    enable(fields);
}

// A case that has begun is measured to its end.
function stop() {
    $("stop").disabled = stopped = true;
    say("measured", `Stops after this: ${$("measured").textContent}`);
}

function save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(saved, null, 2)], { type: "application/json" }));
    link.download = "wgreduce.json";
    link.click();
    URL.revokeObjectURL(link.href);
}

async function fetched(name) {
    const response = await fetch(name).catch((error) => {
        throw new Error(`${name} cannot be fetched: ${error.message}.`);
    });
    if (!response.ok) {
        throw new Error(`${name} cannot be fetched: the server answers ${response.status}.`);
    }
    return response.text();
}

async function check() {
    $("check").disabled = true;
    $("failures").replaceChildren();
    $("progress").hidden = false;
    say("checked", "");
    try {
        const [cases, official] = await Promise.all(["cases.json", "onnx.json"].map(fetched));
        const start = performance.now();
        const result = JSON.parse(await asked(() => device.check(cases, official, (done, all) => {
            $("progress").max = all;
            $("progress").value = done;
        })));
        const failed = result.failed.length;
        const all = result.golden + result.onnx + result.interfaces;
        const seconds = ((performance.now() - start) / 1000).toFixed(1);
        const onnx = result.onnx ? `${result.onnx} of ONNX's own tests` : "none of ONNX's own tests, which this page lacks";
        say("checked", `${all - failed} of ${all} cases are right, byte for byte, in ${seconds} s: `
            + `${result.golden} small tensors, ${onnx}, and ${result.interfaces} of the library's interfaces.`,
            failed ? "bad" : "good");
        for (const failure of result.failed.slice(0, 20)) {
            const line = document.createElement("li");
            line.textContent = failure;
            $("failures").append(line);
        }
    } catch (error) {
        say("checked", error.message, "bad");
    }
    $("progress").hidden = true;
    enable($("check"));
}

async function open() {
    for (const [select, names] of [["dtype", TYPES], ["op", OPERATORS]]) {
        $(select).append(...names.map((name) => new Option(name)));
    }
    if (!navigator.gpu) {
        say("status", "This browser has no WebGPU, or keeps it from this page: it is there in current Chrome, Edge, "
            + "Safari and Firefox, on pages from https or from this machine.", "bad");
        return;
    }
    try {
        await init();
        device = await asked(() => Device.open((words) => lastWords = words));
    } catch (error) {
        say("status", `WebGPU is here, but no device that can be used: ${error.message}`, "bad");
        return;
    }
    describe(await about());
    say("status", "Ready: the self-test passed.", "good");
    enable($("try").firstElementChild);
    enable($("measure").firstElementChild);
    enable($("check"));

    $("measure").addEventListener("submit", measure);
    $("stop").addEventListener("click", stop);
    $("save").addEventListener("click", save);
    $("try").addEventListener("submit", reduce);
    $("check").addEventListener("click", check);
    $("op").addEventListener("change", showInput);
    $("choose").addEventListener("click", () => $("npy").click());
    $("npy").addEventListener("change", () => {
        takeFile($("npy").files[0]);
        // So that the same file can be chosen again.
        $("npy").value = "";
    });
    $("forget").addEventListener("click", forgetFile);
    const zone = $("try").closest("section");
    for (const [name, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
        zone.addEventListener(name, (event) => {
            event.preventDefault();
            zone.classList.toggle("over", over);
        });
    }
    zone.addEventListener("drop", (event) => {
        const [dropped] = event.dataTransfer.files;
        // What runs is of the file before.
        if (dropped && !$("try").firstElementChild.disabled) {
            takeFile(dropped);
        }
    });
    // For tests, and for the curious.
    globalThis.wgreduce = { device };
}

open();
