"""A home folder of goose 1.52, made by its own binary, and then used by this goose.

    python3 interop.stock.py GOOSE OTHER

GOOSE is the goose program, OTHER that of goose 1.52. OTHER's wizard writes the configuration and the key at a
pseudo-terminal, and its sessions leave a memory, a permission and a database. GOOSE has to work there without a notice but
the one about the sessions, with the same provider, model, key, extensions, memory and permission.
Prints a line for each check, as scripts/interop does; the exit code is 1 where one failed.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

goose, other = map(os.path.abspath, sys.argv[1:3])

# How long a program may take to show something, in seconds.
PATIENCE = 60

KEY = "sk-stock-home"
DOWN, ENTER = "\x1b[B", "\r"
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>78]|\r")

# The tools that the words of a message make the model call.
CALLS = {
    "remember": ("remember_memory", {"category": "birds", "data": "Geese fly south.", "tags": [], "is_global": True}),
    "recall": ("retrieve_memories", {"category": "birds", "is_global": True}),
    "touch": ("shell", {"command": "touch touched"}),
}


class Model(BaseHTTPRequestHandler):
    """A model that calls one tool, and then says what came of it."""

    requests = []

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send("application/json", json.dumps({"object": "list", "data": [{"id": "gpt-4o", "object": "model"}]}))

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        Model.requests.append((self.headers.get("authorization"), body))
        said = [str(message.get("content")) for message in body["messages"] if message["role"] == "user"]
        results = [str(message["content"]) for message in body["messages"] if message["role"] == "tool"]
        names = [tool["function"]["name"] for tool in body.get("tools", [])]
        wanted = next((call for word, call in CALLS.items() if any(word in text for text in said)), None)
        name = wanted and next((name for name in names if name.endswith(wanted[0])), None)
        delta = {"role": "assistant", "content": "It is done. " + " ".join(results)}
        if name and not results:
            function = {"name": name, "arguments": json.dumps(wanted[1])}
            delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]}
        end = {"prompt_tokens": 1200, "completion_tokens": 10, "total_tokens": 1210}
        chunks = [{"delta": delta, "finish_reason": None}, {"delta": {}, "finish_reason": "tool_calls" if "tool_calls" in delta else "stop"}]
        if not body.get("stream"):
            return self.send("application/json", json.dumps(answer({"message": delta, "finish_reason": chunks[1]["finish_reason"]}, end)))
        frames = [answer(chunks[0], None), answer(chunks[1], end)]
        self.send("text/event-stream", "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames) + "data: [DONE]\n\n")

    def send(self, kind, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def answer(choice, usage):
    kind = "chat.completion.chunk" if "delta" in choice else "chat.completion"
    return {"id": "x", "object": kind, "created": 1, "model": "gpt-4o", "choices": [{"index": 0, **choice}], "usage": usage}


class Terminal:
    """A program at a pseudo-terminal."""

    def __init__(self, command, folder, environment):
        self.pid, self.pty = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(command[0], command, environment)
        fcntl.ioctl(self.pty, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.shown = b""

    def read(self, seconds):
        if select.select([self.pty], [], [], seconds)[0]:
            try:
                self.shown += os.read(self.pty, 65536)
            except OSError:
                pass

    def text(self):
        return ESCAPES.sub(b"", self.shown).decode(errors="replace")

    def wait_for(self, text):
        """Waits until something new is shown, and forgets what came before."""
        end = time.monotonic() + PATIENCE
        while text not in self.text():
            if time.monotonic() > end:
                raise TimeoutError(f"{text!r} was not shown:\n{self.text()[-2000:]}")
            self.read(0.2)
        # The rest of what is drawn at once.
        self.read(0.3)

    def send(self, keys):
        self.shown = b""
        os.write(self.pty, keys.encode())

    def choose(self, label):
        """Moves the mark of a list to an entry."""
        for _ in range(30):
            if re.search(rf">\s*{re.escape(label)}", self.text()):
                return self.send(ENTER)
            self.send(DOWN)
            self.wait_for("> ")
        raise TimeoutError(f"{label!r} is not in the list:\n{self.text()[-2000:]}")

    def close(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self.pty)


def make(home, environment):
    """Lets goose 1.52 make its files."""
    wizard = Terminal([other, "configure"], home, environment)
    try:
        wizard.wait_for("anonymous usage data to help")
        wizard.send("n")
        wizard.wait_for("set up your provider")
        wizard.choose("Manual Configuration")
        wizard.wait_for("Which model provider")
        wizard.choose("Search all providers")
        wizard.wait_for("Search model providers")
        wizard.send("openai" + ENTER)
        wizard.wait_for("> OpenAI (")
        wizard.send(ENTER)
        wizard.wait_for("set OPENAI_API_KEY")
        wizard.send("y")
        wizard.wait_for("Enter value for OPENAI_API_KEY")
        wizard.send(KEY + ENTER)
        wizard.wait_for("advanced settings")
        wizard.send("n")
        wizard.wait_for("Select a model")
        wizard.send(ENTER)
        wizard.wait_for("Configuration saved")
    finally:
        wizard.close()
    run([other, "run", "--with-builtin", "memory", "-n", "old", "-t", "remember it"], home, environment)
    session = Terminal([other, "session"], home, environment | {"GOOSE_MODE": "approve"})
    try:
        session.wait_for("goose is ready")
        session.send("touch it" + ENTER)
        session.wait_for("do you allow")
        session.choose("Always Allow")
        session.wait_for("It is done.")
    finally:
        session.close()


def run(command, folder, environment):
    return subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)


def read(home, name):
    with open(os.path.join(home, ".config/goose", name)) as file:
        return file.read()


def checks(home, environment):
    """The names of the checks, whether they hold, and what was seen."""
    made = {name: read(home, name) for name in ("config.yaml", "secrets.yaml", "permission.yaml", "memory/birds.txt")}
    yield "goose 1.52 made the files", KEY in made["secrets.yaml"] and "shell" in made["permission.yaml"], made
    before = len(Model.requests)
    first = run([goose, "run", "recall it"], home, environment)
    lines = first.stderr.splitlines()
    notices = [line for line in lines if not line.startswith(("▸", "  "))]
    is_named = len(notices) == 1 and "goose session import" in notices[0]
    yield "nothing is said but that sessions can be imported", first.returncode == 0 and is_named, first
    yield "memories are found", "Geese fly south." in first.stdout, first
    key, body = Model.requests[before]
    names = [tool["function"]["name"] for tool in body["tools"]]
    yield "the provider, the key and the model are the same", (key, body["model"]) == (f"Bearer {KEY}", "gpt-4o"), key
    wanted = ["developer__shell", "developer__write", "delegate"]
    yield "the extensions have their tools", all(name in names for name in wanted), names
    listed = json.loads(run([goose, "extension", "list", "--json"], home, environment).stdout)
    enabled = {entry["key"]: entry["enabled"] for entry in listed["extensions"]}
    configured = re.findall(r"^  (\w+):\n    enabled: (true|false)\n    type:", made["config.yaml"], re.M)
    same = configured and all(enabled.get(name) == (state == "true") for name, state in configured)
    yield "the same extensions are enabled", same, (configured, enabled)
    allowed = run([goose, "run", "touch it"], home, environment | {"GOOSE_MODE": "approve"})
    yield "what was always allowed is allowed", "It is done." in allowed.stdout and "Not run" not in allowed.stderr, allowed
    yield "it is said once", "import" not in allowed.stderr, allowed
    database = os.path.join(home, ".local/share/goose/sessions/sessions.db")
    imported = run([goose, "session", "import", database], home, environment)
    sessions = run([goose, "session", "list"], home, environment)
    yield "its sessions are imported", "Imported 2 sessions" in imported.stdout and "old" in sessions.stdout, (imported, sessions)
    yield "its files are as they were", all(read(home, name) == text for name, text in made.items()), made


def main():
    failed = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "PATH": os.environ["PATH"], "HOME": home, "TERM": "xterm-256color", "GOOSE_DISABLE_KEYRING": "1",
            "OPENAI_HOST": f"http://127.0.0.1:{server.server_port}",
        }
        make(home, environment)
        for name, holds, seen in checks(home, environment):
            print(f"{'ok   ' if holds else 'FAIL '} a home of goose 1.52: {name}")
            if not holds:
                failed = 1
                print(f"      {seen}"[:3000])
    return failed


sys.exit(main())
