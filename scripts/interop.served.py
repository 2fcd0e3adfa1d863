"""`goose` with a small model behind llama.cpp's own server: the PyPI package xllamacpp, whose server speaks the OpenAI wire.

    python interop.served.py GOOSE MODEL

GOOSE is the goose program, MODEL the GGUF file. What the model says is its own affair; what is checked is that goose asks it
step by step within a JSON Schema: everything it does is a whole call or a text, and no call is written as text.
Prints a line for each check, as scripts/interop does; the exit code is 1 where one failed.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import xllamacpp

goose, model = map(os.path.abspath, sys.argv[1:3])

parameters = xllamacpp.CommonParams()
parameters.model.path = model
parameters.n_ctx = 8192
parameters.verbosity = -1
server = xllamacpp.Server(parameters)


def ask(home, text):
    """The events of a run, and its exit code."""
    work = os.path.join(home, "work")
    os.makedirs(work, exist_ok=True)
    with open(os.path.join(work, "notes.txt"), "w") as file:
        file.write("The ferry leaves at 7:45.\n")
    env = {
        "PATH": os.environ["PATH"], "HOME": home, "GOOSE_PATH_ROOT": os.path.join(home, "goose"), "GOOSE_MODE": "auto",
        "GOOSE_DISABLE_KEYRING": "1", "GOOSE_PROVIDER": "llama_cpp", "GOOSE_MODEL": "default",
        "LLAMA_CPP_HOST": server.listening_address,
    }
    command = [goose, "run", "--no-session", "--max-turns", "4", "--output-format", "stream-json", "-t", text]
    ran = subprocess.run(command, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240)
    return [json.loads(line) for line in ran.stdout.splitlines() if line], ran


def parts(events):
    said = (event["message"] for event in events if event.get("type") == "message")
    return [part for message in said if message["role"] == "assistant" for part in message["content"]]


def is_whole(part):
    if part["type"] == "text":
        return part["text"].strip() != "" and not re.match(r'\s*(<tool_call>|\{"(tool|name)")', part["text"])
    call = part.get("toolCall", {})
    return call.get("status") == "success" and isinstance(call["value"].get("arguments"), dict)


failed = False


def check(name, holds, detail=""):
    global failed
    failed = failed or not holds
    print(("ok    " if holds else "FAIL  ") + name + ("" if holds else f": {detail}"))


with tempfile.TemporaryDirectory() as home:
    for text in ["When does the ferry leave? It is in notes.txt.", "Write a poem to poem.txt.", "Hello!"]:
        events, ran = ask(home, text)
        found = parts(events)
        detail = ran.stderr.strip()[-300:] + " " + json.dumps(found)[:600]
        check(f"llama.cpp's server, {text!r}: whole calls and texts", found and all(map(is_whole, found)), detail)
sys.stdout.flush()
os._exit(1 if failed else 0)
