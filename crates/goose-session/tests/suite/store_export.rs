//! Exports of sessions as JSON, which can be imported, and as Markdown.

use anyhow::Context as _;
use goose_session::{NewSession, StoreError, export, import};

use super::{store::one_of_each, support::TestStore};

#[tokio::test]
async fn import_restores_an_exported_session() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.store.create(NewSession::in_folder("/work").named("mine")).await?;
    session.append_all(&one_of_each()).await?;
    let before = test.store.open_session(session.id()).await?;
    let text = export::json(&test.store, session.id()).await?;

    let elsewhere = TestStore::new()?;
    let id = import::json(&elsewhere.store, text.as_bytes()).await?;
    let after = elsewhere.store.open_session(&id).await?;
    assert_eq!(&id, session.id());
    assert_eq!(after.steps, before.steps);
    let mut summary = after.summary;
    assert_eq!(summary.origin.take(), Some(format!("import:{id}")));
    assert_eq!(summary, before.summary);

    // The second import gets a new id, and a new session gets neither of the imported ids.
    let again = import::json(&elsewhere.store, text.as_bytes()).await?;
    assert_ne!(again, id);
    let new = elsewhere.session(&["hi"]).await?;
    assert!(new.id() != &again && new.id() != &id);

    let newer = text.replace("\"version\": 1", "\"version\": 2");
    for broken in ["", "{}", "[1]", &newer] {
        let error = import::json(&elsewhere.store, broken.as_bytes()).await.err().context("imported")?;
        assert!(matches!(error, StoreError::NotImportable { .. }), "{error}");
    }
    Ok(())
}

/// An imported id may have any number; new ids must still be free.
#[tokio::test]
async fn imported_id_with_a_high_number_does_not_block_new_ids() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.session(&["hi"]).await?;
    let text = export::json(&test.store, session.id()).await?;
    let (day, _) = session.id().as_str().split_once('_').context("a day and a number")?;
    let highest = format!("{day}_{}", i64::MAX);
    let imported =
        import::json(&test.store, text.replace(session.id().as_str(), &highest).as_bytes()).await?;
    assert_eq!(imported.as_str(), highest);
    for _ in 0..2 {
        let new = test.session(&["more"]).await?;
        assert_eq!(test.store.open_session(new.id()).await?.steps.len(), 1);
    }
    Ok(())
}

#[tokio::test]
async fn session_is_exported_as_markdown() -> anyhow::Result<()> {
    let test = TestStore::new()?;
    let session = test.store.create(NewSession::in_folder("/work").named("mine")).await?;
    session.append_all(&one_of_each()).await?;
    let page = export::markdown(&test.store, session.id()).await?;
    let (head, body) = page.split_once("\n## ").context("no message")?;
    assert!(head.starts_with("# mine\n") && head.contains("`/work`"), "{head}");
    insta::assert_snapshot!(format!("## {body}"), @r#"
    ## You

    list the files

    ## goose

    Well:

    **developer__shell**

    ```json
    {
      "command": "ls"
    }
    ```

    **result**

    ````
    a.rs
    ```
    b.rs
    ````

    > The conversation so far was shortened for the model.

    > Interrupted: cancelled

    Two files.

    > ran ls

    ```diff
    -a
    +b
    ```

    > Permission mode: approve
    > Agent: goose-agent/assistant

    **developer__read** (nested)

    ```json
    {
      "path": "zebra.txt"
    }
    ```

    **failed** (nested)

    ```
    no giraffe
    ```
    "#);
    Ok(())
}
