"""Three jobs of every day with the model that goose runs without a key.

    python3 interop.jobs.py GOOSE FOLDER

GOOSE is the goose program, which fetches the model into FOLDER, once (1.1 GB). What counts is what became of the files, and what
goose knows: that a command ran where one was asked for. Takes some minutes.
Prints a line for each check, as scripts/interop does; the exit code is 1 where one failed.
"""

import json
import os
import subprocess
import sys
import tempfile

goose, folder = map(os.path.abspath, sys.argv[1:3])

# The time that a job may take, in seconds.
LIMIT = 900


def run(work, *arguments):
    environment = {
        "PATH": os.environ["PATH"], "HOME": folder, "GOOSE_PATH_ROOT": folder, "GOOSE_MODE": "auto", "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_PROVIDER": "local", "GOOSE_MODEL": "qwen2.5-coder-1.5b", "GOOSE_YES": "1",
    }
    command = [goose, *arguments]
    return subprocess.run(command, cwd=work, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)


def job(files, task):
    """Runs a task in a folder with these files. Returns the folder, the answer, and the facts of goose."""
    work = tempfile.mkdtemp(dir=folder)
    for name, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(work, name)), exist_ok=True)
        with open(os.path.join(work, name), "w") as file:
            file.write(text)
    ran = run(work, "run", "--no-session", "--output-format", "json", "-t", task)
    try:
        document = json.loads(ran.stdout)
    except ValueError:
        return work, "", {}, ran
    said = [part.get("text", "") for message in document["messages"] if message["role"] == "assistant" for part in message["content"]]
    return work, said[-1] if said else "", document["metadata"].get("facts", {}), ran


def read(work, name):
    try:
        with open(os.path.join(work, name)) as file:
            return file.read()
    except OSError:
        return ""


def question():
    files = {
        "docs/pond.md": "# Pond\n\nThe pond is fed by the mill brook.\n",
        "docs/mill.md": "# Mill\n\nThe mill brook comes from Lake Alder.\n",
        "docs/lake.md": "# Lake Alder\n\nThe lake is 14 m deep.\n",
    }
    work, answer, facts, ran = job(files, "From which lake does the water of the pond come, and how deep is it?")
    unchanged = all(read(work, name) == text for name, text in files.items())
    return "Alder" in answer and "14" in answer and unchanged, (answer, facts, ran)


def script():
    files = {"sales.csv": "item,price,count\npen,2,10\nbook,12,3\n"}
    task = "Write a Python script total.py that reads sales.csv and prints the total revenue (price times count), then run it with python3."
    work, answer, facts, ran = job(files, task)
    printed = subprocess.run(["python3", "total.py"], cwd=work, capture_output=True, text=True)
    return "56" in printed.stdout and facts.get("commands_run", 0) > 0, (answer, facts, printed, ran)


def rename():
    files = {
        "calc.py": "def add(a, b):\n    return a + b\n",
        "main.py": "from calc import add\n\nprint(add(1, 2))\n",
    }
    work, answer, facts, ran = job(files, "Rename the function add to plus everywhere.")
    printed = subprocess.run(["python3", "main.py"], cwd=work, capture_output=True, text=True)
    texts = read(work, "calc.py") + read(work, "main.py")
    return printed.stdout == "3\n" and "plus" in texts and "add" not in texts, (answer, facts, texts, ran)


def main():
    os.makedirs(folder, exist_ok=True)
    pulled = run(folder, "models", "pull", "qwen2.5-coder-1.5b", "--yes")
    jobs = [("the model is fetched", lambda: (pulled.returncode == 0, pulled)), ("a question over three files", question),
            ("a script that is written and run", script), ("a function that is renamed in two files", rename)]
    failed = 0
    for name, check in jobs:
        try:
            holds, seen = check()
        except subprocess.TimeoutExpired as late:
            holds, seen = False, late
        print(f"{'ok   ' if holds else 'FAIL '} the model inside goose: {name}", flush=True)
        if not holds:
            failed = 1
            print(f"      {seen}"[:3000])
    return failed


sys.exit(main())
