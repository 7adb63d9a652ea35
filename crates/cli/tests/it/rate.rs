//! `tl rate`: a session's own word about its work.

use crate::{assert_refused, trail};

#[test]
fn ratings_are_kept_with_the_session() {
    let project = trail();
    assert_refused(&project, &["rate", "5"], "refused", &["no intent"]);
    project.ok(&["intent", "Build auth"]);
    project.ok(&["rate", "4", "--note", "red"]);
    let outcome = project.json(&["rate", "8"]);
    assert_eq!(
        (&outcome["average"], &outcome["ratings"]),
        (&6.0.into(), &2.into())
    );
    assert_refused(&project, &["rate", "11"], "invalid", &["1 to 10"]);
    assert_eq!(project.json(&["drift"])["ratings"][0]["note"], "red");
}
