//! Detection: what calls are for, what is counted, and every signal beside its near miss.

use domain::detection::{
    CountedCall, SessionCounters, SignalContext, SignalKind, ToolUse, classify_tool_call,
    detect_session_signals, find_stuck_words, is_similar,
};
use domain::host_event::{FileEffect, ToolCall, ToolKind, Touch};
use domain::policy::SignalPolicy;
use domain::time::Timestamp;

fn call(kind: ToolKind, name: &str, command: Option<&str>) -> ToolCall {
    ToolCall {
        id: None,
        name: name.to_owned(),
        kind,
        touches: Vec::new(),
        command: command.map(str::to_owned),
        says: None,
    }
}

#[test]
fn calls_are_told_apart() {
    let shell = |line: &str| classify_tool_call(&call(ToolKind::Shell, "Bash", Some(line)));
    let cases = [
        ("cat src/main.rs", ToolUse::Read),
        ("rg -n retry src | head", ToolUse::Read),
        ("git status && git diff", ToolUse::Read),
        ("git commit -m x", ToolUse::Write),
        ("echo hi > notes.txt", ToolUse::Write),
        ("cat a >> b", ToolUse::Write),
        ("ls 2>&1 >/dev/null", ToolUse::Read),
        ("sed -i s/a/b/ x", ToolUse::Write),
        ("sed -n 1,5p x", ToolUse::Read),
        ("cargo test", ToolUse::Query),
        ("FOO=1 sudo rm -r x", ToolUse::Write),
        ("tl trail map action \"write it\"", ToolUse::Governance),
        ("/usr/local/bin/tl scan | cat", ToolUse::Governance),
        ("cd x && cat y", ToolUse::Read),
        ("", ToolUse::Query),
    ];
    for (line, expected) in cases {
        assert_eq!(shell(line), expected, "{line}");
    }
    assert_eq!(
        classify_tool_call(&call(ToolKind::Edit, "Edit", None)),
        ToolUse::Write
    );
    assert_eq!(
        classify_tool_call(&call(ToolKind::Read, "Grep", None)),
        ToolUse::Read
    );
    assert_eq!(
        classify_tool_call(&call(ToolKind::Mcp, "mcp__throughline__map_context", None)),
        ToolUse::Governance
    );
    assert_eq!(
        classify_tool_call(&call(ToolKind::Mcp, "mcp__web__search", None)),
        ToolUse::Query
    );
    let mut writes = call(ToolKind::Mcp, "mcp__fs__put", None);
    writes.touches.push(Touch {
        path: "x".to_owned(),
        effect: FileEffect::Write { text: None },
    });
    assert_eq!(classify_tool_call(&writes), ToolUse::Write);
}

#[test]
fn stuck_in_many_languages_but_not_in_code() {
    let cases = [
        ("I am stuck here", vec!["stuck"]),
        ("let me try again", vec!["retry"]),
        (
            "Ich komme nicht weiter, noch einmal",
            vec!["stuck", "retry"],
        ),
        ("Я не понимаю, попробую снова", vec!["retry", "confused"]),
        ("还是卡住了", vec!["stuck"]),
        ("the retry_policy and unstuck are names", vec![]),
        ("retries are configured; the stuckness", vec![]),
        ("write the login form", vec![]),
        ("", vec![]),
    ];
    for (text, expected) in cases {
        assert_eq!(find_stuck_words(text, &[]), expected, "{text}");
    }
    assert_eq!(
        find_stuck_words("Ой, опять 25", &["опять".to_owned()]),
        ["опять"]
    );
}

#[test]
fn similar_is_not_equal_and_not_different() {
    assert!(is_similar(
        "Write the auth middleware",
        "write the auth  middleware!",
        80
    ));
    assert!(is_similar("Fix the login test", "Fix the login tests", 80));
    assert!(!is_similar(
        "Write the auth middleware",
        "Document the release",
        80
    ));
    assert!(!is_similar("", "", 80));
}

const NOW: i64 = 1_770_820_200_000;

struct Replay {
    counters: SessionCounters,
    policy: SignalPolicy,
    calls: usize,
}

impl Replay {
    fn new() -> Self {
        Self {
            counters: SessionCounters::default(),
            policy: SignalPolicy::default(),
            calls: 0,
        }
    }

    fn call(mut self, what: ToolUse, failed: bool, says: &str, action_declared: bool) -> Self {
        self.calls += 1;
        let id = format!("call-{}", self.calls);
        let seen = CountedCall {
            what,
            failed,
            says: Some(says),
            command: None,
            files: vec!["src/x.rs"],
            action_declared,
            at: Timestamp::from_millis(NOW),
            call: Some(&id),
        };
        self.counters.count_call(&seen, &self.policy);
        // A host that tells of one call twice is not two calls.
        self.counters.count_call(&seen, &self.policy);
        self
    }

    fn calls(self, times: usize, what: ToolUse) -> Self {
        (0..times).fold(self, |replay, _| replay.call(what, false, "", true))
    }

    fn map(mut self, tactic: Option<&str>) -> Self {
        self.counters
            .start_section(tactic, &self.policy, Timestamp::from_millis(NOW));
        self
    }

    #[track_caller]
    fn gives(&self, expected: &[SignalKind]) {
        self.gives_with(
            &SignalContext {
                has_trail: true,
                section: Some("Write it"),
                ..SignalContext::default()
            },
            expected,
        );
    }

    #[track_caller]
    fn gives_with(&self, around: &SignalContext<'_>, expected: &[SignalKind]) {
        let found: Vec<SignalKind> = detect_session_signals(&self.counters, around, &self.policy)
            .iter()
            .map(|signal| signal.kind)
            .collect();
        assert_eq!(found, expected, "{:?}", self.counters);
    }
}

#[test]
fn every_signal_and_its_near_miss() {
    use SignalKind::{
        CompletedBranches, Failures, MissingTree, ReadsWithoutWrites, Repetition, SectionTurns,
        StuckWords, TimeGap, UndeclaredWrites, WarmGap,
    };
    let write = |replay: Replay| replay.call(ToolUse::Write, false, "", true);
    write(Replay::new())
        .calls(7, ToolUse::Read)
        .gives(&[SectionTurns]);
    write(Replay::new()).calls(6, ToolUse::Read).gives(&[]);
    write(Replay::new())
        .calls(7, ToolUse::Read)
        .map(None)
        .gives(&[]);
    write(Replay::new())
        .calls(30, ToolUse::Governance)
        .gives(&[]);

    Replay::new()
        .calls(12, ToolUse::Query)
        .gives(&[SectionTurns, ReadsWithoutWrites]);
    write(Replay::new().calls(12, ToolUse::Read)).gives(&[SectionTurns]);

    let fail = |replay: Replay| replay.call(ToolUse::Query, true, "", true);
    fail(fail(fail(Replay::new()))).gives(&[Failures]);
    fail(write(fail(fail(Replay::new())))).gives(&[]);

    let stuck = |replay: Replay, says: &str| replay.call(ToolUse::Query, false, says, true);
    stuck(
        stuck(stuck(Replay::new(), "stuck"), "try again"),
        "снова пробую",
    )
    .gives(&[StuckWords]);
    stuck(
        stuck(stuck(Replay::new(), "stuck"), "try again"),
        "retry_policy",
    )
    .gives(&[]);

    let tactics = |texts: &[&str]| {
        texts
            .iter()
            .fold(Replay::new(), |replay, text| replay.map(Some(text)))
    };
    tactics(&[
        "Fix the test",
        "Fix the test!",
        "fix the tests",
        "Fix the test",
    ])
    .gives(&[Repetition]);
    tactics(&[
        "Fix the test",
        "Fix the test!",
        "Write docs",
        "Fix the test",
    ])
    .gives(&[]);

    Replay::new()
        .call(ToolUse::Write, false, "", false)
        .gives(&[UndeclaredWrites]);
    Replay::new()
        .call(ToolUse::Write, true, "", false)
        .gives(&[]);
    Replay::new()
        .call(ToolUse::Write, false, "", false)
        .map(None)
        .gives(&[]);

    let around = |gap_minutes: i64, done: usize, older: bool| SignalContext {
        has_trail: true,
        section: Some("Write it"),
        gap_ms: Some(gap_minutes * 60_000),
        completed_branches: done,
        older_trail: older,
    };
    Replay::new().gives_with(&around(120, 0, false), &[TimeGap]);
    Replay::new().gives_with(&around(119, 0, false), &[WarmGap]);
    Replay::new().gives_with(&around(29, 0, false), &[]);
    Replay::new().gives_with(&around(0, 5, false), &[CompletedBranches]);
    Replay::new().gives_with(&around(0, 4, false), &[]);
    Replay::new().gives_with(&around(0, 0, true), &[MissingTree]);
}

#[test]
fn the_most_serious_comes_first_and_what_is_off_is_not_there() {
    let mut replay = Replay::new().calls(20, ToolUse::Read);
    for _ in 0..3 {
        replay = replay.call(ToolUse::Query, true, "I am stuck", false);
    }
    let around = SignalContext {
        has_trail: true,
        section: Some("x"),
        gap_ms: Some(i64::MAX),
        completed_branches: 9,
        older_trail: true,
    };
    let kinds: Vec<SignalKind> = detect_session_signals(&replay.counters, &around, &replay.policy)
        .iter()
        .map(|signal| signal.kind)
        .collect();
    assert!(kinds.is_sorted() && kinds.len() == 7, "{kinds:?}");
    replay.policy.off = vec!["failures".to_owned(), "time-gap".to_owned()];
    assert!(
        !detect_session_signals(&replay.counters, &around, &replay.policy)
            .iter()
            .any(|signal| { matches!(signal.kind, SignalKind::Failures | SignalKind::TimeGap) })
    );
    replay.policy.section_turns = 0;
    assert!(
        !detect_session_signals(&replay.counters, &around, &replay.policy)
            .iter()
            .any(|it| it.kind == SignalKind::SectionTurns)
    );
}

#[test]
fn a_signal_is_news_once_until_it_ended() {
    let mut replay = Replay::new().calls(8, ToolUse::Read);
    let around = SignalContext {
        has_trail: true,
        section: Some("x"),
        ..SignalContext::default()
    };
    let told = |replay: &mut Replay| {
        let signals = detect_session_signals(&replay.counters, &around, &replay.policy);
        replay.counters.take_unreported(&signals).len()
    };
    assert_eq!(told(&mut replay), 1);
    replay = replay.calls(1, ToolUse::Read);
    assert_eq!(told(&mut replay), 0);
    replay = replay.map(None);
    assert_eq!(told(&mut replay), 0);
    replay = replay.calls(8, ToolUse::Read);
    assert_eq!(told(&mut replay), 1);
}
