//! `tl trail rate`: a session's own word about its work.

use crate::{assert_refused, trail};

#[test]
fn ratings_are_kept_with_the_session() {
    let project = trail();
    assert_refused(&project, &["trail", "rate", "5"], "refused", &["no intent"]);
    project.ok(&["trail", "intent", "Build auth"]);
    project.ok(&["trail", "rate", "4", "--note", "red"]);
    let outcome = project.json(&["trail", "rate", "8"]);
    assert_eq!(
        (&outcome["average"], &outcome["ratings"]),
        (&6.0.into(), &2.into())
    );
    assert_refused(&project, &["trail", "rate", "11"], "invalid", &["1 to 10"]);
    assert_eq!(
        project.json(&["trail", "drift"])["ratings"][0]["note"],
        "red"
    );
}
