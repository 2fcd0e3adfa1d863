use std::sync::LazyLock;

use super::*;

const LIMITED: Means = Means::LOOK;

/// The coding modes and those without tools.
static ROUTER: LazyLock<Router> = LazyLock::new(|| {
    let full =
        ["backend", "frontend", "qa", "sre", "devsecops"].map(|mode| ("coding-agent", mode, Means::ALL));
    let limited = [
        ("coding-agent", "pm", LIMITED | Means::DOCUMENTS),
        ("coding-agent", "architect", LIMITED | Means::DOCUMENTS),
        ("coding-agent", "security", LIMITED),
        ("goose-agent", "app_maker", Means::NONE),
        ("goose-agent", "planner", Means::NONE),
        ("goose-agent", "recipe_maker", Means::NONE),
        ("orchestrator", "orchestrator", Means::NONE),
    ];
    let candidate = |(agent, mode, means)| Candidate { agent, mode, means, about: Vec::new() };
    Router::new(full.into_iter().chain(limited).map(candidate))
});

fn specialist(text: &str) -> &'static str {
    ROUTER.specialist(&Request::new(text)).specialist.map_or("-", |(_, mode)| mode)
}

#[test]
fn clear_work_finds_its_specialist_and_the_reason_names_its_words() {
    for (text, mode) in [
        ("the login button overlaps the logo on small screens, fix the css", "frontend"),
        ("add a DELETE endpoint for invoices to the API", "backend"),
        ("are there any hard coded credentials in this repository?", "security"),
        ("write an ADR about choosing Kafka over RabbitMQ", "architect"),
        ("draft user stories with acceptance criteria for the shopping cart", "pm"),
        ("pods are in CrashLoopBackOff since the last rollout, find out why", "sre"),
        ("set up a GitHub Actions workflow that builds the Docker image", "devsecops"),
        ("write playwright tests for the checkout", "qa"),
    ] {
        assert_eq!(specialist(text), mode, "{text}");
    }
    let reason = ROUTER.specialist(&Request::new("write playwright tests for the checkout")).reason;
    assert!(reason.contains("\"tests\"") || reason.contains("\"playwright\""), "{reason}");
}

#[test]
fn doubt_means_the_default_agent() {
    for text in [
        "what is the capital of Peru?",
        "hi",
        "And a third",
        "Do it again",
        "quux frobnicate blarg",
        "rename the photos in this folder by date",
        "fix the crash in parser.rs and then write a regression test for it",
    ] {
        assert_eq!(specialist(text), "-", "{text}");
    }
}

#[test]
fn a_mode_that_cannot_do_all_of_it_is_not_chosen() {
    for text in [
        "review the upload handler for vulnerabilities and fix them",
        "close the SQL injection in search.php",
        "Build a todo app with React in ./todo",
        "make a plan for adding i18n",
        "write the user story for saved carts and implement it",
    ] {
        assert!(
            ["-", "backend", "frontend", "qa"].contains(&specialist(text)),
            "{text}: {}",
            specialist(text)
        );
    }
    let guess = ROUTER.specialist(&Request::new("make me a little app that counts down to my birthday"));
    assert!(guess.specialist.is_none() && guess.reason.contains("app_maker cannot"), "{}", guess.reason);
}

#[test]
fn needs_are_less_than_everything_only_where_that_is_clear() {
    for text in [
        "review the session handling for vulnerabilities. Findings only, no changes",
        "where do we set the CORS headers?",
        "do a security review of the upload code",
    ] {
        assert_eq!(Request::new(text).needs(), Means::LOOK, "{text}");
    }
    assert_eq!(Request::new("thanks a lot!").needs(), Means::NONE);
    assert_eq!(
        Request::new("write user stories for the loyalty programme").needs(),
        Means::LOOK | Means::DOCUMENTS
    );
    for text in [
        "fix it",
        "implement that",
        "do the tests pass?",
        "the parser should skip blank lines",
        "continue",
        "yes",
        "Schreib bitte Tests für das Modul mit den Rechnungen",
        "write a user story, then implement it",
        "",
    ] {
        assert_eq!(Request::new(text).needs(), Means::ALL, "{text}");
    }
}

#[test]
fn other_languages_go_to_the_default_agent() {
    for text in [
        "Schreib bitte Tests für das Modul mit den Rechnungen",
        "corrige el error en el formulario de registro",
        "ログイン画面のバグを直してください",
        "сделай ревью безопасности модуля авторизации",
    ] {
        assert_eq!(specialist(text), "-", "{text}");
        assert!(!ROUTER.specialist(&Request::new(text)).is_clear, "a fast model may read it: {text}");
    }
}

#[test]
fn own_agents_are_found_by_what_they_are_for() {
    let about = vec![("Tax returns, deductions, payroll and VAT filings.", 1.0)];
    let own = |means| {
        Router::new(vec![Candidate { agent: "tax-helper", mode: "main", means, about: about.clone() }])
    };
    let request = "prepare the VAT filings and payroll for March";
    let router = own(Means::ALL);
    let found = router.specialist(&Request::new(request));
    assert!(
        found.specialist == Some(("tax-helper", "main")) && found.reason.contains("\"payroll\""),
        "{}",
        found.reason
    );
    assert_eq!(own(Means::LOOK).specialist(&Request::new(request)).specialist, None);
    assert_eq!(
        own(Means::ALL).specialist(&Request::new("what did the tax helper say about us?")).specialist,
        None
    );
}

#[test]
fn agents_are_named_in_the_words_of_a_request() {
    for (text, mode) in [
        ("as QA, write the tests you think are missing", Some("qa")),
        ("now do a security review of the upload code please", Some("security")),
        ("have the architect write a decision record about this", Some("architect")),
        ("ask the backend engineer to add an index", Some("backend")),
        ("turn this conversation into a recipe", Some("recipe_maker")),
        ("enable the tutorial and start it", Some("orchestrator")),
        ("search my earlier sessions for the regex", Some("orchestrator")),
        ("do a security review of the login and fix what you find", None),
        ("what did the architect say?", None),
        ("the backend is slow", None),
        ("deploy it as backend service", None),
        ("enable memory profiling in the build", None),
        ("which extensions are enabled?", Some("orchestrator")),
        ("turn off the github extension", Some("orchestrator")),
        ("what did we decide about retries in the last session?", Some("orchestrator")),
        ("Log out all other sessions when the user changes the password", None),
        ("Fix the bug where the previous session token is reused", None),
        ("the last chat message is cut off on mobile, fix it", None),
        ("Add a Chrome extension that blocks ads", None),
        ("Install the postgres extension pgvector and write the migration", None),
        ("which extensions does our file upload accept?", None),
        ("Add todo for the parser", None),
        ("ask the architect to review it, and ask the pm to write the story", None),
        ("Plan the move from REST to GraphQL", Some("planner")),
        ("make a plan for adding i18n", None),
        ("can you plan how to split the monolith? list the risks", Some("planner")),
        ("Plan the upgrade and then do it", None),
        ("Plan the upgrade, implement it", None),
        ("Plan the docs, write it to docs/plan.md", None),
        ("We plan to ship tomorrow, so the failing test must be fixed", None),
        ("I plan to use Redis here, is that a problem?", None),
        ("Plan approved, go ahead", None),
        ("Plan mode crashes on start", None),
        ("make a plan, then implement it", None),
        ("write a plan for the release and save it to PLAN.md", None),
        ("create a pricing plan page", None),
        ("plan b is to revert, do that", None),
        ("what is the plan?", None),
    ] {
        assert_eq!(ROUTER.named(&Request::new(text)).map(|(_, mode)| mode), mode, "{text}");
    }
}

fn count(text: &str) -> usize {
    Request::new(text).jobs().len()
}

#[test]
fn explicit_lists_of_independent_jobs_are_found_in_any_form() {
    for (text, number) in [
        ("1. Update the copyright year in the headers\n2. Fix the typo \"recieve\" in the mail templates", 2),
        (
            "pls\n- make the liveness probe of `gateway` less aggressive\n- add dark colours to the chart component",
            2,
        ),
        (
            "fix the N+1 query in OrdersController\nadd a spinner to the upload dialog\ndelete the old Procfile",
            3,
        ),
        ("Can you (a) tell me which tables have no primary key and (b) shrink the worker image?", 2),
        (
            "I need three unrelated things. First, a script that deletes merged branches. Second, convert users.xml to JSON. Third, bump axios.",
            3,
        ),
        (
            "three things: fix the spelling in the mail, drop python 3.8 from the matrix, make the sidebar collapsible",
            3,
        ),
        ("[web] show the password strength\n[infra] alert when the disk is full", 2),
        ("* `cli`: support gzip output\n* `docs`: broken link to the guide", 2),
        (
            "Drei Sachen bitte:\n1. Das Logo austauschen\n2. Die Tests im Lager starten\n3. Den Port auf 9090 setzen",
            3,
        ),
        ("Deux choses : 1) supprime les vieilles images ; 2) vérifie la place sur le disque", 2),
    ] {
        assert_eq!(count(text), number, "{text}");
    }
    let text = "Some chores:\n- bump axios\n- explain\n  the cache in full\n\nThanks!";
    let found: Vec<&str> = Request::new(text).jobs().into_iter().map(|place| &text[place]).collect();
    assert_eq!(found, ["bump axios", "explain\n  the cache in full"]);
}

#[test]
fn steps_tickets_logs_and_chains_stay_whole() {
    for text in [
        "1. Find the memory leak in the gateway\n2. Fix it\n3. Write a test that catches the leak",
        "- create a branch release/2.9\n- set the version to 2.9.0 there\n- push everything",
        "Extract the tax calculation:\n1) move the functions to tax.py\n2) replace the callers",
        "Implement this:\n- Users can filter orders\n- Add tests\n- Update the docs",
        "## Steps to reproduce\n1. Open the page\n2. Click on save",
        "Add these fields to the form:\n- name\n- e-mail",
        "Please do all of this in one commit:\n- rename Order to Purchase\n- bump axios",
        "1. add the endpoint for ratings\n2. document the endpoint",
        "The build fails:\n1. compile ok\n2. link error\nWhat is wrong?",
        "find and fix the off-by-one in pager.c and list.c",
        "the button should be 1) blue 2) rounded 3) disabled while loading",
        "Read main.rs. Then explain how errors are handled. Then suggest improvements.",
        "```\n- bump axios\n- explain the cache\n```",
        "Aufgaben:\n1. Die Bibliothek aktualisieren\n2. Danach die Tests starten und alles prüfen",
        "Pasos para reproducir:\n1. Abrir la página de pagos\n2. Pulsar el botón azul\n3. Aparece un error 500",
    ] {
        assert_eq!(count(text), 0, "{text}");
    }
}

#[test]
fn hostile_texts_are_one_request() {
    let long = "ä1 - b. and then 2) ".repeat(50_000);
    let controls = "\u{0}\u{1}\u{7f}\u{1b}[31m";
    for text in [
        "",
        "   \n\t ",
        "🦆🦆🦆 🎉",
        controls,
        "\u{202e}\u{200f}אבג שלום",
        "((((((",
        "- \n- \n- ",
        "1.2.3.",
        "a)",
        &long,
    ] {
        assert_eq!(specialist(text), "-", "{text:.40}");
        assert_eq!(count(text), 0, "{text:.40}");
        assert_eq!(ROUTER.named(&Request::new(text)), None);
    }
}
