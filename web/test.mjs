// Drives the page in Chromium, headless, with WebGPU over SwiftShader.
//
//   node web/test.mjs SITE [SCREENSHOTS [TEXT]]
//
// SITE is what scripts/web builds; pictures of the page are written to SCREENSHOTS. With TEXT only the tests that have it in
// their name.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile, mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";

const [site, pictures, text = ""] = process.argv.slice(2);
const KINDS = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json",
    ".wasm": "application/wasm",
};
const BROWSERS = ["chromium", "chromium-browser", "google-chrome"];
const GPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
// Faults for a page to meet, none until they are asked for. What a faulty call makes is void, as a browser's is.
const FAULTS = `{
    const { pushErrorScope, popErrorScope, createBuffer, createComputePipeline } = GPUDevice.prototype;
    const { destroy } = GPUBuffer.prototype;
    globalThis.faults = {
        // Which buffers are not to be had, by their bytes.
        buffers: () => false,
        // Kernels a driver refuses.
        kernels: false,
        // Buffers that are not destroyed, their bytes, and the most that these ever were.
        live: new Set(), bytes: 0, most: 0,
        pipelines: 0,
    };
    const scopes = [];
    GPUDevice.prototype.pushErrorScope = function (filter) {
        scopes.push({ filter });
        return pushErrorScope.call(this, filter);
    };
    GPUDevice.prototype.popErrorScope = async function () {
        const { error } = scopes.pop();
        return await popErrorScope.call(this) ?? error ?? null;
    };
    const fail = (filter, error) => {
        const scope = scopes.findLast((scope) => scope.filter === filter);
        if (scope) {
            scope.error ??= error;
        }
    };
    // What a call makes that the browser refuses, in a scope that nobody asks.
    const refused = (device, call) => {
        pushErrorScope.call(device, "validation");
        const made = call();
        popErrorScope.call(device);
        return made;
    };
    GPUDevice.prototype.createBuffer = function (descriptor) {
        const { size } = descriptor;
        if (faults.buffers(size)) {
            fail("out-of-memory", new GPUOutOfMemoryError("no room"));
            return refused(this, () => createBuffer.call(this, { ...descriptor, usage: 0 }));
        }
        const buffer = createBuffer.call(this, descriptor);
        faults.live.add(buffer);
        faults.bytes += size;
        faults.most = Math.max(faults.most, faults.bytes);
        return buffer;
    };
    GPUBuffer.prototype.destroy = function () {
        if (faults.live.delete(this)) {
            faults.bytes -= this.size;
        }
        destroy.call(this);
    };
    GPUDevice.prototype.createComputePipeline = function (descriptor) {
        faults.pipelines += 1;
        if (!faults.kernels) {
            return createComputePipeline.call(this, descriptor);
        }
        fail("internal", new GPUInternalError("the driver refuses"));
        return refused(this, () => createComputePipeline.call(this,
            { ...descriptor, compute: { ...descriptor.compute, entryPoint: "none" } }));
    };
}`;
// A machine with two cores that does something else beside it.
const PATIENCE = 240_000;

async function serve() {
    const server = createServer(async (request, response) => {
        const path = normalize(new URL(request.url, "http://localhost").pathname).replace(/\/$/, "/index.html");
        try {
            const body = await readFile(join(site, path));
            response.writeHead(200, { "content-type": KINDS[extname(path)] ?? "application/octet-stream" }).end(body);
        } catch {
            response.writeHead(404).end();
        }
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    return { address: `http://localhost:${server.address().port}/`, stop: () => server.close() };
}

// What a call gives once it no longer fails.
async function until(call) {
    const end = Date.now() + 10_000;
    for (;;) {
        try {
            return await call();
        } catch (error) {
            if (Date.now() > end) {
                throw error;
            }
            await new Promise((later) => setTimeout(later, 50));
        }
    }
}

// A browser that is talked to through a pipe, in JSON with a zero after each message.
class Browser {
    #waiting = new Map();
    #number = 0;
    #text = "";

    static async start(flags) {
        const browser = new Browser();
        browser.profile = await mkdtemp(join(tmpdir(), "wgreduce-web-"));
        const all = ["--headless=new", "--no-sandbox", "--disable-gpu-sandbox", "--no-first-run",
            "--disable-background-networking", "--remote-debugging-pipe", `--user-data-dir=${browser.profile}`, ...flags,
            "about:blank"];
        for (const name of BROWSERS) {
            const process = spawn(name, all, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
            const began = await new Promise((answer) => {
                process.once("spawn", () => answer(true));
                process.once("error", () => answer(false));
            });
            if (began) {
                browser.process = process;
                break;
            }
        }
        if (!browser.process) {
            throw new Error(`no browser: none of ${BROWSERS.join(", ")}`);
        }
        browser.process.stdio[4].setEncoding("utf8").on("data", (part) => browser.#hear(part));
        return browser;
    }

    #hear(part) {
        const messages = (this.#text + part).split("\0");
        this.#text = messages.pop();
        for (const { id, result, error } of messages.map((message) => JSON.parse(message))) {
            const waiting = this.#waiting.get(id);
            this.#waiting.delete(id);
            error ? waiting?.refuse(new Error(error.message)) : waiting?.answer(result);
        }
    }

    send(method, params = {}, sessionId = undefined) {
        const id = ++this.#number;
        this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
        return new Promise((answer, refuse) => this.#waiting.set(id, { answer, refuse }));
    }

    // A page that runs a script of ours before its own.
    async page(address, before = "") {
        const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
        const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
        const page = new Page((method, params) => this.send(method, params, sessionId));
        await page.send("Page.enable");
        await page.send("Page.addScriptToEvaluateOnNewDocument", { source: before });
        await page.send("Page.navigate", { url: address });
        return page;
    }

    async stop() {
        const ended = new Promise((answer) => this.process.once("exit", answer));
        await this.send("Browser.close").catch(() => {});
        await ended;
        await rm(this.profile, { recursive: true, force: true, maxRetries: 5 });
    }
}

class Page {
    constructor(send) {
        this.send = send;
    }

    // The value of an expression in the page.
    async value(expression) {
        const params = { expression, awaitPromise: true, returnByValue: true };
        const { result, exceptionDetails } = await this.send("Runtime.evaluate", params);
        if (exceptionDetails) {
            throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
        }
        return result.value;
    }

    text(id) {
        return this.value(`document.getElementById("${id}")?.textContent ?? ""`);
    }

    // Waits until the text of an element is like this.
    async reads(id, like) {
        const end = Date.now() + PATIENCE;
        for (;;) {
            const text = await this.text(id);
            if (like.test(text)) {
                return text;
            }
            if (Date.now() > end) {
                throw new Error(`#${id} reads “${text}”, which is not like ${like}`);
            }
            await new Promise((later) => setTimeout(later, 50));
        }
    }

    set(fields) {
        return this.value(`for (const [id, value] of Object.entries(${JSON.stringify(fields)})) {
            const field = document.getElementById(id);
            typeof value === "boolean" ? field.checked = value : field.value = value;
        }`);
    }

    async reduce(fields) {
        await this.set(fields);
        await this.value(`document.getElementById("try").requestSubmit()`);
        await this.reads("verdict", /^(?!Reducing)./);
        return { verdict: await this.text("verdict"), result: await this.text("result") };
    }

    async drop(name, bytes, before = "") {
        await this.value(`{
            ${before}
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(${JSON.stringify([...bytes])})], ${JSON.stringify(name)}));
            document.getElementById("try").dispatchEvent(
                new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }`);
    }

    click(id) {
        return this.value(`document.getElementById("${id}").click()`);
    }

    measure(filter) {
        return this.value(`document.getElementById("filter").value = ${JSON.stringify(filter)};
            document.getElementById("measured").textContent = "";
            document.getElementById("measure").requestSubmit()`);
    }

    // Checks with other texts in place of the files that are fetched; null cannot be had.
    check(texts) {
        return this.value(`{
            const real = fetch;
            globalThis.fetch = async (name) => {
                const text = ${JSON.stringify(texts)}[name];
                if (text === null) {
                    throw new TypeError("Failed to fetch");
                }
                return text === undefined ? real(name) : new Response(text);
            };
            document.getElementById("checked").textContent = "";
            document.getElementById("check").click();
            globalThis.fetch = real;
        }`);
    }

    // What can be seen of the input.
    input() {
        return this.value(`Object.fromEntries(["shape", "dtype", "numbers", "file", "result"].map((id) => {
            const field = document.getElementById(id);
            return [id, field.hidden ? "hidden" : field.disabled ? "disabled" : field.value ?? field.textContent];
        }))`);
    }

    // Lays the page out for a screen.
    async show(name, scheme, width) {
        await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
        await this.send("Emulation.setDeviceMetricsOverride", { width, height: 800, deviceScaleFactor: 1, mobile: width < 500 });
        if (!pictures) {
            return;
        }
        const { data } = await this.send("Page.captureScreenshot", { captureBeyondViewport: true });
        await mkdir(pictures, { recursive: true });
        await writeFile(join(pictures, `${name}-${scheme}-${width}.png`), Buffer.from(data, "base64"));
    }
}

// An .npy file of version 1.
function npy(descr, order, shape, data) {
    const text = `{'descr': '${descr}', 'fortran_order': ${order}, 'shape': (${shape.join(", ")},), }`;
    const header = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + "\n";
    const length = Buffer.from([header.length & 255, header.length >> 8]);
    const magic = Buffer.from([0x93, ...Buffer.from("NUMPY"), 1, 0]);
    return Buffer.concat([magic, length, Buffer.from(header), Buffer.from(data.buffer)]);
}

const TESTS = {
    async "typed numbers are reduced"(page) {
        const { verdict, result } = await page.reduce({ numbers: "3 1 2 [9, 9, -4]", shape: "2, 3", axes: "1", op: "ArgMax" });
        assert.match(verdict, /ms with upload and readback; .* byte for byte/);
        assert.equal(result, "int64 [2]\n0  0");
        const last = await page.reduce({ last: true, keepdims: true });
        assert.equal(last.result, "int64 [2, 1]\n0\n1");
        const least = await page.reduce({ last: false, keepdims: false, op: "ReduceMin", axes: "0, 1", dtype: "float16",
            numbers: "1e-7 2 3 4 5 6" });
        assert.equal(least.result, "float16 []\n0.00000011920929");
        const sum = await page.reduce({ op: "ReduceSum", axes: "0", shape: "3", dtype: "float32", numbers: "1e8 1 -1e8" });
        assert.equal(sum.result, "float32 []\n1");
    },

    async "wrong input is told in words"(page) {
        const told = async (fields) => (await page.reduce(fields)).verdict;
        assert.equal(await told({ op: "ArgMin", dtype: "uint8", numbers: "1 300", shape: "2", axes: "0" }), "“300” is no uint8.");
        assert.equal(await told({ dtype: "float32", numbers: "1 2 3" }), "Shape [2] takes 2 numbers, not 3.");
        assert.equal(await told({ shape: "" }), "Shape [] takes 1 number, not 3.");
        assert.match(await told({ shape: "2", axes: "4" }), /^Axis 4 is out of range for rank 1.*\.$/);
        assert.equal(await told({ axes: "0 0" }), "ArgMin takes one axis, not 2.");
        assert.equal(await told({ axes: "x" }), "Axes: “x” is no whole number.");
        assert.equal(await told({ shape: "2, -3", axes: "0" }), "Shape: “-3” is no whole number from 0.");
        assert.equal(await told({ shape: "2.5" }), "Shape: “2.5” is no whole number from 0.");
        assert.equal(await told({ op: "TopK", shape: "3", k: "-1" }), "k: “-1” is no whole number from 0.");
        assert.equal(await told({ k: "" }), "k: one whole number is needed, and there are 0.");
        assert.match(await told({ k: "4" }), /^K is 4, more than the 3 elements of the axis/);
        await page.set({ k: "2" });
    },

    async "the best elements come with their indices, and with the options that TopK has"(page) {
        const options = () => page.value(`["keepdims", "last", "k", "largest", "ignore-nan"].filter((id) =>
            document.getElementById(id).checkVisibility())`);
        const choose = async (op) => {
            await page.value(`document.getElementById("op").value = "${op}";
                document.getElementById("op").dispatchEvent(new Event("change"))`);
            return options();
        };
        assert.deepEqual(await choose("ReduceSum"), ["keepdims", "ignore-nan"]);
        assert.deepEqual(await choose("ArgMax"), ["keepdims", "last", "ignore-nan"]);
        assert.deepEqual(await choose("TopK"), ["k", "largest", "ignore-nan"]);
        const { verdict, result } = await page.reduce({ dtype: "int16", numbers: "3 1 2 9 9 -4", shape: "2, 3", axes: "1", k: "2" });
        assert.match(verdict, /byte for byte/);
        assert.equal(result, "values: int16 [2, 2]\n3  2\n9  9\nindices: int64 [2, 2]\n0  2\n0  1");
        const least = await page.reduce({ largest: false });
        assert.equal(least.result, "values: int16 [2, 2]\n1  2\n-4  9\nindices: int64 [2, 2]\n1  2\n2  0");
        await page.set({ largest: true, dtype: "float32" });
    },

    // Before there are buffers to be used again.
    async "of runs at once each has its own errors and its own bytes"(page) {
        // By turns such that fit and such that do not, and each kind first: the greatest of so many bytes is at their end.
        const at_once = (first, fails) => page.value(`(async () => {
            const run = async (length) => {
                const request = { op: "ArgMax", dtype: "uint8", shape: [length], axes: [0], keepdims: false };
                const data = new Uint8Array(length);
                data[length - 1] = 1;
                const answer = JSON.parse(await wgreduce.device.reduce(JSON.stringify(request), data));
                return answer.difference ?? Number(answer.outputs[0].shown[0]) - length;
            };
            faults.buffers = ${fails};
            const lengths = Array.from({ length: 8 }, (_, i) => i % 2 === ${first} ? (1 << 20) + 99 * (i + 1) : 5000 + i);
            const answers = await Promise.allSettled(lengths.map(run));
            faults.buffers = () => false;
            return answers.map(({ reason, value }, i) => [lengths[i] >= 1 << 20, reason?.message ?? value]);
        })()`);
        // As soon as a run begins, and while others are under way.
        for (const [fails, told] of [["(size) => size >= 1 << 20", /^out of device memory: an input of 104\d+ bytes$/],
            ["(size) => size === 2 << 20", /^out of device memory: an upload of 2097152 bytes$/]]) {
            for (const first of [0, 1]) {
                const answers = await at_once(first, fails);
                assert.equal(answers.length, 8);
                for (const [fails, answer] of answers) {
                    fails ? assert.match(String(answer), told) : assert.equal(answer, -1);
                }
            }
        }
    },

    // Before the others have made its kernels.
    async "a kernel that the driver refuses is told in words and not kept"(page) {
        const fields = { op: "ReduceMax", dtype: "int16", numbers: "1 5 2", shape: "3, 1", axes: "0" };
        const pipelines = await page.value(`faults.kernels = true; faults.pipelines`);
        const { verdict } = await page.reduce(fields);
        assert.match(verdict, /^The device refused a pipeline: .*nvalid/);
        await page.value(`faults.kernels = false`);
        assert.equal((await page.reduce(fields)).result, "int16 [1]\n5");
        const made = await page.value(`faults.pipelines`);
        assert.ok(made >= pipelines + 2, `${made - pipelines} pipelines were made`);
        // And then it is.
        await page.reduce({ ...fields, numbers: "7 5 2" });
        assert.equal(await page.value(`faults.pipelines`), made);
    },

    async "a dropped file is reduced, in both orders"(page) {
        const data = Float32Array.from({ length: 6000 }, (_, i) => (i * 7919) % 6007);
        const expected = [];
        for (let column = 0; column < 60; column++) {
            let best = 0;
            for (let row = 0; row < 100; row++) {
                best = data[row * 60 + column] > data[best * 60 + column] ? row : best;
            }
            expected.push(best);
        }
        await page.set({ shape: "2, 3", dtype: "int8" });
        await page.drop("scores.npy", npy("<f4", "False", [100, 60], data));
        await page.reads("file", /^scores.npy: float32, 24,000 bytes$/);
        const { verdict, result } = await page.reduce({ op: "ArgMax", axes: "0" });
        assert.match(verdict, /byte for byte/);
        assert.equal(result, `int64 [60]\n${expected.join("  ")}`);
        // The same bytes, the first index fastest: columns are now rows.
        await page.drop("turned.npy", npy("<f4", "True", [60, 100], data));
        await page.reads("file", /turned/);
        assert.equal((await page.reduce({ axes: "1" })).result, `int64 [60]\n${expected.join("  ")}`);
        // None is taken while another is reduced.
        await page.drop("late.npy", npy("<f4", "False", [100, 60], data),
            `document.getElementById("try").requestSubmit();`);
        await page.reads("verdict", /byte for byte/);
        assert.match(await page.text("file"), /^turned/);
        await page.click("forget");
        const typed = { shape: "2, 3", dtype: "int8", file: "hidden", result: "hidden" };
        const { numbers, ...back } = await page.input();
        assert.deepEqual(back, typed);
    },

    async "a file that cannot be read is told in words, and leaves nothing of the file before"(page) {
        const good = npy("<f4", "False", [2, 2], Float32Array.of(1, 2, 3, 4));
        const large = new Uint8Array(1680);
        const before = { shape: "2, 3", dtype: "int8", numbers: "3 1 2 9 9 -4", file: "hidden", result: "hidden" };
        await page.set({ shape: before.shape, dtype: before.dtype, numbers: before.numbers });
        for (const [name, bytes, words] of [
            ["broken.npy", npy("<f4", "False", [7, 60], large.subarray(4).slice()),
                "its header says float32 of shape [7, 60], 1,680 bytes, and 1,676 follow it."],
            ["text.npy", Buffer.from("no numbers here"), "it is not in NumPy's .npy format."],
            ["short.npy", good.subarray(0, 40), "it ends within its header."],
            ["complex.npy", npy("<c8", "False", [2], large), "its elements are of NumPy's type “<c8”, which cannot be reduced."],
            ["big.npy", npy(">f4", "False", [420], large), "its elements are big-endian, and this page reads little-endian ones."],
        ]) {
            await page.drop("good.npy", good);
            await page.reads("file", /good/);
            await page.reduce({ op: "ArgMax", axes: "0" });
            assert.deepEqual(await page.input(), { shape: "disabled", dtype: "disabled", numbers: "disabled",
                file: "good.npy: float32, 16 bytes", result: "int64 [2]\n1  1" });
            await page.drop(name, bytes);
            assert.equal(await page.reads("verdict", /cannot be read/), `${name} cannot be read: ${words}`);
            assert.deepEqual(await page.input(), before);
        }
    },

    async "every golden case is right"(page) {
        const { cases } = JSON.parse(await readFile(join(site, "cases.json"), "utf8"));
        await page.click("check");
        const words = await page.reads("checked", /./);
        assert.equal(await page.text("failures"), "");
        const official = JSON.parse(await readFile(join(site, "onnx.json"), "utf8")).length;
        assert.ok(official === 135 || official === 0 && !process.env.CI, `${official} cases of ONNX's own`);
        // And one tensor in four ways, a binding that is refused, tensors of one buffer, and the best elements.
        const all = cases.length + official + 7;
        assert.match(words, new RegExp(`^${all} of ${all} cases are right.*: ${cases.length} small tensors, `
            + `${official || "none"} of ONNX's own tests.*, and 7 of the library's interfaces\\.$`));
        console.log(`    ${words}`);
    },

    async "what was checked is told, without ONNX's cases too"(page) {
        await page.check({ "cases.json": `{"tensors": [], "cases": []}`, "onnx.json": "[]" });
        assert.match(await page.reads("checked", /./), new RegExp("^7 of 7 cases are right, .*: 0 small tensors, "
            + "none of ONNX's own tests, which this page lacks, and 7 of the library's interfaces\\.$"));
    },

    async "cases are measured and saved as bench writes them"(page, browser) {
        await page.measure("nothing like it");
        await page.reads("measured", /^No case has “nothing like it”/);
        await page.measure("tiny");
        const words = await page.reads("measured", /cases are|failed/);
        assert.deepEqual(await page.value(`[...document.querySelectorAll("#rows tbody tr")].map((row) =>
            [...row.cells].slice(0, 4).map((cell) => cell.textContent))`),
            [["tiny", "argmin", "float32", "[8, 1000], 1"], ["tiny", "reduce-min", "float32", "[8, 1000], 1"]]);
        assert.match(words, /^2 of 2 cases are right, timed by the GPU's clock\. The median share of the ceiling is \d\.\d\d\.$/);
        assert.equal(await page.value(`document.querySelectorAll("#charts svg rect").length`), 2);
        await browser.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: browser.profile });
        await page.click("save");
        const path = join(browser.profile, "wgreduce.json");
        const saved = await until(async () => JSON.parse(await readFile(path, "utf8")));
        assert.deepEqual(saved.map((row) => [row.case, row.op, row.dtype]),
            [["tiny", "argmin", "float32"], ["tiny", "reduce-min", "float32"]]);
        for (const row of saved) {
            assert.deepEqual(row.inputs, [[8, 1000]]);
            assert.ok(row.gpu_ns > 0 && row.wall_ns > 0 && row.gbps > 0 && row.ratio > 0 && row.verified);
            assert.match(row.device, /swiftshader/);
            assert.ok(row.limits.maxBufferSize > 0);
        }
    },

    async "it is readable in both colours and on a phone, before and after errors"(page) {
        const looks = async (name) => {
            for (const scheme of ["light", "dark"]) {
                for (const width of [1000, 400]) {
                    await page.show(name, scheme, width);
                    const beyond = `document.documentElement.scrollWidth - document.documentElement.clientWidth`;
                    assert.equal(await page.value(beyond), 0, `something is wider than ${width} pixels`);
                    const right = await page.value(`Math.max(0, ...[...document.querySelectorAll("#rows td")].map((cell) =>
                        cell.getBoundingClientRect().right))`);
                    assert.ok(right < width, `a figure ends at ${right} of ${width} pixels`);
                    const tops = await page.value(`["shape", "dtype", "op", "axes"].map((id) =>
                        document.getElementById(id).labels[0].getBoundingClientRect().top)`);
                    assert.equal(new Set(tops).size, width > 500 ? 1 : 2, `labels are not in line: ${tops}`);
                }
            }
        };
        const opacity = `getComputedStyle(document.getElementById("numbers").labels[0]).opacity`;
        await until(async () => assert.equal(await page.value(opacity), "1"));
        const name = `${"scores-of-all-the-nights-".repeat(8)}.npy`;
        await page.drop(name, npy("<f4", "False", [2, 2], Float32Array.of(1, 2, 3, 4)));
        await page.reads("file", /nights/);
        await page.reduce({ op: "TopK", axes: "0", k: "1" });
        await page.measure("tiny argmin");
        await page.reads("measured", /cases are/);
        await until(async () => assert.equal(await page.value(opacity), "0.5", "what is disabled looks as if it were not"));
        await looks("page");
        // Cut at its end, and whole to whoever points at it.
        assert.deepEqual(await page.value(`(({ scrollWidth, clientWidth, title }) =>
            [scrollWidth > clientWidth, getComputedStyle(document.getElementById("name")).textOverflow, title])(
            document.getElementById("name"))`), [true, "ellipsis", name]);
        await page.drop(name, Buffer.from("no numbers here"));
        await page.reads("verdict", /cannot be read/);
        await page.measure("nothing like it");
        await page.reads("measured", /^No case/);
        await page.check({ "onnx.json": "[1" });
        await page.reads("checked", /cannot be used/);
        await looks("errors");
    },

    async "a measurement can be stopped"(page) {
        await page.measure("D argmin");
        await page.reads("measured", /^0 of 7: the ceiling/);
        await page.click("stop");
        assert.match(await page.text("measured"), /^Stops after this: 0 of 7/);
        assert.equal(await page.reads("measured", /^Stopped|cases are/), "Stopped before the first case was measured.");
        await page.measure("D argmin");
        await page.reads("measured", /^0 of 7: D/);
        await page.click("stop");
        assert.match(await page.reads("measured", /cases are/), /^Stopped after 1 of 7 cases\. 1 of 1 cases are right, timed/);
        assert.equal(await page.value(`document.querySelectorAll("#rows tbody tr").length`), 1);
        assert.equal(await page.value(`document.getElementById("stop").checkVisibility()`), false);
    },

    async "out of memory is told in words, and with room again the page goes on"(page) {
        await page.value(`faults.buffers = (size) => size >= 1 << 20`);
        await page.drop("large.npy", npy("<u1", "False", [3 << 19], new Uint8Array(3 << 19)));
        await page.reads("file", /large/);
        const { verdict } = await page.reduce({ op: "ArgMin", axes: "0" });
        assert.equal(verdict, `Out of device memory: an input of ${3 << 19} bytes.`);
        await page.value(`faults.buffers = () => false`);
        assert.equal((await page.reduce({})).result, "int64 []\n0");
        await page.click("forget");
    },

    async "what a browser has no memory for, and what it refuses, is told in words"(page) {
        // The browser's own errors: 1 GiB is within the limits of SwiftShader, which has no room for it; above every limit
        // a buffer is invalid.
        for (const [size, told] of [[2 ** 30, /^Out of device memory: an input of 3145728 bytes\.$/],
            [2 ** 50, /^The device refused an input: .*1125899906842624/]]) {
            await page.value(`globalThis.create = GPUDevice.prototype.createBuffer;
                GPUDevice.prototype.createBuffer = function (descriptor) {
                    return create.call(this, { ...descriptor, size: descriptor.size > 1 << 20 ? ${size} : descriptor.size });
                };`);
            await page.drop(`${size}.npy`, npy("<u1", "False", [3 << 20], new Uint8Array(3 << 20)));
            await page.reads("file", new RegExp(`^${size}\\.npy: .*3,145,728 bytes`));
            const { verdict } = await page.reduce({ op: "ArgMin", axes: "0" });
            assert.match(verdict, told);
            console.log(`    ${verdict}`);
            await page.value(`GPUDevice.prototype.createBuffer = create`);
        }
        await page.click("forget");
        const { result } = await page.reduce({ dtype: "float32", numbers: "4 2", shape: "2", axes: "0" });
        assert.equal(result, "int64 []\n1");
    },

    async "buffers are freed as soon as they are no longer used"(page) {
        const reduce = (length) => page.value(`(async () => {
            const request = { op: "ReduceMax", dtype: "uint8", shape: [${length}], axes: [0], keepdims: false };
            await wgreduce.device.reduce(JSON.stringify(request), new Uint8Array(${length}));
            return faults.bytes;
        })()`);
        const before = await reduce((8 << 20) + 16);
        await page.value(`faults.most = 0`);
        for (let i = 2; i <= 20; i++) {
            assert.equal(await reduce((8 << 20) + 16 * i), before, "more is held than before");
        }
        const most = await page.value(`faults.most`);
        assert.ok(most < before + (12 << 20), `${most} bytes were held at once`);
    },

    async "tensors that the page has no room for are refused in words"(page) {
        // Indices take eight times what they are of.
        const { verdict } = await page.reduce({ op: "ArgMax", dtype: "uint8", shape: "1, 40000000", axes: "0", numbers: "1" });
        assert.match(verdict, /^This takes 1320 MB of the page's memory, and 1073 are the most/);
        await page.value(`{
            const event = new Event("drop", { bubbles: true, cancelable: true });
            const file = Object.defineProperty(new File([], "huge.npy"), "size", { value: 2 ** 31 });
            document.getElementById("try").dispatchEvent(Object.assign(event, { dataTransfer: { files: [file] } }));
        }`);
        await page.reads("verdict", /^huge.npy cannot be read: it has 2,147,483,648 bytes, and this page takes 1,073,741,824 at most/);
        assert.match((await page.reduce({ numbers: "1 ".repeat(2_500_000) })).verdict, /^5,000,000 characters are typed/);
    },

    async "a case that cannot be measured leaves the others"(page) {
        // As large as inputs of 16 bits are, and nothing else.
        await page.value(`faults.buffers = (size) => size === 32 << 20`);
        await page.measure("D argmin");
        const words = await page.reads("measured", /cases are/);
        const rows = await page.value(`[...document.querySelectorAll("#rows tbody tr")].map((row) =>
            [row.cells[2].textContent, row.cells[4].textContent])`);
        const large = rows.filter(([dtype]) => dtype.endsWith("float16"));
        assert.ok(large.length > 0 && rows.length > large.length + 1);
        for (const [dtype, text] of rows) {
            assert.match(text, dtype.endsWith("float16") ? /^the device is out of memory$/ : /^\d+\.\d+$/, dtype);
        }
        assert.ok(words.startsWith(`${rows.length - large.length} of ${rows.length} cases are right, timed`), words);
        console.log(`    ${words}`);
    },

    async "what is fetched and is not what it should be is told in words"(page) {
        for (const [name, text] of [["cases", "{}"], ["cases", `{"tensors": [["float32", [2], "zz"]], "cases": []}`],
            ["cases", `{"tensors": [], "cases": [{"in": [3], "out": 4}]}`], ["onnx", "[1"]]) {
            await page.check({ [`${name}.json`]: text });
            await page.reads("checked", new RegExp(`^The page's ${name}.json cannot be used`));
        }
        await page.check({ "cases.json": null });
        await page.reads("checked", /^cases.json cannot be fetched: Failed to fetch\.$/);
    },

    async "a device that is destroyed is told in words"(page) {
        await page.value(`wgreduce.device.destroy()`);
        const { verdict } = await page.reduce({ numbers: "4 2", shape: "2", axes: "0" });
        assert.match(verdict, /device (is|was) lost/);
        console.log(`    ${verdict}`);
    },
};

let failed = 0;

async function test(name, run) {
    const start = Date.now();
    if (!name.includes(text)) {
        return;
    }
    try {
        await run();
        console.log(`ok ${name} (${((Date.now() - start) / 1000).toFixed(1)} s)`);
    } catch (error) {
        failed += 1;
        console.log(`FAILED ${name}: ${error.message}`);
    }
}

const server = await serve();
const browser = await Browser.start(GPU);
try {
    const page = await browser.page(server.address, FAULTS);
    await page.reads("status", /^(?!Asking)./);
    await test("the page opens a device", async () => {
        const words = await page.reads("status", /^(?!Asking)./);
        assert.match(words, /^Ready/);
        assert.match(await page.text("about"), /maxBufferSize/);
        const icon = `(async () => {
            const icon = new Image();
            icon.src = document.querySelector("link[rel=icon]").href;
            await icon.decode();
            return icon.width > 0;
        })()`;
        assert.ok(await page.value(icon));
    });
    for (const [name, run] of Object.entries(TESTS)) {
        await test(name, () => run(page, browser));
        await page.value(`faults.buffers = () => false; faults.kernels = false`);
    }
    await test("without a clock of the GPU's the page's is used", async () => {
        const hidden = `const features = Object.getOwnPropertyDescriptor(GPUAdapter.prototype, "features").get;
            Object.defineProperty(GPUAdapter.prototype, "features", { get() {
                return new Set([...features.call(this)].filter((feature) => feature !== "timestamp-query"));
            } });`;
        const other = await browser.page(server.address, hidden);
        assert.match(await other.reads("status", /^(?!Asking)./), /^Ready/);
        assert.match(await other.text("about"), /timestampsno/);
        await other.measure("tiny argmin");
        assert.match(await other.reads("measured", /cases are|rror/), /^1 of 1 .* timed by the page's clock/);
    });
    await test("a program that ends is told in words, in every section", async () => {
        const other = await browser.page(server.address);
        assert.match(await other.reads("status", /^(?!Asking)./), /^Ready/);
        await other.click("check");
        await until(async () => assert.ok(await other.value(`document.getElementById("progress").value > 0`)));
        // What no browser does; wgpu ends the program.
        await other.value(`GPUDevice.prototype.createBuffer = () => { throw new RangeError("no such thing"); }`);
        const { verdict } = await other.reduce({ numbers: "4 2", shape: "2", axes: "0", dtype: "uint16" });
        for (const words of [verdict, await other.reads("checked", /./), await other.text("status")]) {
            assert.match(words, /^The page's program has ended: .*no such thing.* reload the page\.$/);
        }
        console.log(`    ${verdict}`);
        assert.equal(await other.value(`document.querySelectorAll("fieldset:disabled, #check:disabled").length`), 3);
        await other.send("Page.reload");
        await other.reads("status", /^Asking|^Ready/);
        await other.reads("status", /^Ready/);
    });
    await test("the minimal example answers", async () => {
        const minimal = await browser.page(`${server.address}minimal/`);
        assert.match(await minimal.reads("answer", /^(?!Asking)./), /is at 5\.$/);
    });
} finally {
    await browser.stop();
}
const bare = await Browser.start(["--disable-features=WebGPU,WebGPUService", "--disable-blink-features=WebGPU"]);
try {
    await test("a browser without WebGPU is told so", async () => {
        const page = await bare.page(server.address);
        const words = await page.reads("status", /^(?!Asking)./);
        assert.match(words, /has no WebGPU|no device that can be used/);
    });
} finally {
    await bare.stop();
    server.stop();
}
process.exitCode = failed ? 1 : 0;
