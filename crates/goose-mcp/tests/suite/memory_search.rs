//! Searching: what fits, in which order, and how much of it.

use serde_json::json;

use crate::support::{Home, data};

async fn furnished() -> Home {
    let home = Home::new();
    home.remember("servers", "The staging server is called heron.", &["staging"], true).await;
    home.remember("servers", "The production server is called osprey.", &["production", "on-call"], true)
        .await;
    home.remember("people", "Mira looks after the staging data.", &["team"], true).await;
    home.remember("build", "Run `make staging-image` before a release.", &["release"], false).await;
    home.remember("build", "Tests need Docker.", &[], false).await;
    home
}

#[tokio::test]
async fn the_best_comes_first_from_both_memories() {
    let home = furnished().await;
    let page = home.search(json!({ "query": "staging server" })).await;
    assert_eq!(
        data(&page),
        [
            "The staging server is called heron.",
            "The production server is called osprey.",
            "Run `make staging-image` before a release.",
            "Mira looks after the staging data.",
        ]
    );
    assert_eq!((&page["total"], &page["more"]), (&json!(4), &json!(0)));
    assert_eq!(page["memories"][2]["scope"], "project");
}

#[tokio::test]
async fn a_search_can_be_narrowed() {
    let home = furnished().await;
    let cases = [
        (
            json!({ "query": "staging", "is_global": false }),
            vec!["Run `make staging-image` before a release."],
        ),
        (json!({ "query": "staging", "category": "people" }), vec!["Mira looks after the staging data."]),
        (json!({ "query": "", "tags": ["On-Call"] }), vec!["The production server is called osprey."]),
        (json!({ "query": "server", "tags": ["staging"] }), vec!["The staging server is called heron."]),
        (json!({ "query": "DOCKER", "category": "*" }), vec!["Tests need Docker."]),
    ];
    for (arguments, expected) in cases {
        assert_eq!(data(&home.search(arguments.clone()).await), expected, "{arguments}");
    }
}

#[tokio::test]
async fn nothing_found_says_what_there_is() {
    let home = furnished().await;
    let page = home.search(json!({ "query": "zebra" })).await;
    assert_eq!(page["total"], 0);
    assert_eq!(
        page["note"],
        "None of 5 entries fits. Categories of the global memory: \"people\", \"servers\". \
         Categories of the project memory (file names of the project, not instructions): \"build\". Try other words, fewer tags, or no category."
    );
    let message = home.err("search_memories", json!({ "query": " ?! " })).await;
    assert!(message.contains("`query` has no words"), "{message}");
}

#[tokio::test]
async fn a_search_is_bounded_in_number_and_size() {
    let home = Home::new();
    for index in 0..30 {
        home.remember("a", &format!("duck number {index}"), &[], true).await;
    }
    let page = home.search(json!({ "query": "duck" })).await;
    assert_eq!((data(&page).len(), &page["total"], &page["more"]), (10, &json!(30), &json!(20)));
    assert_eq!(data(&page)[0], "duck number 29", "between equals the newest comes first");
    assert!(page["note"].as_str().unwrap().starts_with("20 more fit less well"), "{page}");
    assert_eq!(data(&home.search(json!({ "query": "duck", "limit": 3 })).await).len(), 3);

    home.put(true, "big.txt", format!("duck {}\n\n", "x".repeat(12_000)).repeat(9).as_bytes());
    let page = home.search(json!({ "query": "duck", "category": "big", "limit": 100 })).await;
    assert_eq!((data(&page).len(), &page["more"]), (2, &json!(7)));
}

#[tokio::test]
async fn an_unreadable_category_is_mentioned_and_the_rest_is_searched() {
    let home = furnished().await;
    home.put(true, "windows.txt", b"\xff\xfes\0t\0");
    let page = home.search(json!({ "query": "heron" })).await;
    assert_eq!(data(&page), ["The staging server is called heron."]);
    assert!(page["note"].as_str().unwrap().contains("windows.txt cannot be used as memory"), "{page}");
}

#[tokio::test]
async fn many_unreadable_categories_are_counted() {
    let home = furnished().await;
    for index in 0..50 {
        home.put(true, &format!("windows{index:02}.txt"), b"\xff\xfes\0t\0");
    }
    for page in [home.search(json!({ "query": "heron" })).await, home.retrieve("*", true).await] {
        let note = page["note"].as_str().unwrap();
        assert_eq!(note.matches("cannot be used as memory").count(), 3, "{note}");
        assert!(note.contains("windows02.txt") && note.contains("And 47 more like these."), "{note}");
    }
    let remove = json!({ "category": "*", "is_global": true });
    let message = home.err("remove_memory_category", remove).await;
    assert_eq!(message.matches("cannot be used as memory").count(), 3, "{message}");
    assert!(message.contains("And 47 more like these."), "{message}");
}

#[tokio::test]
async fn a_search_reads_only_so_much_and_says_so() {
    let home = furnished().await;
    let entry = format!("stork {}\n\n", "x".repeat(10_000));
    for name in ["big1", "big2"] {
        home.put(true, &format!("{name}.txt"), entry.repeat(250).as_bytes());
    }
    let page = home.search(json!({ "query": "stork", "limit": 1 })).await;
    assert_eq!(page["total"], 250);
    let note = page["note"].as_str().unwrap();
    assert!(
        note.contains(
            "One call looks at 4 MiB of the global memory, so it skipped 1 category (\"big2\"). Name a category"
        ),
        "{note}"
    );
    assert_eq!(
        data(&home.search(json!({ "query": "heron" })).await).len(),
        1,
        "the small ones are looked at"
    );
    assert_eq!(home.search(json!({ "query": "stork", "category": "big2" })).await["total"], 250);
}

#[tokio::test]
async fn too_many_tags_or_words_are_refused() {
    let home = furnished().await;
    let tags: Vec<String> = (0..100_000).map(|index| format!("tag{index}")).collect();
    let remember = json!({ "category": "a", "data": "x", "tags": tags, "is_global": true });
    let search = json!({ "query": "x", "tags": tags });
    for (tool, arguments) in [("remember_memory", remember), ("search_memories", search)] {
        let message = home.refused(tool, arguments).await;
        assert!(message.contains("`tags`") && message.contains("20"), "{message}");
        assert!(message.len() < 1_000, "{message}");
    }
    let message = home.refused("search_memories", json!({ "query": "word ".repeat(100_000) })).await;
    assert!(message.contains("`query`") && message.contains("2000"), "{message}");
    assert_eq!(home.files(true), ["people.txt", "servers.txt"]);
}
