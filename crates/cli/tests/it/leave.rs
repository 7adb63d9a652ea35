//! `tl team leave`: the state of this machine is in use again.

use crate::remote::Team;
use crate::{planned, statuses};

#[test]
fn what_was_there_before_is_used_again() {
    let team = Team::start();
    let clone = planned();
    clone.ok(&["invalidate", "scene-0101", "--reason", "mine alone"]);
    let before = statuses(&clone);
    clone.write("../token", &team.token);
    clone.ok(&["team", "join", &team.url(), "--token-file", "../token"]);
    assert_ne!(statuses(&clone), before);
    let left = clone.ok(&["team", "leave"]);
    assert!(left.stdout.contains(&team.url()), "{}", left.stdout);
    assert_eq!(statuses(&clone), before);
    assert!(
        clone
            .run(&["team", "leave"])
            .stderr
            .contains("not joined a server")
    );
}
