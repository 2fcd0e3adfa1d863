"""`goose serve`, used by the libraries of others:

    python3 interop.server.py GOOSE PEERS [full]

GOOSE is the goose program, PEERS the folder that scripts/interop installs peers into. The clients of acp-sdk (the Agent
Communication Protocol) and of a2a-sdk (A2A, both versions) run agents, with a model that says what it is told. With `full`,
Schemathesis tries all routes of the OpenAPI document. Prints a line for each check, as scripts/interop does; the exit code is 1
where one failed.
"""

import asyncio
import contextlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading


class Model(http.server.BaseHTTPRequestHandler):
    """A chat model. A request for a command gets one, and everything else an answer."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        # The reader of a cancelled answer is gone.
        with contextlib.suppress(ConnectionError):
            self.answer()

    def answer(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        last = body["messages"][-1]
        text = json.dumps(last.get("content") or "")
        if last["role"] == "user" and "run a command" in text and body.get("tools"):
            arguments = json.dumps({"command": "echo interop"})
            call = {"index": 0, "id": "call_1", "type": "function",
                    "function": {"name": "developer__shell", "arguments": arguments}}
            deltas, reason = [{"role": "assistant", "tool_calls": [call]}], "tool_calls"
        elif "wait for me" in text:
            self.server.stop.wait(60)
            deltas, reason = [{"role": "assistant", "content": "late"}], "stop"
        else:
            deltas, reason = [{"role": "assistant", "content": "Quack"}, {"content": " quack."}], "stop"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for delta in deltas:
            self.event({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
        self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def event(self, value):
        value = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", **value}
        self.wfile.write(f"data: {json.dumps(value)}\n\n".encode())

    def log_message(self, *_):
        pass


def main():
    goose, peers = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    full = sys.argv[3:] == ["full"]
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    model.daemon_threads, model.stop = True, threading.Event()
    threading.Thread(target=model.serve_forever, daemon=True).start()
    failed = False
    with tempfile.TemporaryDirectory() as home:
        environment = {
            "PATH": os.environ["PATH"], "HOME": home, "GOOSE_PATH_ROOT": home, "GOOSE_DISABLE_KEYRING": "1",
            "GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "gpt-4", "OPENAI_API_KEY": "test", "GOOSE_MODE": "approve",
            "OPENAI_HOST": f"http://127.0.0.1:{model.server_port}", "GOOSE_SERVER__SECRET_KEY": "interop",
        }
        work = pathlib.Path(home, "work")
        work.mkdir()
        command = [goose, "serve", "--port", "0", "--no-socket", "--root", work]
        server = subprocess.Popen(command, env=environment, cwd=work, stderr=subprocess.PIPE, text=True)
        try:
            url = None
            while url is None:
                line = server.stderr.readline()
                if not line:
                    print("FAIL  goose serve starts: it ended")
                    sys.exit(1)
                found = re.search(r"serves at (http://\S+)", line)
                url = found and found[1]
            threading.Thread(target=server.stderr.read, daemon=True).start()
            for name in ["acp", "a2a"]:
                python = peers / f"python-{name}/bin/python"
                failed |= subprocess.run([python, __file__, name, url]).returncode != 0
            if full:
                failed |= not schemathesis(peers, url)
        finally:
            model.stop.set()
            server.terminate()
            code = server.wait(10)
    report("goose serve ends when it is asked to", code == 0, f"exit code {code}")
    sys.exit(failed or code != 0)


def schemathesis(peers, url):
    """Returns true if no route fails or answers in a way that the document does not have."""
    checks = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
    log = peers / "results/schemathesis.log"
    log.parent.mkdir(exist_ok=True)
    # These streams do not end by themselves.
    streams = ["get_mcp", "get_mcp_service", "get_api_v1_events", "get_api_v1_sessions_session_events"]
    excluded = [option for stream in streams for option in ("--exclude-operation-id", stream)]
    with log.open("w") as out:
        code = subprocess.run(
            [peers / "python-a2a/bin/schemathesis", "run", f"{url}/openapi.json", "--checks", checks,
             "-H", "Authorization: Bearer interop", *excluded, "--max-examples", "20",
             "--request-timeout", "20", "--seed", "1"],
            # It leaves a folder where it runs.
            cwd=log.parent, stdout=out, stderr=subprocess.STDOUT).returncode
    return report("Schemathesis on all routes", code == 0, f"exit code {code}; see {log}")


def report(name, good, detail=""):
    print(f"ok    {name}" if good else f"FAIL  {name}: {detail}", flush=True)
    return good


async def acp(url):
    """The client of the Agent Communication Protocol."""
    from acp_sdk import ACPError
    from acp_sdk.client import Client
    from acp_sdk.models import Message, MessageAwaitResume, MessagePart

    agent, headers = "goose-agent-assistant", {"authorization": "Bearer interop"}
    resume = MessageAwaitResume(message=Message(parts=[MessagePart(content="allow")]))
    good = True
    async with Client(base_url=url, headers=headers) as client:
        await client.ping()
        names = [agent.name async for agent in client.agents()]
        good &= report("acp-sdk lists the agents", agent in names and "coding-agent-backend" in names, names)
        run = await client.run_sync("Say hello", agent=agent)
        good &= report("acp-sdk, sync run", str(run.output[0]) == "Quack quack.", run)
        run = await client.run_async("Say hello", agent=agent)
        while not run.status.is_terminal:
            await asyncio.sleep(0.05)
            run = await client.run_status(run_id=run.run_id)
        good &= report("acp-sdk, async run", str(run.output[0]) == "Quack quack.", run)
        events = [event async for event in client.run_stream("Say hello", agent=agent)]
        kinds = [event.type for event in events]
        whole = kinds[:2] == ["run.created", "run.in-progress"] and kinds[-1] == "run.completed"
        good &= report("acp-sdk, streamed run", whole and "message.part" in kinds, kinds)
        again = [event async for event in client.run_events(run_id=events[-1].run.run_id)]
        good &= report("acp-sdk, events of a run", [event.type for event in again] == kinds, again)
        run = await client.run_sync("Please run a command", agent=agent)
        asked = run.status == "awaiting" and "echo interop" in str(run.await_request.message)
        good &= report("acp-sdk, a run waits for approval", asked, run)
        run = await client.run_resume_sync(resume, run_id=run.run_id)
        good &= report("acp-sdk, resumed run", run.status == "completed", run)
        run = await client.run_async("Please wait for me", agent=agent)
        await client.run_cancel(run_id=run.run_id)
        while not run.status.is_terminal:
            await asyncio.sleep(0.05)
            run = await client.run_status(run_id=run.run_id)
        good &= report("acp-sdk, cancelled run", run.status == "cancelled", run)
        async with client.session() as session:
            for text in ["Say hello", "Say it again"]:
                run = await session.run_sync(text, agent=agent)
            known = await session.refresh_session()
            kept = run.session_id == known.id and len(known.history) == 4
            good &= report("acp-sdk, a session keeps its history", kept, known)
        try:
            await client.run_sync("Hello", agent="nobody")
            good &= report("acp-sdk, an unknown agent", False, "no error")
        except ACPError as error:
            good &= report("acp-sdk, an unknown agent", error.error.code == "not_found", error)
    return good


async def a2a(url):
    """The client of A2A, in both versions."""
    import httpx
    from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
    from a2a.types import a2a_pb2 as types

    good = True
    for version in ["1.0", "0.3"]:
        async with httpx.AsyncClient(headers={"authorization": "Bearer interop"}, timeout=30) as web:
            card = await A2ACardResolver(web, url).get_agent_card()
            interfaces = [it for it in card.supported_interfaces if it.protocol_version == version]
            good &= report(f"a2a-sdk {version} reads the card", len(interfaces) == 1 and len(card.skills) > 3, card)
            del card.supported_interfaces[:]
            card.supported_interfaces.extend(interfaces)

            def message(text, **more):
                parts = [types.Part(text=text)]
                said = types.Message(message_id=f"{version} {text}", role="ROLE_USER", parts=parts, **more)
                return types.SendMessageRequest(message=said)

            async def sent(request, streaming):
                factory = ClientFactory(ClientConfig(httpx_client=web, streaming=streaming))
                return [event async for event in factory.create(card).send_message(request)]

            client = ClientFactory(ClientConfig(httpx_client=web)).create(card)
            [done] = await sent(message("Say hello"), False)
            state = types.TaskState.Name(done.task.status.state)
            text = done.task.artifacts[0].parts[0].text
            good &= report(f"a2a-sdk {version} sends", (state, text) == ("TASK_STATE_COMPLETED", "Quack quack."), done)
            events = await sent(message("Say hello again"), True)
            words = "".join(part.text for it in events for part in it.artifact_update.artifact.parts)
            ended = types.TaskState.Name(events[-1].status_update.status.state) == "TASK_STATE_COMPLETED"
            good &= report(f"a2a-sdk {version} streams", ended and words == "Quack quack.", events)
            task = await client.get_task(types.GetTaskRequest(id=done.task.id))
            good &= report(f"a2a-sdk {version} gets", task.id == done.task.id, task)
            if version == "1.0":
                listed = await client.list_tasks(types.ListTasksRequest(context_id=done.task.context_id, page_size=5))
                ids = [task.id for task in listed.tasks]
                good &= report("a2a-sdk 1.0 lists", (ids, listed.total_size) == ([done.task.id], 1), listed)
            [asked] = await sent(message("Please run a command"), False)
            waits = types.TaskState.Name(asked.task.status.state) == "TASK_STATE_INPUT_REQUIRED"
            good &= report(f"a2a-sdk {version} is asked", waits, asked)
            ids = {"task_id": asked.task.id, "context_id": asked.task.context_id}
            [resumed] = await sent(message("allow", **ids), False)
            ended = types.TaskState.Name(resumed.task.status.state) == "TASK_STATE_COMPLETED"
            good &= report(f"a2a-sdk {version} answers", ended, resumed)
            [asked] = await sent(message("Please run a command soon"), False)
            cancelled = await client.cancel_task(types.CancelTaskRequest(id=asked.task.id))
            ended = types.TaskState.Name(cancelled.status.state) == "TASK_STATE_CANCELED"
            good &= report(f"a2a-sdk {version} cancels", ended, cancelled)
    return good


if sys.argv[1] in ("acp", "a2a"):
    sys.exit(0 if asyncio.run({"acp": acp, "a2a": a2a}[sys.argv[1]](sys.argv[2])) else 1)
main()
