//! A category is a name, never a path.

use std::fs;

use serde_json::json;

use crate::support::{Home, data};

const HOSTILE: [&str; 27] = [
    "",
    " ",
    "\t",
    ".",
    "..",
    "...",
    "../x",
    "..\\x",
    "../../config/memory/x",
    "/etc/x",
    "/",
    "\\",
    "a/b",
    "a\\b",
    "a/../b",
    "C:\\x",
    "\\\\host\\share",
    ".hidden",
    ".lock",
    ".env",
    "a\0b",
    "\0",
    "a\nb",
    "a\rb",
    "a\u{7}b",
    "a\u{7f}b",
    "~/../x",
];

/// Names of devices on Windows.
const DEVICES: [&str; 9] = ["con", "CON", "Nul", "aux.notes", "prn ", "com1", "LPT9", "COM¹.x", "conin$"];

#[tokio::test]
async fn hostile_names_are_refused_by_every_tool() {
    let home = Home::new();
    home.remember("safe", "kept", &[], true).await;
    home.remember("safe", "kept", &[], false).await;
    let outside = home.path().join("x.txt");
    fs::write(&outside, "outside").unwrap();
    let long = "n".repeat(252);
    for name in HOSTILE.into_iter().chain([long.as_str()]) {
        for is_global in [true, false] {
            let calls = [
                ("remember_memory", json!({ "category": name, "data": "x", "is_global": is_global })),
                ("retrieve_memories", json!({ "category": name, "is_global": is_global })),
                ("search_memories", json!({ "query": "outside", "category": name, "is_global": is_global })),
                ("remove_memory_category", json!({ "category": name, "is_global": is_global })),
                (
                    "remove_specific_memory",
                    json!({ "category": name, "memory_content": "outside", "is_global": is_global }),
                ),
            ];
            for (tool, arguments) in calls {
                let message = home.err(tool, arguments).await;
                assert!(message.contains("cannot be used"), "{name:?}: {message}");
                assert!(message.contains("A category is a plain name"), "{name:?}: {message}");
                assert!(message.len() < 500, "{name:?}: {message}");
            }
        }
    }
    assert_eq!(fs::read_to_string(outside).unwrap(), "outside");
    assert_eq!(
        (home.files(true), home.files(false)),
        (vec!["safe.txt".to_owned()], vec!["safe.txt".to_owned()])
    );
}

#[tokio::test]
async fn device_names_are_refused_for_new_categories() {
    let home = Home::new();
    for name in DEVICES {
        let arguments = json!({ "category": name, "data": "x", "is_global": false });
        let message = home.err("remember_memory", arguments).await;
        assert!(message.contains("Windows reserves this name for a device"), "{name:?}: {message}");
    }
    assert_eq!(home.files(false), [""; 0]);
}

#[cfg(not(windows))]
#[tokio::test]
async fn device_names_that_people_have_keep_working() {
    let home = Home::new();
    for name in DEVICES {
        home.put(true, &format!("{name}.txt"), b"before\n\n");
        home.remember(name, "after", &[], true).await;
        assert_eq!(data(&home.retrieve(name, true).await), ["before", "after"], "{name}");
        home.ok("remove_memory_category", json!({ "category": name, "is_global": true })).await;
    }
    assert_eq!(home.files(true), [""; 0]);
}

#[tokio::test]
async fn a_star_is_no_category_to_remember_in() {
    let home = Home::new();
    for tool in ["remember_memory", "remove_specific_memory"] {
        let mut arguments = json!({ "category": "*", "is_global": true });
        let text = if tool == "remember_memory" { "data" } else { "memory_content" };
        arguments[text] = json!("x");
        assert!(home.err(tool, arguments).await.contains("needs a single one"));
    }
}

#[tokio::test]
async fn odd_names_that_people_have_keep_working() {
    let home = Home::new();
    let long = "n".repeat(251);
    let mut names = vec![
        "UPPER",
        "two words",
        " padded ",
        "größe",
        "数据",
        "🦆",
        "v1.2",
        "a.b.txt",
        "dash-and_underscore",
        "~",
        "-rf",
        "$HOME",
        "%2e%2e%2fx",
        "com10",
        "console",
        "nul-island",
        "it's",
        "a&b;c",
        "trailing.",
        &long,
    ];
    if !cfg!(windows) {
        names.extend(["todo: home", "what?", "a*b", "<b>"]);
    }
    for name in &names {
        home.put(true, &format!("{name}.txt"), b"# old\nbefore\n\n");
        home.remember(name, "after", &[], true).await;
        assert_eq!(data(&home.retrieve(name, true).await), ["before", "after"], "{name}");
        let remove = json!({ "category": name, "memory_content": "before", "is_global": true });
        home.ok("remove_specific_memory", remove).await;
        assert_eq!(fs::read(home.folder(true).join(format!("{name}.txt"))).unwrap(), b"after\n\n");
    }
    let all = home.ok("retrieve_memories", json!({ "category": "*", "is_global": true })).await;
    assert_eq!(all["total"], names.len());
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[tokio::test]
    async fn a_project_category_that_is_a_link_is_refused() {
        let home = Home::new();
        let outside = home.path().join("outside.txt");
        fs::write(&outside, "private\n").unwrap();
        home.remember("safe", "kept", &[], false).await;
        symlink(&outside, home.folder(false).join("evil.txt")).unwrap();
        symlink(home.path().join("nowhere"), home.folder(false).join("dangling.txt")).unwrap();
        for name in ["evil", "dangling"] {
            let calls = [
                ("remember_memory", json!({ "category": name, "data": "x", "is_global": false })),
                ("retrieve_memories", json!({ "category": name, "is_global": false })),
                ("remove_memory_category", json!({ "category": name, "is_global": false })),
                (
                    "remove_specific_memory",
                    json!({ "category": name, "memory_content": "private", "is_global": false }),
                ),
            ];
            for (tool, arguments) in calls {
                let message = home.err(tool, arguments).await;
                assert!(message.contains("it is a link"), "{message}");
                assert!(!message.contains("private"), "{message}");
            }
        }
        let page = home.retrieve("*", false).await;
        assert_eq!(data(&page), ["kept"]);
        assert!(page["note"].as_str().unwrap().contains("evil.txt cannot be used as memory"), "{page}");
        assert_eq!(fs::read_to_string(outside).unwrap(), "private\n");
        assert!(!home.path().join("nowhere").exists());
    }

    #[tokio::test]
    async fn a_project_folder_that_is_a_link_is_refused() {
        for link in [".goose", ".goose/memory"] {
            let home = Home::new();
            let elsewhere = home.path().join("elsewhere");
            fs::create_dir_all(elsewhere.join("memory")).unwrap();
            fs::write(elsewhere.join("a.txt"), "private\n").unwrap();
            fs::write(elsewhere.join("memory/a.txt"), "private\n").unwrap();
            if link.contains('/') {
                fs::create_dir(home.project().join(".goose")).unwrap();
            }
            symlink(&elsewhere, home.project().join(link)).unwrap();
            let remember = json!({ "category": "b", "data": "x", "is_global": false });
            assert!(home.err("remember_memory", remember).await.contains("is a link"));
            let retrieve = json!({ "category": "*", "is_global": false });
            assert!(home.err("retrieve_memories", retrieve).await.contains("is a link"));
            let search = json!({ "query": "private", "is_global": false });
            assert!(home.err("search_memories", search).await.contains("is a link"));
            home.remember("a", "private too", &[], true).await;
            let page = home.search(json!({ "query": "private" })).await;
            assert_eq!(data(&page), ["private too"]);
            assert!(page["note"].as_str().unwrap().contains("is a link"), "{page}");
            assert!(!elsewhere.join("b.txt").exists() && !elsewhere.join("memory/b.txt").exists());
        }
    }

    #[tokio::test]
    async fn the_persons_own_folder_may_be_a_link() {
        let home = Home::new();
        let dotfiles = home.path().join("dotfiles");
        fs::create_dir_all(&dotfiles).unwrap();
        fs::create_dir_all(home.path().join("config")).unwrap();
        symlink(&dotfiles, home.folder(true)).unwrap();
        home.remember("a", "x", &[], true).await;
        assert_eq!(fs::read(dotfiles.join("a.txt")).unwrap(), b"x\n\n");
    }

    #[tokio::test]
    async fn the_persons_own_categories_may_be_links() {
        let home = Home::new();
        home.put(true, "plain.txt", b"plain\n\n");
        let dotfiles = home.path().join("dotfiles");
        fs::create_dir_all(&dotfiles).unwrap();
        let target = dotfiles.join("work.md");
        fs::write(&target, "one\n\n").unwrap();
        let link = home.folder(true).join("work.txt");
        symlink("../../dotfiles/work.md", &link).unwrap();

        assert_eq!(data(&home.retrieve("*", true).await), ["plain", "one"]);
        home.remember("work", "two", &[], true).await;
        assert_eq!(fs::read(&target).unwrap(), b"one\n\ntwo\n\n");
        for text in ["one", "two"] {
            let remove = json!({ "category": "work", "memory_content": text, "is_global": true });
            home.ok("remove_specific_memory", remove).await;
        }
        assert!(link.is_symlink() && fs::read(&target).unwrap().is_empty());
        assert_eq!(fs::read_dir(&dotfiles).unwrap().count(), 1, "nothing is left beside it");

        let answer =
            home.ok("remove_memory_category", json!({ "category": "work", "is_global": true })).await;
        let kept =
            format!("Only a link was removed: {} is still there.", target.canonicalize().unwrap().display());
        assert!(answer.as_str().unwrap().ends_with(&kept), "{answer}");
        assert!(!link.is_symlink() && target.exists());
    }

    #[tokio::test]
    async fn a_link_of_the_person_that_leads_nowhere_is_an_error() {
        let home = Home::new();
        home.put(true, "plain.txt", b"plain\n\n");
        symlink(home.path().join("nowhere"), home.folder(true).join("lost.txt")).unwrap();
        symlink(home.path(), home.folder(true).join("folder.txt")).unwrap();
        for (name, problem) in [("lost", "Could not follow the link"), ("folder", "not a plain file")] {
            let remember = json!({ "category": name, "data": "x", "is_global": true });
            assert!(home.err("remember_memory", remember).await.contains(problem));
            let retrieve = json!({ "category": name, "is_global": true });
            assert!(home.err("retrieve_memories", retrieve).await.contains(problem));
        }
        assert_eq!(data(&home.retrieve("*", true).await), ["plain"]);
        assert!(!home.path().join("nowhere").exists());
    }

    #[tokio::test]
    async fn folders_and_pipes_are_not_read() {
        let home = Home::new();
        home.remember("safe", "kept", &[], true).await;
        fs::create_dir(home.folder(true).join("folder.txt")).unwrap();
        let pipe = home.folder(true).join("pipe.txt");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for name in ["folder", "pipe"] {
            let retrieve = json!({ "category": name, "is_global": true });
            assert!(home.err("retrieve_memories", retrieve).await.contains("not a plain file"));
        }
        assert_eq!(data(&home.retrieve("*", true).await), ["kept"]);
    }
}
