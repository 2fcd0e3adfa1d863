// `goose run` against aimock, a mock of model services that others wrote, over the three wires that goose speaks itself.
//
//     node interop.models.mjs GOOSE AIMOCK
//
// GOOSE is the goose program, AIMOCK the folder of the npm package. Each wire gets the same tasks: twenty calls one after
// the other, calls side by side, an image that a tool reads, reasoning, and errors. Prints a line for each check, as
// scripts/interop does; the exit code is 1 where one failed.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [goose, aimock] = process.argv.slice(2).map((path) => resolve(path));
const { LLMock } = await import(pathToFileURL(join(aimock, "dist/index.js")));

const CALLS = 20;
// One red pixel.
const PIXEL =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

const WIRES = [
    { name: "chat", provider: "openai", model: "gpt-4o", host: "OPENAI_HOST", key: "OPENAI_API_KEY", path: "/v1/chat/completions" },
    {
        name: "responses", provider: "openai", model: "gpt-4o", host: "OPENAI_HOST", key: "OPENAI_API_KEY",
        path: "/v1/responses", more: { GOOSE_OPENAI_API: "responses" },
    },
    { name: "anthropic", provider: "anthropic", model: "claude-sonnet-4-5", host: "ANTHROPIC_HOST", key: "ANTHROPIC_API_KEY", path: "/v1/messages" },
];

const shell = (id, command) => ({ id, name: "developer__shell", arguments: JSON.stringify({ command }) });

// What the mock answers. Turns are counted by the answers that a request already has.
function script(mock) {
    for (let turn = 0; turn < CALLS; turn++) {
        mock.on({ userMessage: "one by one", turnIndex: turn }, { toolCalls: [shell(`call_${turn}`, `echo number ${turn}`)] });
    }
    mock.on({ userMessage: "one by one", turnIndex: CALLS }, { content: "Twenty done." });

    const pair = ["left", "right"].map((side) => shell(`call_${side}`, `echo ${side}`));
    mock.on({ userMessage: "side by side", turnIndex: 0 }, { toolCalls: pair });
    mock.on({ userMessage: "side by side", turnIndex: 1 }, { content: "Both done." });

    const read = { id: "call_image", name: "developer__read", arguments: JSON.stringify({ path: "pixel.png" }) };
    mock.on({ userMessage: "the picture", hasToolResult: false, sequenceIndex: 0 }, { toolCalls: [read] });
    mock.on({ userMessage: /./, turnIndex: 1 }, { content: "It is red." });

    mock.on({ userMessage: "think first" }, { reasoning: "Seven times six.", content: "It is 42." });

    const limited = { error: { message: "Slow down.", type: "rate_limit_error" }, status: 429 };
    mock.on({ userMessage: "try again", sequenceIndex: 0 }, limited);
    mock.on({ userMessage: "try again" }, { content: "Now it works." });
    const denied = { error: { message: "Bad key.", type: "authentication_error" }, status: 401 };
    mock.on({ userMessage: "wrong key" }, denied);
}

const TASKS = [
    {
        name: `${CALLS} calls, one by one`,
        ask: "Count one by one.",
        check: ({ stdout, requests }) =>
            stdout.includes("Twenty done.") && requests.length === CALLS + 1 &&
            requests.at(-1).includes(`number ${CALLS - 1}`),
    },
    {
        name: "calls side by side",
        ask: "Do it side by side.",
        check: ({ stdout, requests }) =>
            stdout.includes("Both done.") && ["left", "right"].every((side) => requests.at(-1).includes(`"${side}"`)),
    },
    {
        name: "an image that a tool read",
        ask: "Look at the picture.",
        check: ({ stdout, requests }) => stdout.includes("It is red.") && requests.at(-1).includes(PIXEL.slice(0, 60)),
    },
    { name: "reasoning", ask: "Please think first.", check: ({ stdout }) => stdout.includes("It is 42.") },
    {
        name: "a 429, then an answer",
        ask: "Just try again.",
        check: ({ stdout, requests }) => stdout.includes("Now it works.") && requests.length === 2,
    },
    {
        name: "a refused key",
        ask: "This has the wrong key.",
        fails: true,
        check: ({ stderr, requests }, wire) => stderr.includes(wire.key) && requests.length === 1,
    },
];

// Stands between goose and the mock and keeps each body as it was sent: the mock itself keeps only its own reading.
async function listenBetween(url, path) {
    const requests = [];
    const server = createServer(async (asked, answer) => {
        const body = Buffer.concat(await asked.toArray());
        if (asked.url.startsWith(path)) requests.push(body.toString());
        const onward = request(new URL(asked.url, url), { method: asked.method, headers: asked.headers }, (answered) => {
            answer.writeHead(answered.statusCode, answered.headers);
            answered.pipe(answer);
        });
        onward.on("error", () => answer.destroy());
        onward.end(body);
    });
    await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
    return { requests, url: `http://127.0.0.1:${server.address().port}`, stop: () => server.closeAllConnections() ?? server.close() };
}

function run(wire, url, home, ask) {
    const env = {
        PATH: process.env.PATH, HOME: home, GOOSE_PATH_ROOT: join(home, "goose"), GOOSE_PROVIDER: wire.provider,
        GOOSE_MODEL: wire.model, GOOSE_MODE: "auto", GOOSE_DISABLE_KEYRING: "1", [wire.host]: url, [wire.key]: "mock",
        ...wire.more,
    };
    return new Promise((done) => {
        execFile(goose, ["run", "-t", ask], { cwd: home, env, timeout: 60_000 }, (error, stdout, stderr) =>
            done({ code: error ? (error.code ?? 1) : 0, stdout, stderr }),
        ).stdin.end();
    });
}

async function checkWire(wire) {
    const home = await mkdtemp(join(tmpdir(), "goose-models-"));
    await writeFile(join(home, "pixel.png"), Buffer.from(PIXEL, "base64"));
    let failed = 0;
    for (const task of TASKS) {
        const mock = new LLMock({ port: 0 });
        script(mock);
        await mock.start();
        const between = await listenBetween(mock.url, wire.path);
        const ran = await run(wire, between.url, home, task.ask);
        between.stop();
        await mock.stop();
        const { requests } = between;
        const good = (ran.code !== 0) === Boolean(task.fails) && task.check({ ...ran, requests }, wire);
        console.log(good ? `ok    ${wire.name}: ${task.name}` : `FAIL  ${wire.name}: ${task.name}`);
        if (!good) {
            failed += 1;
            console.log(`      exit ${ran.code}, ${requests.length} requests\n${ran.stdout}${ran.stderr}`.slice(0, 2000));
        }
    }
    await rm(home, { recursive: true });
    return failed;
}

let failed = 0;
for (const wire of WIRES) {
    failed += await checkWire(wire);
}
process.exit(failed === 0 ? 0 : 1);
