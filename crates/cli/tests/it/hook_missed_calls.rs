//! Tool calls that a hook could not record in time: the next event of the session takes them over.

use std::fs;

use serde_json::json;
use testkit::Project;

use crate::hook_faults::{Lock, ended_well, faults, impatient, may_write, state};
use crate::planned;

/// A hook after a write that cannot get the lock: the next one knows the session's own text.
#[test]
fn a_text_that_could_not_be_recorded_is_still_the_sessions_own() {
    let project = planned();
    let session = impatient(&project, "s");
    let _ = session.read(Project::ACT);
    let _ = session.read(Project::CHAPTER);
    let Some(lock) = Lock::hold(&project, false) else {
        return;
    };
    let input =
        json!({ "file_path": project.root().join(Project::CHAPTER), "content": "# Mine\n" });
    project.write(Project::CHAPTER, "# Mine\n");
    let answer = session.after("Write", &input);
    ended_well("after a write", &answer);
    assert_eq!(faults(&project).len(), 1, "a fault is never silent");
    drop(lock);
    let notes = state(&project, "missed-calls");
    assert_eq!(fs::read_dir(&notes).expect("left").count(), 1);
    let answer = may_write(&project, &session, Project::CHAPTER);
    assert_eq!(answer.block(), None, "its own text");
    assert_eq!(fs::read_dir(&notes).expect("left").count(), 0, "taken over");
    assert_eq!(
        may_write(&project, &session, Project::CHAPTER).block(),
        None,
        "and remembered"
    );
    // Another session has not read it, and an edit by someone else is one.
    let other = may_write(&project, &project.session("t"), Project::CHAPTER);
    assert!(other.block().is_some(), "{other:?}");
    project.write(Project::CHAPTER, "# Not mine\n");
    assert!(
        may_write(&project, &session, Project::CHAPTER)
            .block()
            .is_some()
    );
}

/// The text at the time of the call counts, not the one that the next event finds.
#[test]
fn an_edit_after_an_unrecorded_call_is_not_the_sessions_own() {
    let project = planned();
    let session = impatient(&project, "s");
    let _ = session.read(Project::ACT);
    let _ = session.read(Project::CHAPTER);
    let Some(lock) = Lock::hold(&project, false) else {
        return;
    };
    let input =
        json!({ "file_path": project.root().join(Project::CHAPTER), "content": "# Mine\n" });
    project.write(Project::CHAPTER, "# Mine\n");
    let _ = session.after("Write", &input);
    drop(lock);
    project.write(Project::CHAPTER, "# By a person\n");
    let answer = may_write(&project, &session, Project::CHAPTER);
    assert!(answer.block().is_some(), "{answer:?}");
}
