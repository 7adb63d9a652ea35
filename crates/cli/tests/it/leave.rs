//! `tl leave`: the state of this machine is in use again.

use crate::remote::Team;
use crate::{planned, statuses};

#[test]
fn what_was_there_before_is_used_again() {
    let team = Team::start();
    let clone = planned();
    clone.ok(&["invalidate", "scene-0101", "--reason", "mine alone"]);
    let before = statuses(&clone);
    clone.write("../token", &team.token);
    clone.ok(&["join", &team.url(), "--token-file", "../token"]);
    assert_ne!(statuses(&clone), before);
    let left = clone.ok(&["leave"]);
    assert!(left.stdout.contains(&team.url()), "{}", left.stdout);
    assert_eq!(statuses(&clone), before);
    assert!(clone.run(&["leave"]).stderr.contains("not joined a server"));
}
