//! Folders of a project.

use std::fs;

use super::*;

#[test]
fn project_levels_stop_below_folders_of_other_users() {
    let home = tempfile::tempdir().unwrap();
    let (root, deep) = (home.path().join("project"), home.path().join("project/src/deep"));
    fs::create_dir_all(&deep).unwrap();
    fs::create_dir_all(root.join(GIT)).unwrap();
    let names = |foreign: &[&str]| -> Vec<String> {
        let is_ours = |path: &Path| !foreign.iter().any(|name| path == home.path().join(name));
        let name = |path: &&Path| path.file_name().unwrap().to_string_lossy().into_owned();
        project_levels(&deep, is_ours).iter().map(name).collect()
    };
    assert_eq!(names(&[]), ["deep", "src", "project"]);
    assert_eq!(names(&["project/src"]), ["deep"]);
    assert_eq!(names(&["project"]), ["deep"]);
    assert_eq!(names(&["project/.git"]), ["deep"]);
    assert_eq!(names(&["project/src/deep"]), ["deep", "src", "project"]);
}
