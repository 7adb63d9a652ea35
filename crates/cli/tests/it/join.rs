//! `tl team join`: from a clone to the server's project, and what it refuses.

use testkit::Project;

use crate::remote::Team;
use crate::{empty, story, text};

#[test]
fn a_clone_joins_and_the_token_is_only_in_the_users_directory() {
    let team = Team::start();
    let clone = story();
    clone.write("../token", format!("{}\n", team.token));
    let joined = clone.ok(&["team", "join", &team.url(), "--token-file", "../token"]);
    assert!(
        joined
            .stdout
            .contains(&format!("joined {} as human:", team.url())),
        "{}",
        joined.stdout
    );
    assert!(joined.stdout.contains(", 3 nodes"), "{}", joined.stdout);
    for plan in [Project::ACT, Project::CHAPTER, Project::SCENE] {
        clone.write(plan, team.project.read(plan));
    }
    assert_eq!(clone.status("act-1"), "approved");
    assert!(
        clone.shell(&format!("! grep -rqF {} .", team.token)),
        "the token is in the project"
    );
    assert!(!joined.stdout.contains(&team.token) && !joined.stderr.contains(&team.token));
    let kept = std::fs::read_dir(clone.user_directory().join("servers"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(
        kept.metadata().unwrap().permissions().mode() & 0o077,
        0,
        "others may read it"
    );
    // Again, with the token that is known.
    let again = clone.json(&["team", "join", &format!("{}/", team.url())]);
    assert_eq!(again["success"], true, "{again}");
    assert_eq!(text(&again, "server"), team.url());
}

#[test]
fn what_cannot_be_joined_is_refused_before_anything_is_remembered() {
    let team = Team::start();
    let clone = story();
    clone.write("../token", &team.token);
    clone.write("../wrong", "tl_wrong");
    let url = team.url();
    let encrypted = url.replace("http://", "https://");
    for (arguments, why) in [
        (
            vec!["team", "join", url.as_str(), "--token-file", "../wrong"],
            "rejects this token",
        ),
        (
            vec![
                "team",
                "join",
                "http://plans.example.org",
                "--token-file",
                "../token",
            ],
            "not encrypted and not on this machine",
        ),
        (vec!["team", "join", url.as_str()], "token is not known"),
        (
            vec!["team", "join", url.as_str(), "--token-file", "../nowhere"],
            "cannot be read",
        ),
        (
            vec![
                "team",
                "join",
                "http://127.0.0.1:9",
                "--token-file",
                "../token",
            ],
            "does not answer",
        ),
        // A server is there, but does not speak TLS: the token is not sent.
        (
            vec![
                "team",
                "join",
                encrypted.as_str(),
                "--token-file",
                "../token",
            ],
            "error: the server https://127.0.0.1",
        ),
    ] {
        let refused = clone.run(&arguments);
        assert!(
            refused.code != 0 && refused.stderr.contains(why),
            "{arguments:?}: {}",
            refused.stderr
        );
        assert!(!refused.stderr.contains(&team.token), "{}", refused.stderr);
    }
    assert!(!clone.user_directory().join("servers").exists());
    assert_eq!(
        clone.json(&["status"])["nodes"],
        0,
        "the state of this machine is in use as before"
    );
    let nowhere = empty();
    assert!(
        nowhere
            .run(&["team", "join", &url])
            .stderr
            .contains("no Throughline project")
    );
}
