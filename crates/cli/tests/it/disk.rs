//! A full disk and a read-only one: writes are refused and change nothing, reads go on.
//!
//! Needs the right to mount; where there is none, nothing is shown and nothing fails.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::Project;

use crate::empty;

/// A small file system of its own at a project's directory.
struct SmallDisk {
    at: PathBuf,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test mounts its own small disk"
)]
fn mount(arguments: &[&str], at: &Path) -> bool {
    Command::new("mount")
        .args(arguments)
        .arg(at)
        .output()
        .is_ok_and(|output| output.status.success())
}

impl SmallDisk {
    fn new(project: &Project) -> Option<Self> {
        let at = project.root();
        mount(&["-t", "tmpfs", "-o", "size=600k", "tmpfs"], &at).then_some(Self { at })
    }
}

impl Drop for SmallDisk {
    #[expect(
        clippy::disallowed_methods,
        reason = "a test unmounts its own small disk"
    )]
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).output();
    }
}

#[test]
fn a_full_or_read_only_disk_refuses_writes_and_answers_reads() {
    let project = empty();
    let Some(disk) = SmallDisk::new(&project) else {
        return;
    };
    project.ok(&["init"]);
    project.write(Project::ACT, "# Act 1\n");
    project.ok(&["approve", "act", "1"]);

    // Fill it to the last byte.
    let filler = project.root().join("filler");
    let mut file = std::fs::File::create(&filler).expect("room for a name");
    assert!(file.write_all(&vec![0; 2_000_000]).is_err());
    drop(file);
    let refused = project.refused(&["progress", "act-1", "active"]);
    assert!(
        refused.stderr.contains("the disk is full"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("next: make room on the disk"),
        "{}",
        refused.stderr
    );
    assert_eq!(project.json(&["show", "act-1"])["progress"], "pending");
    assert_eq!(project.status("act-1"), "approved");

    std::fs::remove_file(&filler).expect("the filler can be removed");
    project.ok(&["check"]);
    project.ok(&["progress", "act-1", "active"]);

    assert!(mount(&["-o", "remount,ro"], &disk.at));
    let refused = project.refused(&["progress", "act-1", "complete"]);
    assert!(
        refused.stderr.contains("it is read-only"),
        "{}",
        refused.stderr
    );
    assert_eq!(project.json(&["show", "act-1"])["progress"], "active");
    project.ok(&["tree"]);
}
