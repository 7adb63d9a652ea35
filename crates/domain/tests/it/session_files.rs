//! Session files: rendered from the store, into whatever people made of them.

use domain::ids::NodeId;
use domain::session::{LogEntry, LogEntryKind, Session, SessionMode, SessionOwner};
use domain::session_log::{
    SessionText, TEMPLATE_TEXT, format_log_entry, hierarchy_digest, merge_session_file,
};
use domain::stamp::Stamp;
use domain::time::Timestamp;
use proptest::prelude::*;

const START: i64 = 1_770_820_200_000;

fn session() -> Session {
    let now = Timestamp::from_millis(START);
    Session::begin_session(
        Stamp::from_timestamp(now),
        &SessionOwner {
            name: "1",
            host: "test",
        },
        SessionMode::PlanDriven,
        NodeId(1),
        now,
    )
}

fn entry(minute: i64, text: &str) -> LogEntry {
    LogEntry {
        at: Timestamp::from_millis(START + minute * 60_000),
        kind: LogEntryKind::Action,
        text: text.to_owned(),
        about: None,
    }
}

fn render(log: &[LogEntry], drawing: &str, was: Option<&str>, file: &str) -> String {
    let session = session();
    merge_session_file(
        &SessionText {
            session: &session,
            hierarchy: drawing,
            log,
            hierarchy_was: was.map(hierarchy_digest),
        },
        file,
    )
}

#[test]
fn a_new_file_is_the_template_with_everything_in_it() {
    insta::assert_snapshot!(render(&[entry(0, "begin"), entry(5, "go on")], "● Root\n└── ● Tactic", None, TEMPLATE_TEXT), @r#"
    ---
    session_id: "30141102026"
    stamp: "30141102026"
    mode: "plan_driven"
    governance_status: "OPEN"
    created: 1770820200000
    last_updated: 1770820200000
    ---

    # Session: 30141102026

    ## Hierarchy
    <!-- Rendered from the store: what is written here is moved to the notes. -->
    ```text
    ● Root
    └── ● Tactic
    ```

    ## Log
    <!-- Append-only, oldest first. -->
    - 2026-02-11 14:30 action: begin
    - 2026-02-11 14:35 action: go on

    ## Notes
    <!-- Yours: anything goes. -->
    "#);
}

#[test]
fn what_people_write_stays() {
    let file = render(&[entry(0, "begin")], "● Root", None, TEMPLATE_TEXT);
    let edited = file
        .replace("action: begin", "action: begin\nI did this by hand")
        .replace(
            "anything goes. -->",
            "anything goes. -->\nremember the milk",
        )
        .replace("stamp:", "owner: mara\nstamp:")
        + "\n## More\nown section\n";
    let next = render(
        &[entry(0, "begin"), entry(1, "next")],
        "● Root\n└── new",
        Some("● Root"),
        &edited,
    );
    for kept in [
        "I did this by hand",
        "remember the milk",
        "owner: mara",
        "## More\nown section",
        "└── new",
    ] {
        assert!(next.contains(kept), "{kept}:\n{next}");
    }
    assert!(next.find("I did this").unwrap() < next.find("action: next").unwrap());
    assert!(!next.contains("by hand\n\n### The hierarchy"), "{next}");
}

#[test]
fn a_drawing_changed_by_hand_moves_to_the_notes_once() {
    let file = render(&[], "● Root", None, TEMPLATE_TEXT).replace("● Root", "● Root, but better");
    let once = render(&[], "● Root", Some("● Root"), &file);
    assert!(
        once.contains("### The hierarchy as it was changed by hand\n\n● Root, but better"),
        "{once}"
    );
    let twice = render(&[], "● Root", Some("● Root"), &once);
    assert_eq!(once, twice);
}

#[test]
fn a_short_line_in_the_drawing_is_kept_though_the_notes_have_its_letters() {
    let file = render(&[], "● Root", None, TEMPLATE_TEXT).replace("● Root", "m");
    let merged = render(&[], "● Root", Some("● Root"), &file);
    assert!(merged.lines().any(|line| line == "m"), "{merged}");
    let again = render(&[], "● Root", Some("● Root"), &merged);
    assert_eq!(again, merged);
}

#[test]
fn entries_that_were_taken_out_come_back_and_two_alike_are_two() {
    let log = [entry(0, "same"), entry(0, "same"), entry(1, "other")];
    let file = render(&log, "", None, TEMPLATE_TEXT);
    assert_eq!(file.matches("action: same").count(), 2);
    let cut = file.replacen("- 2026-02-11 14:30 action: same\n", "", 1);
    assert_eq!(
        render(&log, "", None, &cut).matches("action: same").count(),
        2
    );
    assert_eq!(render(&log, "", None, &file), file);
}

fn their_line() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zа-я #*|`-]{0,20}",
        Just("## Log".to_owned()),
        Just("```".to_owned()),
        Just("## Notes".to_owned()),
        Just("---".to_owned())
    ]
}

proptest! {
    #[test]
    fn nothing_of_theirs_is_lost_and_nothing_of_ours(
        theirs in prop::collection::vec((any::<prop::sample::Index>(), their_line()), 0..6),
        entries in 1_usize..6,
        more in 0_usize..4,
    ) {
        let log: Vec<LogEntry> = (0..entries + more).map(|number| entry(number as i64, &format!("step {number}"))).collect();
        let file = render(&log[..entries], "● Root", None, TEMPLATE_TEXT);
        let mut lines: Vec<String> = file.lines().map(str::to_owned).collect();
        for (place, line) in &theirs {
            // Behind the head: what is put into it is data of another kind.
            let at = 9 + place.index(lines.len() - 8);
            lines.insert(at, line.clone());
        }
        let edited = lines.join("\n") + "\n";
        let merged = render(&log, "● Root\n└── ● Next", Some("● Root"), &edited);
        let count = |text: &str, wanted: &str| text.lines().filter(|line| *line == wanted).count();
        for (_, theirs) in theirs.iter().filter(|(_, line)| !line.trim().is_empty() && line != "```") {
            prop_assert!(count(&merged, theirs) >= 1, "{theirs:?} is gone:\n{merged}");
        }
        for entry in &log {
            prop_assert!(count(&merged, &format_log_entry(entry)) >= 1, "{}:\n{merged}", format_log_entry(entry));
        }
        let again = render(&log, "● Root\n└── ● Next", Some("● Root\n└── ● Next"), &merged);
        prop_assert_eq!(&again, &merged);
    }
}
