// Drives the page in Chromium, headless, with WebGPU over SwiftShader.
//
//   node web/test.mjs SITE [SCREENSHOTS]
//
// SITE is what scripts/web builds; pictures of the page are written to SCREENSHOTS.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile, mkdir } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";

const [site, pictures] = process.argv.slice(2);
const KINDS = {
    ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".json": "application/json",
    ".wasm": "application/wasm",
};
const BROWSERS = ["chromium", "chromium-browser", "google-chrome"];
const GPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
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

    async drop(name, bytes) {
        await this.value(`{
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(${JSON.stringify([...bytes])})], ${JSON.stringify(name)}));
            document.getElementById("try").dispatchEvent(
                new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }`);
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
        assert.match(verdict, /ms .* byte for byte/);
        assert.equal(result, "int64 [2]\n0  0");
        const last = await page.reduce({ last: true, keepdims: true });
        assert.equal(last.result, "int64 [2, 1]\n0\n1");
        const least = await page.reduce({ last: false, keepdims: false, op: "ReduceMin", axes: "0, 1", dtype: "float16",
            numbers: "1e-7 2 3 4 5 6" });
        assert.equal(least.result, "float16 []\n0.00000011920929");
    },

    async "wrong input is told in words"(page) {
        const told = async (fields) => (await page.reduce(fields)).verdict;
        assert.match(await told({ op: "ArgMin", dtype: "uint8", numbers: "1 300", shape: "2", axes: "0" }), /“300” is no uint8/);
        assert.match(await told({ numbers: "1 2 3" }), /3 bytes|2 bytes/);
        assert.match(await told({ numbers: "1 2", axes: "4" }), /axis 4/);
        assert.match(await told({ axes: "x" }), /“x” is no whole number/);
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
        await page.drop("scores.npy", npy("<f4", "False", [100, 60], data));
        await page.reads("file", /scores.npy: float32, 24,000 bytes/);
        const { verdict, result } = await page.reduce({ op: "ArgMax", axes: "0" });
        assert.match(verdict, /byte for byte/);
        assert.equal(result, `int64 [60]\n${expected.join("  ")}`);
        // The same bytes, the first index fastest: columns are now rows.
        await page.drop("turned.npy", npy("<f4", "True", [60, 100], data));
        await page.reads("file", /turned/);
        assert.equal((await page.reduce({ axes: "1" })).result, `int64 [60]\n${expected.join("  ")}`);
        await page.drop("broken.npy", npy("<f4", "False", [7, 60], data));
        await page.reads("verdict", /1680 bytes, and 24000 are there/);
        await page.drop("text.npy", Buffer.from("no numbers here"));
        await page.reads("verdict", /not an .npy file/);
    },

    async "every golden case is right"(page) {
        const { cases } = JSON.parse(await readFile(join(site, "cases.json"), "utf8"));
        await page.value(`document.getElementById("check").click()`);
        const words = await page.reads("checked", /./);
        assert.equal(await page.text("failures"), "");
        const official = JSON.parse(await readFile(join(site, "onnx.json"), "utf8")).length;
        assert.ok(official === 81 || official === 0 && !process.env.CI, `${official} cases of ONNX's own`);
        // And one tensor in four ways.
        const all = cases.length + official + 4;
        assert.match(words, new RegExp(`^${all} of ${all} cases are right`));
        console.log(`    ${words}`);
    },

    async "cases are measured and saved as bench writes them"(page, browser) {
        await page.set({ filter: "nothing like it" });
        await page.value(`document.getElementById("measure").requestSubmit()`);
        await page.reads("measured", /no case has “nothing like it”/);
        await page.set({ filter: "tiny" });
        await page.value(`document.getElementById("measure").requestSubmit()`);
        const words = await page.reads("measured", /cases are|failed/);
        assert.match(words, /^2 of 2 cases are right, by the median \d\.\d\d of the ceiling; timed by the GPU's clock/);
        assert.equal(await page.value(`document.querySelectorAll("#charts svg rect").length`), 2);
        await browser.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: browser.profile });
        await page.value(`document.getElementById("save").click()`);
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

    async "it is readable in both colours and on a phone"(page) {
        for (const scheme of ["light", "dark"]) {
            for (const width of [1000, 400]) {
                await page.show("page", scheme, width);
                const beyond = `document.documentElement.scrollWidth - document.documentElement.clientWidth`;
                assert.equal(await page.value(beyond), 0, `something is wider than ${width} pixels`);
            }
        }
    },

    async "an allocation that fails is told in words"(page) {
        await page.value(`{
            const create = GPUDevice.prototype.createBuffer;
            GPUDevice.prototype.createBuffer = function (descriptor) {
                // What the browser cannot have.
                return create.call(this, { ...descriptor, size: descriptor.size > 1 << 20 ? 2 ** 50 : descriptor.size });
            };
        }`);
        await page.drop("large.npy", npy("<u1", "False", [3 << 19], new Uint8Array(3 << 19)));
        await page.reads("file", /large/);
        const { verdict } = await page.reduce({ op: "ArgMin", axes: "0" });
        assert.match(verdict, /out of memory for .* of \d+ bytes|device refused an? (input|upload)/);
        console.log(`    ${verdict}`);
        await page.value(`document.getElementById("forget").click()`);
        const { result } = await page.reduce({ dtype: "float32", numbers: "4 2", shape: "2", axes: "0" });
        assert.equal(result, "int64 []\n1");
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
    const page = await browser.page(server.address);
    await test("the page opens a device", async () => {
        const words = await page.reads("status", /^(?!Asking)./);
        assert.match(words, /^Ready/);
        assert.match(await page.text("about"), /maxBufferSize/);
    });
    for (const [name, run] of Object.entries(TESTS)) {
        await test(name, () => run(page, browser));
    }
    await test("without a clock of the GPU's the page's is used", async () => {
        const hidden = `const features = Object.getOwnPropertyDescriptor(GPUAdapter.prototype, "features").get;
            Object.defineProperty(GPUAdapter.prototype, "features", { get() {
                return new Set([...features.call(this)].filter((feature) => feature !== "timestamp-query"));
            } });`;
        const other = await browser.page(server.address, hidden);
        assert.match(await other.reads("status", /^(?!Asking)./), /^Ready/);
        assert.match(await other.text("about"), /timestampsno/);
        await other.set({ filter: "tiny argmin" });
        await other.value(`document.getElementById("measure").requestSubmit()`);
        assert.match(await other.reads("measured", /cases are|rror/), /^1 of 1 .* timed by the page's clock/);
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
