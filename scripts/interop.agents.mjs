// External agents, in both directions, with aimock as the model of all:
//
//     node interop.agents.mjs GOOSE PEERS [full]
//
// GOOSE is the goose program, PEERS the folder that scripts/interop installs peers into. goose gives tasks to
//
//   - the example agent of the Python library of the Agent Client Protocol, as a program;
//   - an agent on a server of acp-sdk, the Python library of the Agent Communication Protocol, which also asks back;
//   - with `full`, another goose: `goose acp` of the npm package, whose files our permissions judge;
//
// and the MCP Inspector calls goose's own agents as tools. Prints a line for each check, as scripts/interop does; the exit code
// is 1 where one failed.

import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [goose, peers] = process.argv.slice(2, 4).map((path) => resolve(path));
const full = process.argv[4] === "full";
const { LLMock } = await import(pathToFileURL(join(peers, "node_modules/@copilotkit/aimock/dist/index.js")));

// An agent that may delegate, with a tool for an agent that it depends on.
const BOSS = `name: boss
modes:
  - slug: main
    tool_groups: [summon, example]
    dependencies: [summon, example]
`;

// An agent that says what it was told, and one that asks a question first.
const SERVER = `import sys
from collections.abc import AsyncGenerator
from acp_sdk.models import Message, MessageAwaitRequest, MessagePart
from acp_sdk.server import RunYield, RunYieldResume, Server
server = Server()

@server.agent(name="echo")
async def echo(input: list[Message]) -> AsyncGenerator[RunYield, RunYieldResume]:
    """Says what it was told"""
    for message in input:
        for word in str(message).split():
            yield MessagePart(content=word + " ")

@server.agent(name="asker")
async def asker(input: list[Message]) -> AsyncGenerator[RunYield, RunYieldResume]:
    """Asks which colour"""
    answer = yield MessageAwaitRequest(message=Message(parts=[MessagePart(content="Which colour?")]))
    yield MessagePart(content="You said " + str(answer.message))

server.run(port=int(sys.argv[1]), configure_telemetry=False)
`;

let failed = 0;
const children = [];

function report(name, good, detail) {
    console.log(good ? `ok    ${name}` : `FAIL  ${name}`);
    if (!good) {
        failed += 1;
        console.log(`      ${detail}`.slice(0, 3000));
    }
}

const call = (name, args) => [{ id: "call_1", name, arguments: JSON.stringify(args) }];

// What the mock answers. The words of a task decide, and whether a result is there already.
function script(mock, home) {
    const delegate = { source: "example", instructions: "Greet the delegate." };
    mock.on({ userMessage: "give it away", hasToolResult: false }, { toolCalls: call("summon__delegate", delegate) });
    mock.on({ userMessage: "give it away", hasToolResult: true }, { content: "It was given away." });
    const task = { task: "Greet the tool." };
    mock.on({ userMessage: "use the tool", hasToolResult: false }, { toolCalls: call("example__task", task) });
    mock.on({ userMessage: "use the tool", hasToolResult: true }, { content: "The tool was used." });
    const touch = { command: `echo made > ${join(home, "by-inspector.txt")}` };
    mock.on({ userMessage: "for the inspector", hasToolResult: false }, { toolCalls: call("developer__shell", touch) });
    mock.on({ userMessage: "for the inspector", hasToolResult: true }, { content: "Made for the Inspector." });
    for (const [words, file] of [["another goose", "by-other-goose.txt"], ["forbidden goose", "forbidden.txt"]]) {
        const write = { path: join(home, file), content: "written by another goose\n" };
        // The name of its tool, which its request says, depends on the extensions that it has.
        for (const name of ["write", "developer__write"]) {
            mock.on({ userMessage: words, toolName: name, hasToolResult: false }, { toolCalls: call(name, write) });
        }
        mock.on({ userMessage: words, hasToolResult: true }, { content: "The other goose has tried." });
    }
    mock.on({ userMessage: /./ }, { content: "Nothing to do." });
}

const freePort = () =>
    new Promise((done) => {
        const server = createServer().listen(0, "127.0.0.1", () => {
            const { port } = server.address();
            server.close(() => done(port));
        });
    });

async function answers(url) {
    for (let attempt = 0; attempt < 150; attempt++) {
        if (await fetch(url).then((answer) => answer.ok, () => false)) return true;
        await new Promise((done) => setTimeout(done, 200));
    }
    return false;
}

function environment(home, url) {
    return {
        PATH: process.env.PATH, HOME: home, GOOSE_PATH_ROOT: join(home, "goose"), GOOSE_PROVIDER: "openai", GOOSE_MODEL: "gpt-4o",
        GOOSE_MODE: "auto", GOOSE_DISABLE_KEYRING: "1", OPENAI_HOST: url, OPENAI_API_KEY: "mock",
    };
}

function run(program, args, home, env) {
    return new Promise((done) => {
        execFile(program, args, { cwd: home, env, timeout: 120_000 }, (error, stdout, stderr) =>
            done({ code: error ? (error.code ?? 1) : 0, stdout, stderr }),
        ).stdin.end();
    });
}

const shown = ({ code, stdout, stderr }) => `exit ${code}\n${stdout}\n${stderr}`;

async function givesTasks(home, env, mock) {
    const direct = await run(goose, ["run", "--agent", "example", "-t", "Hello from goose."], home, env);
    const isDirect = direct.code === 0 && direct.stdout.includes("Client sent:") && direct.stdout.includes("Hello from goose.");
    report("goose runs a task with the example agent of the Agent Client Protocol", isDirect, shown(direct));

    for (const [how, words, said] of [
        ["delegates to", "Please give it away.", "Greet the delegate."],
        ["has a tool for", "Please use the tool.", "Greet the tool."],
    ]) {
        const ran = await run(goose, ["run", "--agent", "boss", "-t", words], home, env);
        const seen = JSON.stringify(mock.getRequests().at(-1)?.body ?? {});
        const good = ran.code === 0 && seen.includes("Client sent:") && seen.includes(said);
        report(`goose ${how} the example agent`, good, `${shown(ran)}\n${seen}`);
    }

    const echoed = await run(goose, ["run", "--agent", "echo", "-t", "one two three"], home, env);
    report("goose runs a task on an acp-sdk server", echoed.code === 0 && echoed.stdout.includes("one two three"), shown(echoed));
    const asked = await run(goose, ["run", "--agent", "asker", "-t", "choose"], home, env);
    const isNamed = asked.code !== 0 && asked.stderr.includes("Which colour?") && asked.stderr.includes("with the task");
    report("a question of an acp-sdk agent that nobody answers is named", isNamed, shown(asked));
    const none = await run(goose, ["run", "--agent", "gone", "-t", "x"], home, env);
    report("an agent that the server does not have is named", none.code !== 0 && none.stderr.includes("404"), shown(none));
}

async function isCalled(home, env) {
    const inspector = join(peers, "node_modules/.bin/mcp-inspector");
    const passed = Object.entries(env).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
    const inspect = (...args) => {
        const all = ["--cli", goose, "mcp", "agents", ...args, ...passed, "--connect-timeout", "60000", "--format", "json"];
        const own = { ...process.env, MCP_CATALOG_PATH: join(home, "catalog.json"), MCP_CLIENT_CONFIG_PATH: join(home, "client.json") };
        return run(inspector, all, home, own);
    };
    const listed = await inspect("--method", "tools/list", "--strict");
    const wanted = ["goose-agent__assistant", "coding-agent__backend", "example__main", "echo__main"];
    const isListed = listed.code === 0 && wanted.every((name) => listed.stdout.includes(`"${name}"`));
    report("the Inspector lists goose's agents as tools", isListed, shown(listed));
    const args = JSON.stringify({ task: "Make a file for the inspector." });
    const called = await inspect("--method", "tools/call", "--tool-name", "coding-agent__backend", "--tool-args-json", args);
    const made = await readFile(join(home, "by-inspector.txt"), "utf8").catch(() => "");
    const isMade = called.code === 0 && called.stdout.includes("Made for the Inspector.") && made === "made\n";
    report("the Inspector gives a task to coding-agent/backend", isMade, shown(called));
    const echoed = await inspect("--method", "tools/call", "--tool-name", "echo__main", "--tool-args-json", JSON.stringify({ task: "through and through" }));
    const isThrough = echoed.code === 0 && echoed.stdout.includes("through and through");
    report("the Inspector reaches an acp-sdk agent through goose", isThrough, shown(echoed));
}

async function anotherGoose(home, env) {
    const written = (file) => readFile(join(home, file), "utf8").catch(() => "");
    const ran = await run(goose, ["run", "--agent", "other-goose", "-t", "Write a file, another goose."], home, env);
    const isDone = ran.code === 0 && ran.stdout.includes("The other goose has tried.");
    report("goose runs a task with `goose acp` 1.52.0", isDone, shown(ran));
    report("`goose acp` 1.52.0 writes a file", (await written("by-other-goose.txt")) === "written by another goose\n", shown(ran));
    const tried = await run(goose, ["run", "--agent", "other-goose", "-t", "Write a file, forbidden goose."], home, env);
    const isKept = tried.stdout.includes("The other goose has tried.") && (await written("forbidden.txt")) === "";
    report("`goose acp` 1.52.0 asks for permission, and a rule of ours denies it", isKept, shown(tried));
}

async function main(home) {
    const mock = new LLMock({ port: 0 });
    script(mock, home);
    await mock.start();
    const port = await freePort();
    await writeFile(join(home, "server.py"), SERVER);
    children.push(spawn(join(peers, "python-acp/bin/python"), [join(home, "server.py"), `${port}`], { stdio: "ignore" }));
    const url = `http://127.0.0.1:${port}`;
    if (!(await answers(`${url}/agents`))) return report("the acp-sdk server starts", false, url);
    const client = join(peers, "python-client");
    const lines = [
        "agents:",
        `  example: {type: acp, command: ${client}/bin/python, args: [${client}/examples/agent.py]}`,
        `  echo: {type: acp_http, url: "${url}"}`,
        `  asker: {type: acp_http, url: "${url}", agent: asker}`,
        `  gone: {type: acp_http, url: "${url}", agent: gone}`,
    ];
    const env = environment(home, mock.url);
    if (full) {
        const other = join(peers, "full/node_modules/@aaif/goose-binary-linux-x64/bin/goose");
        const own = { HOME: join(home, "other"), GOOSE_PATH_ROOT: join(home, "other/goose"), GOOSE_PROVIDER: "openai", GOOSE_MODEL: "gpt-4o", OPENAI_HOST: mock.url, GOOSE_DISABLE_KEYRING: "1", GOOSE_MODE: "approve" };
        await mkdir(own.HOME, { recursive: true });
        lines.push(`  other-goose: {type: acp, command: ${other}, args: [acp, --with-builtin, developer], envs: ${JSON.stringify(own)}, env_keys: [OPENAI_API_KEY]}`);
    }
    await mkdir(join(home, "goose/config/agents"), { recursive: true });
    await writeFile(join(home, "goose/config/config.yaml"), `${lines.join("\n")}\n`);
    await writeFile(join(home, "goose/config/agents/boss.yaml"), BOSS);
    await writeFile(join(home, "goose/config/permission.yaml"), "rules:\n  - deny: write forbidden.txt\n");
    await givesTasks(home, env, mock);
    await isCalled(home, env);
    if (full) await anotherGoose(home, env);
    await mock.stop();
}

const home = await mkdtemp(join(tmpdir(), "goose-agents-"));
try {
    await main(home);
} finally {
    children.forEach((child) => child.kill());
    await rm(home, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);
