"""What prompts over WebSocket (`/acp`) cost `goose serve`, also that of goose 1.52:

    python3 bench-served.py GOOSE [CLIENTS SECONDS]

GOOSE is the goose program. Needs the package `websockets`. A model on loopback writes ten words a second, each the time at which it
was written, so that each update tells its age when it arrives. Prints the median and the 99th percentile of the ages, the memory of
the server for a client, and fails on any error.
"""

import asyncio
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

import websockets

goose = os.path.realpath(sys.argv[1])
clients, seconds = (int(word) for word in (sys.argv[2:4] or ["100", "20"]))
INTERVAL = 0.1


async def model(reader, writer):
    """Answers one request with words; a request without tools is one for a title."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    if not length:
        # A list of models, which there is not.
        writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        return writer.close()
    body = json.loads(await reader.readexactly(int(length[1])))
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")

    def chunk(delta, reason=None):
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        value = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        writer.write(f"data: {json.dumps(value)}\n\n".encode())

    due = time.monotonic()
    for _ in range(int(seconds / INTERVAL) if body.get("tools") else 1):
        chunk({"role": "assistant", "content": f"{time.monotonic():.6f} "})
        await writer.drain()
        due += INTERVAL
        await asyncio.sleep(max(0, due - time.monotonic()))
    chunk({}, "stop")
    writer.write(b"data: [DONE]\n\n")
    await writer.drain()
    writer.close()


async def client(url, folder):
    """The ages of the words of one prompt."""
    ages, last = [], 0
    headers = {"X-Secret-Key": "bench"}
    async with websockets.connect(url, additional_headers=headers, max_size=None, compression=None) as web:
        async def ask(method, params):
            nonlocal last
            last += 1
            await web.send(json.dumps({"jsonrpc": "2.0", "id": last, "method": method, "params": params}))
            while True:
                message = json.loads(await web.recv())
                if message.get("id") == last and "method" not in message:
                    return message["result"]
                update = message.get("params", {}).get("update", {})
                words = update.get("content", {}).get("text", "").split() if update.get("sessionUpdate") == "agent_message_chunk" else []
                # Words that were joined have the age of the first.
                if words and re.fullmatch(r"\d+\.\d{6}", words[0]):
                    ages.append(time.monotonic() - float(words[0]))

        await ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        session = (await ask("session/new", {"cwd": folder, "mcpServers": []}))["sessionId"]
        ended = await ask("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "Tell the time"}]})
        assert ended["stopReason"] == "end_turn", ended
    assert ages, "no words"
    return ages


def resident(process):
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s*(\d+)", status)[1])


async def measure(process, url, folder, count):
    before, most = resident(process), 0
    running = asyncio.gather(*(client(url, folder) for _ in range(count)))
    while not running.done():
        most = max(most, resident(process))
        await asyncio.sleep(0.2)
    ages = sorted(age for ages in await running for age in ages)
    at = lambda share: 1000 * ages[int((len(ages) - 1) * share)]
    print(f"{count} clients: {len(ages)} updates, latency {at(0.5):.1f} ms (median), {at(0.99):.1f} ms (99th percentile), "
          f"{(most - before) / count:.0f} kB a client, {most // 1024} MB in all", flush=True)


async def main():
    listening = await asyncio.start_server(model, "127.0.0.1", 0, backlog=1024)
    with socket.socket() as free, tempfile.TemporaryDirectory() as home:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        environment = {
            "PATH": os.environ["PATH"], "HOME": home, "GOOSE_PATH_ROOT": home, "GOOSE_DISABLE_KEYRING": "1", "GOOSE_MODE": "auto",
            "GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "gpt-4", "OPENAI_API_KEY": "test", "GOOSE_SERVER__SECRET_KEY": "bench",
            "OPENAI_HOST": f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", "RUST_LOG": "error",
        }
        began = time.monotonic()
        process = subprocess.Popen([goose, "serve", "--port", str(port)], env=environment, cwd=home,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
                assert process.poll() is None, "the server ended"
                await asyncio.sleep(0.01)
            print(f"start: {1000 * (time.monotonic() - began):.0f} ms, {resident(process) // 1024} MB")
            for count in [10, clients]:
                await measure(process, f"ws://127.0.0.1:{port}/acp", home, count)
        finally:
            process.terminate()
            process.wait(20)


asyncio.run(main())
