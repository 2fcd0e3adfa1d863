// goose as an agent in editors (`goose acp`), with aimock as its model:
//
//     node interop.editors.mjs GOOSE PEERS
//
// GOOSE is the goose program, PEERS the folder that scripts/interop installs peers into. The editors are
//
//   - acpx, a client of the Agent Client Protocol for the command line: one-shot, sessions, modes, permissions, cancel;
//   - a client of the protocol's Python library, with files and terminals (interop.editors.py).
//
// Prints a line for each check, as scripts/interop does; the exit code is 1 where one failed.

import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [goose, peers] = process.argv.slice(2, 4).map((path) => resolve(path));
const { LLMock } = await import(pathToFileURL(join(peers, "node_modules/@copilotkit/aimock/dist/index.js")));
const node = join(peers, "node_modules/.bin/node");
const acpx = join(peers, "node_modules/acpx/dist/cli.js");

let failed = 0;

function report(name, good, detail) {
    console.log(good ? `ok    ${name}` : `FAIL  ${name}`);
    if (!good) {
        failed += 1;
        console.log(`      ${detail}`.slice(0, 3000));
    }
}

// What the mock answers. The words of a prompt decide, and whether a result is there already.
function script(mock) {
    const shell = (command) => [{ id: "call_1", name: "developer__shell", arguments: JSON.stringify({ command }) }];
    const call = (name, args) => [{ id: "call_1", name, arguments: JSON.stringify(args) }];
    const calls = [
        ["make a file", shell("echo made > made.txt")],
        ["forbidden file", shell("echo made > forbidden.txt")],
        ["sleep for long", shell("sleep 600")],
        ["read the buffer", call("developer__read", { path: "open.txt" })],
        ["change the buffer", call("developer__edit", { path: "open.txt", before: "not saved", after: "changed" })],
        ["use the terminal", shell("echo made in a $(echo terminal)")],
    ];
    for (const [words, toolCalls] of calls) {
        const userMessage = new RegExp(words, "i");
        mock.on({ userMessage, hasToolResult: false }, { toolCalls });
        mock.on({ userMessage, hasToolResult: true }, { content: "It was tried." });
    }
    mock.on({ userMessage: /./ }, { content: "Nothing to do." });
}

function run(program, args, cwd, env) {
    return new Promise((done) => {
        execFile(program, args, { cwd, env, timeout: 300_000 }, (error, stdout, stderr) =>
            done({ code: error ? (error.code ?? 1) : 0, stdout, stderr }),
        ).stdin.end();
    });
}

const shown = ({ code, stdout, stderr }) => `exit ${code}\n${stdout}\n${stderr}`;

async function inAcpx(folder, env) {
    const editor = (flags, ...args) => run(node, [acpx, "--agent", `${goose} acp`, "--cwd", folder, ...flags, ...args], folder, env);
    const made = (file) => readFile(join(folder, file), "utf8").catch(() => "");
    const once = await editor(["--approve-all", "--format", "json"], "exec", "Make a file.");
    report("acpx: a one-shot prompt, approved", once.code === 0 && once.stdout.includes("It was tried.") && (await made("made.txt")) === "made\n", shown(once));
    const denied = await editor(["--deny-all", "--format", "json"], "exec", "Make a forbidden file.");
    report("acpx: a denied permission", (await made("forbidden.txt")) === "" && denied.stdout.includes("It was tried."), shown(denied));

    const created = await editor([], "sessions", "new");
    report("acpx: a new session", created.code === 0, shown(created));
    const first = await editor(["--approve-all"], "prompt", "Hello there.");
    report("acpx: a prompt in a session", first.code === 0 && first.stdout.includes("Nothing to do."), shown(first));
    const mode = await editor([], "set-mode", "coding-agent/backend");
    report("acpx: a mode is set", mode.code === 0, shown(mode));
    const option = await editor([], "set", "permissions", "auto");
    report("acpx: an option is set", option.code === 0, shown(option));
    const sleeping = spawn(node, [acpx, "--agent", `${goose} acp`, "--cwd", folder, "--approve-all", "prompt", "Sleep for long."], { cwd: folder, env });
    let said = "";
    sleeping.stdout.on("data", (text) => (said += text));
    sleeping.stderr.on("data", (text) => (said += text));
    const ended = new Promise((done) => sleeping.on("exit", done));
    for (let attempt = 0; attempt < 300 && !said.includes("sleep 600"); attempt++) await new Promise((done) => setTimeout(done, 100));
    const cancelled = await editor([], "cancel");
    const code = await Promise.race([ended, new Promise((done) => setTimeout(done, 60_000, "late"))]);
    report("acpx: a prompt is cancelled", cancelled.code === 0 && code !== "late", `${shown(cancelled)}\n${code}\n${said}`);
    const listed = await editor([], "sessions", "list");
    report("acpx: the sessions are listed", listed.code === 0 && listed.stdout.trim() !== "", shown(listed));
    const closed = await editor([], "sessions", "close");
    report("acpx: the session is closed", closed.code === 0, shown(closed));
}

async function main(home) {
    const mock = new LLMock({ port: 0 });
    script(mock);
    await mock.start();
    const env = {
        PATH: `${join(peers, "node_modules/.bin")}:${process.env.PATH}`, HOME: home, GOOSE_PATH_ROOT: join(home, "goose"), GOOSE_PROVIDER: "openai",
        GOOSE_MODEL: "gpt-4o", GOOSE_MODE: "approve", GOOSE_DISABLE_KEYRING: "1", OPENAI_HOST: mock.url, OPENAI_API_KEY: "mock",
    };
    const [one, two] = [join(home, "one"), join(home, "two")];
    await Promise.all([one, two].map((folder) => mkdir(folder)));
    await inAcpx(one, env);
    const client = join(dirname(fileURLToPath(import.meta.url)), "interop.editors.py");
    const ran = await run(join(peers, "python-client/bin/python"), [client, goose, two], two, env);
    process.stdout.write(ran.stdout);
    report("the Python client of the Agent Client Protocol", ran.code === 0, shown(ran));
    await mock.stop();
}

const home = await mkdtemp(join(tmpdir(), "goose-editors-"));
try {
    await main(home);
} finally {
    await rm(home, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);
