"""goose as an agent in an editor, which is a client of the Python library of the Agent Client Protocol, with files and terminals.

    python interop.editors.py GOOSE FOLDER

GOOSE is the goose program, FOLDER the working folder. The model that the environment names is a mock: see interop.editors.mjs,
which runs this. Prints a line for each check, as scripts/interop does; the exit code is 1 where one failed.
"""

import asyncio
import os
import sys

import acp
from acp.schema import (
    AllowedOutcome, ClientCapabilities, CreateTerminalResponse, FileSystemCapabilities, ReadTextFileResponse,
    RequestPermissionResponse, TerminalExitStatus, TerminalOutputResponse, TextContentBlock, WaitForTerminalExitResponse,
)

goose, folder = map(os.path.realpath, sys.argv[1:3])
failed = False


def check(name, holds, detail=""):
    global failed
    failed = failed or not holds
    print(("ok    " if holds else "FAIL  ") + name + ("" if holds else f": {detail}"), flush=True)


class Editor:
    """An editor with one unsaved buffer."""

    def __init__(self):
        self.buffers = {os.path.join(folder, "open.txt"): "not saved\n"}
        self.updates, self.permissions, self.terminals = [], [], {}

    def on_connect(self, connection):
        pass

    async def request_permission(self, session_id, tool_call, options, **_):
        self.permissions.append(tool_call)
        allowed = next(option for option in options if option.kind == "allow_once")
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=allowed.option_id))

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def read_text_file(self, session_id, path, line=None, limit=None, **_):
        if path not in self.buffers:
            raise acp.RequestError.resource_not_found(path)
        return ReadTextFileResponse(content=self.buffers[path])

    async def write_text_file(self, session_id, path, content, **_):
        self.buffers[path] = content

    async def create_terminal(self, session_id, command, args=None, env=None, cwd=None, output_byte_limit=None, **_):
        variables = {variable.name: variable.value for variable in env or []}
        process = await asyncio.create_subprocess_exec(
            command, *(args or []), cwd=cwd, env={**os.environ, **variables}, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )
        identifier = f"terminal-{len(self.terminals)}"
        output = bytearray()

        async def read():
            while chunk := await process.stdout.read(4096):
                output.extend(chunk)
            return await process.wait()

        self.terminals[identifier] = (process, output, asyncio.create_task(read()))
        return CreateTerminalResponse(terminal_id=identifier)

    async def terminal_output(self, session_id, terminal_id, **_):
        process, output, _read = self.terminals[terminal_id]
        status = None if process.returncode is None else TerminalExitStatus(exit_code=process.returncode)
        return TerminalOutputResponse(output=output.decode(errors="replace"), truncated=False, exit_status=status)

    async def wait_for_terminal_exit(self, session_id, terminal_id, **_):
        return WaitForTerminalExitResponse(exit_code=await asyncio.shield(self.terminals[terminal_id][2]))

    async def kill_terminal(self, session_id, terminal_id, **_):
        process = self.terminals[terminal_id][0]
        if process.returncode is None:
            process.kill()

    release_terminal = kill_terminal

    def take(self, kind):
        return [update for update in self.updates if update.session_update == kind]

    def text(self):
        return "".join(update.content.text for update in self.take("agent_message_chunk"))


async def main():
    editor = Editor()
    offers = ClientCapabilities(fs=FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True)
    with open(os.path.join(folder, "open.txt"), "w") as file:
        file.write("saved\n")
    async with acp.spawn_agent_process(editor, goose, "acp", "--mode", "approve", env=dict(os.environ), cwd=folder) as (agent, _):
        greeted = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=offers)
        check("the Python client greets goose", greeted.agent_info.name == "goose", greeted)
        session = await agent.new_session(cwd=folder, mcp_servers=[])
        modes = [mode.id for mode in session.modes.available_modes]
        check("the Python client sees the agents as modes", "coding-agent/backend" in modes, modes)

        async def prompt(text):
            editor.updates.clear()
            answer = await agent.prompt(session_id=session.session_id, prompt=[TextContentBlock(type="text", text=text)])
            return answer.stop_reason

        reason = await prompt("Read the buffer.")
        check("goose reads the unsaved buffer", reason == "end_turn" and "not saved" in str(editor.updates), editor.updates)
        reason = await prompt("Change the buffer.")
        changed = editor.buffers[os.path.join(folder, "open.txt")]
        check("goose changes the buffer, and the file only through it", changed == "changed\n" and reason == "end_turn", changed)
        shown = [part for call in editor.permissions for part in call.content or [] if part.type == "diff"]
        check("the permission request has the diff", any(diff.new_text == "changed\n" for diff in shown), editor.permissions)
        reason = await prompt("Use the terminal.")
        good = reason == "end_turn" and len(editor.terminals) == 1 and "made in a terminal" in str(editor.updates)
        check("a command runs in the editor's terminal", good, editor.updates)

        waiting = asyncio.create_task(prompt("Sleep for long."))
        while len(editor.terminals) < 2:
            await asyncio.sleep(0.05)
        await agent.cancel(session_id=session.session_id)
        reason = await asyncio.wait_for(waiting, 60)
        check("a cancelled prompt ends", reason == "cancelled", reason)

        listed = await agent.list_sessions(cwd=folder)
        check("the session is listed", session.session_id in [it.session_id for it in listed.sessions], listed)
        editor.updates.clear()
        await agent.load_session(cwd=folder, session_id=session.session_id, mcp_servers=[])
        said = [update.content.text for update in editor.take("user_message_chunk")]
        check("a loaded session is shown again", said[:1] == ["Read the buffer."] and editor.take("tool_call"), said)


asyncio.run(asyncio.wait_for(main(), 300))
sys.exit(1 if failed else 0)
