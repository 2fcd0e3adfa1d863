// `goose` with a model inside, in a file that others made: SmolLM2, the smallest that follows instructions at all.
//
//     node interop.local.mjs GOOSE MODEL
//
// GOOSE is the goose program, MODEL the GGUF file. What the model says is its own affair; what is checked is that it is
// chosen, that everything it does is a whole call or a text, and that a session goes on with what was computed before.
// Prints a line for each check, as scripts/interop does; the exit code is 1 where one failed.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [goose, model] = process.argv.slice(2).map((path) => resolve(path));

// As often as it may be asked was reached: a small model may do that, and it is said.
const TOO_MANY_TURNS = 3;

// For three turns of a build that is not optimized, on a slow machine.
const RUN_MILLISECONDS = 240_000;

function run(home, ...args) {
    const env = {
        PATH: process.env.PATH, HOME: home, GOOSE_PATH_ROOT: join(home, "goose"), GOOSE_MODE: "auto",
        GOOSE_DISABLE_KEYRING: "1",
    };
    return new Promise((done) => {
        execFile(goose, args, { cwd: join(home, "work"), env, timeout: RUN_MILLISECONDS }, (error, stdout, stderr) =>
            done({ code: error ? (error.code ?? 1) : 0, stdout, stderr }),
        ).stdin.end();
    });
}

const ask = async (home, turns, text, ...more) => {
    const asked = ["run", "-t", text, "-n", "talk", "--max-turns", turns, "--output-format", "stream-json", ...more];
    const ran = await run(home, ...asked);
    const events = ran.stdout.trim().split("\n").filter(Boolean).map((line) => JSON.parse(line));
    return { ...ran, events, last: events.at(-1) ?? {} };
};

// A tool's name and an object, or words.
function isWhole(block) {
    if (block.type === "text") return block.text.trim() !== "";
    const call = block.toolCall;
    return block.type === "toolRequest" && call.status === "success" &&
        /^[a-z_]+__[a-z_]+$/.test(call.value.name) && call.value.arguments?.constructor === Object;
}

function endedWell({ code, events, last }) {
    if (last.type !== "complete") return false;
    if (code === 0) return true;
    return code === TOO_MANY_TURNS && events.some((event) => event.type === "error" && event.error.includes("--max-turns"));
}

const CHECKS = [
    {
        name: "a file is chosen",
        go: (home) => run(home, "models", "use", model),
        holds: async ({ code, stdout }) => code === 0 && stdout.includes(await realpath(model)),
    },
    {
        name: "what is in use is listed",
        go: (home) => run(home, "models", "list"),
        holds: async ({ stdout }) => stdout.includes(`In use: ${await realpath(model)}`),
    },
    {
        name: "everything it does is a call or a text",
        go: (home) => ask(home, "3", "List the files here"),
        holds: (ran) => {
            const said = ran.events.filter((event) => event.message?.role === "assistant");
            return endedWell(ran) && said.length > 0 && said.every(({ message }) => message.content.every(isWhole));
        },
    },
    {
        name: "another run of the session reads what it knows from the disk",
        go: (home) => ask(home, "1", "Go on", "--resume"),
        holds: (ran) => endedWell(ran) && ran.last.cache_read_input_tokens > 0,
    },
];

const home = await mkdtemp(join(tmpdir(), "goose-local-"));
await mkdir(join(home, "work"));
await writeFile(join(home, "work", "note.txt"), "A note.\n");
let failed = 0;
for (const { name, go, holds } of CHECKS) {
    const ran = await go(home);
    const good = await holds(ran);
    console.log(good ? `ok    local model: ${name}` : `FAIL  local model: ${name}`);
    if (!good) {
        failed += 1;
        console.log(`      exit ${ran.code}\n${ran.stdout}${ran.stderr}`.slice(0, 4000));
    }
}
await rm(home, { recursive: true });
process.exit(failed === 0 ? 0 : 1);
