#!/usr/bin/env bash
#
# Runs the commands of the tutorials for extensions as they are:
#
#     interop.tutorials.sh ROOT FOLDER [without-cargo]
#
# ROOT is the repository, FOLDER an empty one. Needs uv, npm and cargo, and the registries of their packages. The code blocks are put
# where the tutorials say. The Inspector, which would open a page, lists the tools instead (`--cli`). Prints a line for each command, as
# scripts/interop does; the exit code is 1 where one failed. What a command printed is in FOLDER/log.

set -uo pipefail
root=$(realpath "$1") folder=$(realpath "$2")
failed=0
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}

# block LANGUAGE TUTORIAL [NUMBER]: a code block.
block() {
    awk -v fence='```' -v language="$1" -v number="${3:-1}" '
        $0 == fence { inside = 0 }
        inside { print }
        $0 == fence language { seen += 1; inside = seen == number }
    ' "$root/crates/goose-mcp/src/tutorial/$2.md"
}

# run_block FOLDER TUTORIAL NUMBER [PATTERN]: runs the lines of a block of commands that have the pattern. A line that changes the folder
# changes it for the next ones.
run_block() {
    local line
    cd "$1" || return
    while read -r line; do
        [[ $line == *"${4:-}"* ]] || continue
        line=$(sed 's/ *# .*//' <<<"$line")
        if [[ $line == *inspector* ]]; then
            line="${line/inspector/inspector --cli} --method tools/list"
        fi
        # Not in a subshell: the line may change the folder.
        if eval "$line" >"$folder/output" 2>&1 </dev/null &&
            { [[ $line != *inspector* ]] || grep -q '"count_words"' "$folder/output"; }; then
            echo "ok    tutorial $2: $line"
        else
            echo "FAIL  tutorial $2: $line: see $folder/log"
            failed=1
        fi
        { echo "\$ $line" && cat "$folder/output"; } >>"$folder/log"
    done < <(block sh "$2" "$3")
}

export npm_config_yes=true
mkdir -p "$folder/python" "$folder/typescript"

run_block "$folder/python" build-mcp-extension 1
block python build-mcp-extension >"$PWD/server.py"
run_block "$PWD" build-mcp-extension 3 server.py

run_block "$folder/typescript" build-mcp-extension 2
block ts build-mcp-extension >"$PWD/server.ts"
run_block "$PWD" build-mcp-extension 3 server.ts

if [ "${3:-}" != without-cargo ]; then
    # Elsewhere: cargo would add a new package inside the repository to its workspace.
    rust=$(mktemp -d) && trap 'rm -rf "$rust"' EXIT && ln -s "$root" "$rust/goose"
    run_block "$rust" rust-extension 1
    block rust rust-extension >"$PWD/src/main.rs"
    if cargo test --quiet >>"$folder/log" 2>&1; then
        echo "ok    tutorial rust-extension: cargo test"
    else
        echo "FAIL  tutorial rust-extension: cargo test: see $folder/log"
        failed=1
    fi
    run_block "$PWD" rust-extension 2
fi
exit "$failed"
