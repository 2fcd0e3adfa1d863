//! `automation_script`: what runs is what was judged.

use serde_json::json;

use crate::computer_support::Office;

#[tokio::test]
async fn scripts_run_in_their_language() {
    let office = Office::new();
    let run =
        |language: &'static str, script: &'static str| json!({ "language": language, "script": script });
    assert_eq!(office.ok("automation_script", run("shell", "echo $((1 + 2))")).await, "3");
    let python = "words = [\"it's\", '$HOME', \"`x`\"]\nprint(' '.join(words))";
    assert_eq!(office.ok("automation_script", run("python", python)).await, "it's $HOME `x`");
    let failed = office.err("automation_script", run("python", "import sys\nsys.exit(3)")).await;
    assert!(failed.contains("exit code 3"), "{failed}");
    assert!(office.err("automation_script", run("cobol", "x")).await.contains("language"));
}

#[tokio::test]
async fn output_can_be_saved() {
    let office = Office::new();
    let arguments = json!({ "language": "shell", "script": "echo kept", "save_output": true });
    let shown = office.ok("automation_script", arguments).await;
    let path = shown.split("[saved to ").nth(1).unwrap().split(']').next().unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "kept");
}
