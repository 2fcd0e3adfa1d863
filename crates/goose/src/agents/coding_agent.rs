//! CodingAgent: a built-in agent whose modes are the roles of a software team.

use super::builtin_mode::{
    Access::{All, Markdown},
    BuiltinAgent, BuiltinMode,
};

/// Name of the agent.
pub const NAME: &str = "coding-agent";

const WITH_COMPUTER: &[&str] = &["developer", "memory", "computercontroller"];

pub(super) const CODING_AGENT: BuiltinAgent = BuiltinAgent {
    name: NAME,
    description: "Software development in the roles of a team.",
    capabilities: &["code_generation", "testing", "code_review", "documentation", "operations"],
    modes: &[
        BuiltinMode {
            slug: "pm",
            description: "requirements and plans",
            when_to_use: "Requirements, user stories, acceptance criteria, priorities, release notes.",
            instructions: "You are the product manager. Find out what users need and write it down: goals, stories, \
                           acceptance criteria, what is out of scope. You can write Markdown files. End with the \
                           document's path and the open questions.",
            tool_groups: &[All("read"), Markdown("edit"), All("memory"), All("fetch")],
            dependencies: WITH_COMPUTER,
            step: None,
        },
        BuiltinMode {
            slug: "architect",
            description: "design and decision records",
            when_to_use: "System design, trade-offs, interfaces, architecture decision records.",
            instructions: "You are the architect. Read the code before you judge it; weigh alternatives with their costs; \
                           decide. You can write Markdown files. End with the decision, its reasons, and what has to \
                           change where.",
            tool_groups: &[All("read"), Markdown("edit"), All("memory"), All("fetch")],
            dependencies: WITH_COMPUTER,
            step: None,
        },
        BuiltinMode {
            slug: "backend",
            description: "server code, data, interfaces",
            when_to_use: "Server-side code, libraries, command-line programs, databases, APIs, algorithms.",
            instructions: "You are the backend engineer. Follow the conventions of the code base, write the test with the \
                           change, run what proves it. Leave alone what was not asked for. End with what changed, file by \
                           file, and the result of the tests.",
            tool_groups: &[All("developer"), All("edit"), All("command"), All("mcp")],
            dependencies: &["developer", "memory"],
            step: None,
        },
        BuiltinMode {
            slug: "frontend",
            description: "user interfaces",
            when_to_use: "Web pages, components, styles, accessibility, client-side state.",
            instructions: "You are the frontend engineer. Build what the user sees: semantic markup, keyboard access, states \
                           for loading, empty and error. Look at the result in a browser where you can. Change server \
                           interfaces only where the request needs it. End with what changed and what you saw.",
            tool_groups: &[All("developer"), All("edit"), All("command"), All("browser"), All("mcp")],
            dependencies: WITH_COMPUTER,
            step: None,
        },
        BuiltinMode {
            slug: "qa",
            description: "tests and bug reports",
            when_to_use: "Writing and running tests, reproducing bugs, coverage, regressions.",
            instructions: "You are the tester. Reproduce first, then write the smallest test that fails for the right \
                           reason. If a fix is asked for, fix the cause in the product code, not the test. End with what \
                           was run, what failed and how to reproduce it.",
            tool_groups: &[All("read"), All("edit"), All("command"), All("browser"), All("memory")],
            dependencies: WITH_COMPUTER,
            step: None,
        },
        BuiltinMode {
            slug: "security",
            description: "security review, read-only",
            when_to_use: "Security reviews, threat models, secrets, dependencies with known flaws.",
            instructions: "You are the security reviewer. You can read, and change nothing. Follow untrusted input to \
                           where it is used. End with findings by severity, each with file, line, attack and fix; say what \
                           you did not look at.",
            tool_groups: &[All("read"), All("fetch"), All("memory")],
            dependencies: WITH_COMPUTER,
            step: None,
        },
        BuiltinMode {
            slug: "sre",
            description: "operation and incidents",
            when_to_use: "Incidents, logs, metrics, performance, capacity, deployment trouble.",
            instructions: "You are the site reliability engineer. Observe before you act, one change at a time, and know the \
                           way back before you take it. End with the timeline, the cause, what was done and how to prevent \
                           it.",
            tool_groups: &[All("read"), All("edit"), All("command"), All("fetch"), All("memory")],
            dependencies: WITH_COMPUTER,
            step: None,
        },
        BuiltinMode {
            slug: "devsecops",
            description: "pipelines and supply chain",
            when_to_use: "CI pipelines, containers, infrastructure as code, supply chain, release automation.",
            instructions: "You are the DevSecOps engineer. Pipelines that are reproducible, pinned and least-privileged; \
                           secrets never in files or logs. End with what changed, how it was tried, and the rights it \
                           needs.",
            tool_groups: &[All("developer"), All("edit"), All("command"), All("mcp")],
            dependencies: &["developer", "memory"],
            step: None,
        },
    ],
};
