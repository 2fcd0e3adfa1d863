// The pages of the autovisualiser in a real browser:
//
//     node interop.pages.mjs GOOSE PEERS [IMAGES]
//
// GOOSE is the goose program, PEERS the folder with playwright-core and axe-core, IMAGES a folder for screenshots. The pages are those of
// docs/autovisualiser/samples.json. Each is opened from its file, in light and in dark, and in a sandboxed frame as an MCP App. There must be
// no message on the console, no request, no serious finding of axe, marks that the keyboard reaches, and an image that is not empty.
// Prints a line for each check, as scripts/interop does; the exit code is 1 where one failed. Without Chromium nothing is checked.

import { spawn } from "node:child_process";
import { constants } from "node:fs";
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { inflateSync } from "node:zlib";

const [goose, peers, images] = process.argv.slice(2).map((path) => resolve(path));
const samples = join(dirname(fileURLToPath(import.meta.url)), "../docs/autovisualiser/samples.json");
const browsers = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const flags = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
];

let failed = 0;

function report(name, problems) {
    console.log(problems.length === 0 ? `ok    ${name}` : `FAIL  ${name}: ${problems.join("; ").slice(0, 1000)}`);
    if (problems.length > 0) failed = 1;
}

async function findBrowser() {
    for (const folder of process.env.PATH.split(delimiter)) {
        for (const name of browsers) {
            const file = join(folder, name);
            if (await access(file, constants.X_OK).then(() => true, () => false)) return file;
        }
    }
}

// An MCP client on the streams of `goose mcp autovisualiser`.
function connect(root) {
    const environment = { ...process.env, GOOSE_PATH_ROOT: root };
    const server = spawn(goose, ["mcp", "autovisualiser"], { stdio: ["pipe", "pipe", "ignore"], env: environment });
    const waiting = new Map();
    createInterface({ input: server.stdout }).on("line", (line) => {
        const message = JSON.parse(line);
        waiting.get(message.id)?.(message.result ?? { isError: true, ...message.error });
    });
    let id = 0;
    const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    const ask = (method, params) => {
        id += 1;
        const answer = new Promise((done) => waiting.set(id, done));
        send({ id, method, params });
        return answer;
    };
    return { ask, send, stop: () => server.kill() };
}

// The bytes of a PNG's pixels.
function pixels(png) {
    const parts = [];
    for (let at = 8; at < png.length; ) {
        const length = png.readUInt32BE(at);
        if (png.toString("latin1", at + 4, at + 8) === "IDAT") parts.push(png.subarray(at + 8, at + 8 + length));
        at += length + 12;
    }
    return inflateSync(Buffer.concat(parts));
}

// Opens a page, calls `look`, and returns all problems.
async function inspect(browser, colorScheme, url, look) {
    const problems = [];
    const context = await browser.newContext({ colorScheme, viewport: { width: 1080, height: 900 } });
    const page = await context.newPage();
    page.on("console", (message) => problems.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
    page.on("request", (request) => request.url() === url || problems.push(`request: ${request.url()}`));
    try {
        await page.goto(url);
        problems.push(...(await look(page)));
    } catch (error) {
        problems.push(error.message);
    }
    await context.close();
    return problems;
}

async function lookAtPage(page, axe, name, scheme) {
    const problems = [];
    await page.locator("summary").first().click();
    // The page's policy allows no script. The browser's own tools are not bound by it.
    const results = await page.evaluate(`${axe}; axe.run()`);
    for (const { id, impact, nodes } of results.violations) {
        if (["serious", "critical"].includes(impact)) problems.push(`axe: ${id} at ${nodes[0].html.slice(0, 120)}`);
    }
    await page.locator("summary").first().click();
    const mark = page.locator(".mark").first();
    await mark.focus();
    const hasReadout = await mark.locator(".tip").evaluate((tip) => getComputedStyle(tip).visibility === "visible");
    if (!hasReadout) problems.push("a focused mark does not show its name");
    await mark.blur();
    const png = await page.screenshot({ fullPage: true });
    if (new Set(pixels(png)).size < 20) problems.push("the image is empty");
    if (images) await writeFile(join(images, `${name}-${scheme}.png`), png);
    return problems;
}

// Shows an app as MCP clients do, in a sandboxed frame that speaks to the page around it.
async function lookAtApp(page, html) {
    return page.evaluate(async (html) => {
        const frame = document.createElement("iframe");
        frame.sandbox = "allow-scripts";
        const sized = new Promise((done, fail) => {
            setTimeout(() => fail(new Error("the app did not say its size")), 15000);
            addEventListener("message", ({ source, data }) => {
                if (source !== frame.contentWindow) return;
                if (data.method === "ui/initialize") {
                    const result = { protocolVersion: data.params.protocolVersion, hostInfo: {}, hostContext: { theme: "dark" } };
                    source.postMessage({ jsonrpc: "2.0", id: data.id, result }, "*");
                }
                if (data.method === "ui/notifications/size-changed") done(data.params.height);
            });
        });
        frame.srcdoc = html;
        document.body.append(frame);
        const height = await sized;
        return height > 100 ? [] : [`the height is ${height}`];
    }, html);
}

const executablePath = await findBrowser();
if (!executablePath) {
    console.log(`skip  pages in a browser: there is no Chromium on the PATH (${browsers.join(", ")})`);
    process.exit(0);
}
const require = createRequire(join(peers, "package.json"));
const { chromium } = require("playwright-core");
const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");
const folder = await mkdtemp(join(tmpdir(), "goose-pages-"));
if (images) await mkdir(images, { recursive: true });
const client = connect(folder);
const browser = await chromium.launch({ executablePath, args: flags });
try {
    const clientInfo = { name: "interop", version: "1" };
    await client.ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
    client.send({ method: "notifications/initialized" });
    const host = join(folder, "host.html");
    await writeFile(host, "<!doctype html><title>host</title>");
    for (const [name, [tool, args]] of Object.entries(JSON.parse(await readFile(samples, "utf8")))) {
        const result = await client.ask("tools/call", { name: tool, arguments: args });
        if (result.isError) {
            report(`browser shows ${name}`, [JSON.stringify(result)]);
            continue;
        }
        const { file, uri } = result.structuredContent;
        for (const scheme of ["light", "dark"]) {
            const look = (page) => lookAtPage(page, axe, name, scheme);
            report(`browser shows ${name}, ${scheme}`, await inspect(browser, scheme, pathToFileURL(file).href, look));
        }
        const { contents } = await client.ask("resources/read", { uri });
        const app = (page) => lookAtApp(page, contents[0].text);
        report(`browser shows ${name} as an app`, await inspect(browser, "light", pathToFileURL(host).href, app));
    }
    const call = { ...JSON.parse(await readFile(samples, "utf8")).chart[1], screenshot: true };
    const { content } = await client.ask("tools/call", { name: "show_chart", arguments: call });
    const image = content.find((block) => block.type === "image");
    const problems = image ? [] : [JSON.stringify(content)];
    if (image && new Set(pixels(Buffer.from(image.data, "base64"))).size < 20) problems.push("it is empty");
    report("goose takes a screenshot of a chart", problems);
} finally {
    await browser.close();
    client.stop();
    await rm(folder, { recursive: true, force: true });
}
process.exit(failed);
