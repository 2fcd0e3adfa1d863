"""Sessions that other agents write, imported by goose and resumed.

    python3 interop.sessions.py GOOSE PEERS

GOOSE is the goose program, PEERS the folder with node_modules of Claude Code, Codex and goose 1.52. Each of them answers one message
with a model that this script plays: a call of its shell tool, then a text. GOOSE imports the file that the session is in.
Prints a line for each check, as scripts/interop does; the exit code is 1 where one failed.
"""

import glob
import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

goose, modules = os.path.abspath(sys.argv[1]), os.path.join(os.path.abspath(sys.argv[2]), "node_modules")

# How long a program may take, in seconds.
PATIENCE = 120

QUESTION, COMMAND, ANSWER = "Where do geese fly?", "echo 'to the south'", "They fly south."
TOOLS = ("bash", "shell", "exec_command", "shell_command", "developer__shell")


def arguments(schema):
    properties = schema.get("properties", {})
    name = "cmd" if "cmd" in properties else "command"
    is_list = properties.get(name, {}).get("type") == "array"
    return {name: ["bash", "-c", COMMAND] if is_list else COMMAND, **({"description": "Asks"} if "description" in properties else {})}


class Model(BaseHTTPRequestHandler):
    """A model that calls the shell once. Speaks Anthropic's messages, OpenAI's responses and chat completions."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("application/json", json.dumps({"object": "list", "data": []}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        tools = {}
        for tool in body.get("tools", []):
            tool = tool.get("function", tool)
            if "name" in tool:
                tools[tool["name"].lower()] = (tool["name"], tool.get("input_schema") or tool.get("parameters") or {})
        text = json.dumps(body)
        is_called = any(mark in text for mark in ('"tool_result"', '"function_call_output"', '"role": "tool"'))
        tool = next((tools[name] for name in TOOLS if name in tools), None)
        call = (tool[0], arguments(tool[1])) if tool and not is_called else None
        if "/messages" in self.path:
            self.stream(anthropic(call), named=True)
        elif "/responses" in self.path:
            self.stream(responses(call), named=True)
        elif body.get("stream"):
            self.stream(chat(call) + ["[DONE]"])
        else:
            whole = {"id": "c", "object": "chat.completion", "model": "gpt-4o", "choices": [
                {"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}], "usage": USAGE}
            self.answer("application/json", json.dumps(whole))

    def stream(self, events, named=False):
        lines = []
        for event in events:
            lines += [f"event: {event['type']}"] if named else []
            lines += ["data: " + (event if isinstance(event, str) else json.dumps(event)), ""]
        self.answer("text/event-stream", "\n".join(lines + [""]))

    def answer(self, kind, text):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def anthropic(call):
    usage = {"input_tokens": 100, "output_tokens": 10}
    start = {"id": "msg_call" if call else "msg_text", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
             "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": ANSWER}
    if call:
        block = {"type": "tool_use", "id": "toolu_1", "name": call[0], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]


def responses(call):
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]}
    if call:
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": call[0], "arguments": json.dumps(call[1]),
                "status": "completed"}
    usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110,
             "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.1-codex", "output": [item], "usage": usage}
    return [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": whole},
    ]


def chat(call):
    delta = {"role": "assistant", "content": ANSWER}
    if call:
        function = {"name": call[0], "arguments": json.dumps(call[1])}
        delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
    chunk = lambda delta, end, usage: {"id": "c", "object": "chat.completion.chunk", "model": "gpt-4o", "usage": usage,
                                       "choices": [{"index": 0, "delta": delta, "finish_reason": end}]}
    return [chunk(delta, None, None), chunk({}, "tool_calls" if call else "stop", USAGE)]


def run(command, folder, environment):
    return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)


def sessions(home, work, environment, url):
    """Runs the other agents. Returns the file of each one's session."""
    os.makedirs(os.path.join(home, ".codex"))
    with open(os.path.join(home, ".codex", "config.toml"), "w") as file:
        file.write(f"""model = "gpt-5.1-codex"
model_provider = "script"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.script]
name = "script"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPT_KEY"
""")
    claude = [os.path.join(modules, "@anthropic-ai/claude-code-linux-x64/claude"), "-p", QUESTION, "--permission-mode", "bypassPermissions"]
    codex = ["node", os.path.join(modules, "@openai/codex/bin/codex.js"), "exec", "--skip-git-repo-check",
             "--dangerously-bypass-approvals-and-sandbox", QUESTION]
    other = os.path.join(modules, "@aaif/goose-binary-linux-x64/bin/goose")
    export = os.path.join(home, "export.json")
    yield "Claude Code", run(claude, work, environment), ".claude/projects/*/*.jsonl"
    yield "Codex", run(codex, work, environment), ".codex/sessions/*/*/*/rollout-*.jsonl"
    done = run([other, "run", "-t", QUESTION, "--with-builtin", "developer"], work, environment)
    exported = run([other, "session", "export", "--format", "json", "-o", export], work, environment)
    if not os.path.exists(export):
        listed = json.loads(run([other, "session", "list", "--format", "json"], work, environment).stdout)
        exported = run([other, "session", "export", "--format", "json", "--session-id", listed[0]["id"]], work, environment)
        with open(export, "w") as file:
            file.write(exported.stdout)
    yield "goose 1.52", done, "export.json"


def checks(home, work, environment, url):
    own = environment | {"GOOSE_PATH_ROOT": os.path.join(home, "own")}
    for name, written, pattern in sessions(home, work, environment, url):
        files = glob.glob(os.path.join(home, pattern))
        yield f"{name} writes a session", len(files) == 1, (files, written)
        if not files:
            continue
        imported = run([goose, "session", "import", files[0]], work, own)
        yield f"the session of {name} is imported", imported.returncode == 0 and "Imported the session" in imported.stdout, imported
        text = run([goose, "session", "export"], work, own).stdout
        has_all = all(part in text for part in (QUESTION, "to the south", ANSWER, COMMAND))
        yield f"the session of {name} has the question, the call, its result and the answer", has_all, text
        yield f"the session of {name} has nothing that was added to the question", text.count("## You") <= 2, text
        resumed = run([goose, "run", "--resume", "-t", "Again?"], work, own | {"GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "gpt-4o"})
        yield f"the session of {name} goes on", resumed.returncode == 0 and ANSWER in resumed.stdout, resumed


def main():
    failed = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    with tempfile.TemporaryDirectory() as home:
        work = os.path.join(home, "work")
        os.makedirs(work)
        environment = {
            "PATH": os.environ["PATH"], "HOME": home, "TERM": "dumb", "LANG": "C.UTF-8", "SHELL": "/bin/bash", "SCRIPT_KEY": "x",
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "x", "ANTHROPIC_MODEL": "claude-sonnet-4-5", "IS_SANDBOX": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "OPENAI_HOST": url, "OPENAI_API_KEY": "x",
            "GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "gpt-4o", "GOOSE_MODE": "auto", "GOOSE_DISABLE_KEYRING": "1",
            "GOOSE_TELEMETRY_OFF": "1", "GOOSE_TELEMETRY_ENABLED": "false",
        }
        for name, holds, seen in checks(home, work, environment, url):
            print(f"{'ok   ' if holds else 'FAIL '} sessions of others: {name}")
            if not holds:
                failed = 1
                print(f"      {seen}"[:3000])
    return failed


sys.exit(main())
