//! Starting and stopping leaves nothing behind. The counting is done by a process of its own, `cycler`, because the
//! other tests start processes meanwhile.

use std::process::Command;

use anyhow::ensure;

#[test]
fn a_hundred_cycles_leave_no_process_no_zombie_and_no_file() -> anyhow::Result<()> {
    let program = goose_test_support::example("goose-process", "cycler")?;
    let output = Command::new(program).arg("100").output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let counts: Vec<&str> = text.lines().collect();
    ensure!(counts.len() == 2, "{text}");
    ensure!(counts[0] == counts[1], "before and after differ:\n{text}");
    ensure!(counts[0].ends_with("children []"), "there are children left:\n{text}");
    Ok(())
}
