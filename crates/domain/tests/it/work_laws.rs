//! The laws of the work: where a session stands, what is written into its files, what its commits count.

use std::collections::{BTreeMap, BTreeSet};

use domain::fact::Fact;
use domain::front_matter;
use domain::ids::NodeId;
use domain::node::{Node, Progress};
use domain::ports::{CommitHistory, HistoryCommit};
use domain::tree::Tree;
use domain::work::focus::{Focus, find_root};
use domain::work::history::{CycleInputs, HistoryMark, ScenarioInput, WorkSpan, fold_cycles};
use domain::work::tdd::{CommitPrefixes, Cycle, ScenarioDecision};
use proptest::prelude::*;
use testkit::{node, timestamp};

/// An action of a session, or of another one beside it.
#[derive(Clone, Debug)]
enum Move {
    Enter(usize),
    Exit { proved: bool },
    Back(usize),
    Park,
    Switch(usize),
    Finish(usize),
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let which = 0..20_usize;
    let one = prop_oneof![
        4 => which.clone().prop_map(Move::Enter),
        4 => prop::bool::weighted(0.8).prop_map(|proved| Move::Exit { proved }),
        2 => which.clone().prop_map(Move::Back),
        1 => Just(Move::Park),
        2 => which.clone().prop_map(Move::Switch),
        4 => which.prop_map(Move::Finish),
    ];
    prop::collection::vec(one, 1..60)
}

/// A forest: each node below one of those before it, or, about one in five, a root of its own.
fn forest() -> impl Strategy<Value = Tree> {
    prop::collection::vec(
        (any::<prop::sample::Index>(), prop::bool::weighted(0.2)),
        1..20,
    )
    .prop_map(|shape| {
        let mut nodes: Vec<Node> = Vec::new();
        for (number, (above, is_root)) in shape.into_iter().enumerate() {
            let parent = (!is_root && !nodes.is_empty()).then(|| above.get(&nodes).clone());
            let alias = format!("n{number:02}");
            nodes.push(node(
                u32::try_from(number).unwrap() + 1,
                parent.as_ref(),
                &alias,
                "# x\n",
            ));
        }
        Tree::new(nodes)
    })
}

fn complete(tree: &mut Tree, id: NodeId) {
    let before = tree.get(id).unwrap().progress;
    if before != Progress::Complete {
        let fact = Fact::ProgressChanged {
            node: id,
            before,
            after: Progress::Complete,
        };
        tree.apply_facts([&fact], timestamp(1)).unwrap();
    }
}

fn is_complete(tree: &Tree, id: NodeId) -> bool {
    tree.get(id)
        .is_some_and(|node| node.progress == Progress::Complete)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a session does, its stack is the path from a root to its cursor; leaving stays in the root and
    /// completes only what is proved and has nothing open below it; parking and coming back changes nothing.
    #[test]
    fn the_stack_is_the_path_to_the_cursor(tree in forest(), moves in moves()) {
        let mut tree = tree;
        let mut focus = Focus::default();
        for one in moves {
            let pick = |which: usize| tree.nodes().nth(which % tree.len()).unwrap().clone();
            let before = focus.clone();
            match one {
                Move::Enter(which) => {
                    let target = pick(which).id;
                    focus.enter_node(&tree, target);
                    prop_assert_eq!(focus.cursor(), Some(target));
                }
                Move::Back(which) => {
                    let target = pick(which);
                    let known = before.roots.get(&find_root(&tree, target.id));
                    let on_stack = |id: NodeId| tree.get(id).is_some_and(|at| {
                        at.id == target.id || tree.ancestors(at).iter().any(|above| above.id == target.id)
                    });
                    let was_there = known.is_some_and(|known| known.visited.contains(&target.id) || on_stack(known.cursor));
                    prop_assert_eq!(focus.go_back(&tree, &target).is_ok(), was_there);
                    if was_there {
                        prop_assert_eq!(focus.cursor(), Some(target.id));
                    } else {
                        prop_assert_eq!(&focus, &before);
                    }
                }
                Move::Park => {
                    let parked = focus.park_root();
                    prop_assert_eq!(parked.is_ok(), before.active_root.is_some());
                    prop_assert_eq!(&focus.roots, &before.roots);
                    if let Ok(root) = parked {
                        let mut again = focus.clone();
                        again.switch_root(&tree, tree.get(root).unwrap()).unwrap();
                        prop_assert_eq!(again, before);
                    }
                }
                Move::Switch(which) => {
                    let target = pick(which);
                    let moved = focus.switch_root(&tree, &target);
                    prop_assert_eq!(moved.is_ok(), target.parent.is_none());
                    // No other root was touched.
                    let others = |focus: &Focus| focus.roots.iter().filter(|(root, _)| **root != target.id).map(|(root, known)| (*root, known.clone())).collect::<Vec<_>>();
                    prop_assert_eq!(others(&focus), others(&before));
                }
                Move::Exit { proved } => match focus.leave_node(&tree, &|_| proved) {
                    Err(_) => {
                        prop_assert_eq!(before.cursor(), None);
                        prop_assert_eq!(&focus, &before);
                    }
                    Ok(left) => {
                        let root = before.active_root.unwrap();
                        prop_assert_eq!(find_root(&tree, focus.roots[&root].cursor), root, "it left the root");
                        prop_assert_eq!(focus.active_root, (!left.finished).then_some(root));
                        prop_assert!(proved || left.completed.is_empty());
                        for id in &left.completed {
                            prop_assert!(tree.children(*id).all(|child| is_complete(&tree, child.id)), "something is open below {}", id);
                            complete(&mut tree, *id);
                        }
                        prop_assert!(!left.finished || is_complete(&tree, root));
                        prop_assert!(left.unproved.is_none_or(|id| !is_complete(&tree, id)));
                    }
                },
                Move::Finish(which) => {
                    let id = pick(which).id;
                    complete(&mut tree, id);
                }
            }
            let stack: Vec<&Node> = focus.stack(&tree);
            prop_assert_eq!(stack.last().map(|node| node.id), focus.cursor());
            prop_assert_eq!(stack.first().map(|node| node.id), focus.active_root);
            prop_assert!(stack.first().is_none_or(|root| root.parent.is_none()));
            prop_assert!(stack.windows(2).all(|pair| pair[1].parent == Some(pair[0].id)));
            for known in focus.roots.values() {
                let once: BTreeSet<NodeId> = known.visited.iter().copied().collect();
                prop_assert_eq!(once.len(), known.visited.len());
                prop_assert!(!once.contains(&known.cursor));
            }
            let json = serde_json::to_string(&focus).unwrap();
            prop_assert_eq!(serde_json::from_str::<Focus>(&json).unwrap(), focus.clone());
        }
    }
}

/// Lines of front matter that belong together, and lines between them.
fn other_entry() -> impl Strategy<Value = String> {
    let key = prop::sample::select(vec![
        "id",
        "Phase",
        "заметка",
        "status_2",
        "\"quoted\"",
        "phases",
    ]);
    let value = "[a-zа-яё0-9 «»#'-]{0,12}";
    prop_oneof![
        3 => (key.clone(), value).prop_map(|(key, value)| format!("{key}: {value}\n")),
        1 => (key.clone(), "[a-zа-я]{1,6}").prop_map(|(key, value)| format!("{key}:\n  - {value}\n  # a word\n- two\n")),
        1 => key.prop_map(|key| format!("{key}: |\n  phase: not this one\n\n  more\n")),
        1 => Just("# a comment about phase: x\n".to_owned()),
        1 => Just("\n".to_owned()),
    ]
}

fn own_entry() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "phase: intake\n",
        "phase:intake: x\n",
        "phase: 'intake' # a word\n",
        "'phase': intake\n",
        "phase:\n",
        "phase:\n  - a\n  - b\n",
        "phase:\n# between\n- a\n- b\n",
        "phase: |\n  one\n\n  two\n",
        "phase: [a,\n  b]\n",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Setting a key changes its own lines and no other byte, and what was set is read back.
    #[test]
    fn one_key_is_set_and_nothing_else(
        before in prop::collection::vec(other_entry(), 0..4),
        own in prop::option::of(own_entry()),
        after in prop::collection::vec(other_entry(), 0..4),
        body in "(\n|[a-zа-я#-]{0,9}\n|---\n|phase: x\n){0,6}",
        value in prop::sample::select(vec!["implement", "['017a', '017b']", "готово", "define-behavior"]),
        mark in prop::sample::select(vec!["", "\u{feff}"]),
        end in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        // A list that is not indented belongs to the key above it; before the first key there is none.
        let (before, after) = (before.concat(), after.concat());
        let whole = |own: &str| format!("{mark}---\n{before}{own}{after}---\n{body}").replace('\n', end);
        let text = whole(own.as_deref().unwrap_or_default());
        let set = front_matter::set_key(&text, "phase", value);
        let line = format!("phase: {value}\n");
        let expected = match own {
            Some(_) => whole(&line),
            None => format!("{mark}---\n{before}{after}{line}---\n{body}").replace('\n', end),
        };
        prop_assert_eq!(&set, &expected);
        prop_assert_eq!(front_matter::raw_value(&set, "phase"), Some(value.to_owned()));
        prop_assert_eq!(front_matter::set_key(&set, "phase", value), set.clone());

        let keys = ["phase".to_owned(), "status".to_owned()];
        let bare = front_matter::remove_keys(&set, &keys);
        prop_assert_eq!(&front_matter::remove_keys(&bare, &keys), &bare);
        prop_assert_eq!(front_matter::raw_value(&bare, "phase"), None);
        prop_assert_eq!(front_matter::remove_keys(&text, &keys), bare, "what the key was makes no difference");
    }

    /// A text without front matter gets one, and keeps every byte.
    #[test]
    fn a_text_without_front_matter_gets_one(body in "\u{feff}?[a-zа-я# \r\n:]{0,40}") {
        let set = front_matter::set_key(&body, "phase", "implement");
        prop_assert_eq!(front_matter::raw_value(&set, "phase"), Some("implement".to_owned()));
        let bare = body.strip_prefix('\u{feff}').unwrap_or(&body);
        prop_assert!(set.ends_with(bare));
        prop_assert_eq!(set.starts_with('\u{feff}'), body.starts_with('\u{feff}'));
    }
}

/// Spellings of a word as files have them: case, joints, quotes, blanks, a comment, several lines.
fn spelling(word: &'static str) -> impl Strategy<Value = String> {
    let cases = prop::sample::select(vec![
        str::to_owned as fn(&str) -> String,
        str::to_uppercase,
        |word| word.replace('-', "_"),
        |word| {
            let (first, rest) = word.split_at(1);
            first.to_uppercase() + &rest.replace('-', " ")
        },
    ]);
    let written = prop::sample::select(vec![
        "{}",
        "{} ",
        "\"{}\"",
        "'{} '",
        "{}  # for now",
        "{}\t# for now",
        "\n  {}",
        ">-\n  {}",
        "|\n  {}",
        "!!str {}",
    ]);
    (cases, written).prop_map(move |(case, written)| written.replace("{}", &case(word)))
}

const PHASE_WORDS: [(&str, &str); 12] = [
    ("intake", "intake"),
    ("define-behavior", "define-behavior"),
    ("scenario-gate", "scenario-gate"),
    ("decomposition", "decomposition"),
    ("implement", "implement"),
    ("done", "done"),
    ("complete", "done"),
    ("completed", "done"),
    ("closed", "done"),
    ("resolved", "done"),
    ("finished", "done"),
    ("nearly-done", ""),
];

proptest! {
    /// A phase is understood however it is spelled, or named as unknown: never neither.
    #[test]
    fn a_phase_is_understood_or_unknown(
        (phase, value) in prop::sample::select(PHASE_WORDS.to_vec())
            .prop_flat_map(|(word, phase)| (Just(phase), spelling(word))),
        key in prop::sample::select(vec!["phase", "Phase", "PHASE", "\"phase\""]),
        end in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let profile = domain::profile::built_in_profile("tickets").unwrap();
        let level = profile.find_level("ticket").unwrap();
        let text = format!("---\nid: '1'\n{key}: {value}\nlabels: [a]\n---\n# T\n").replace('\n', end);
        let (_, description) = profile.read_text(level, &text);
        let work = description.work.unwrap();
        let unknown = work.unknown_words(&profile.work_phases);
        match phase {
            "" => prop_assert_eq!(unknown[0].key, "phase", "{:?}", text),
            phase => {
                prop_assert_eq!(work.phase.as_deref(), Some(phase), "{:?}", text);
                prop_assert!(unknown.is_empty());
                let is_done = work.stated_progress(Some("done")) == Some(Progress::Complete);
                prop_assert_eq!(is_done, phase == "done");
            }
        }
        let set = front_matter::set_key(&text, "phase", "implement");
        let (_, changed) = profile.read_text(level, &set);
        let phase = changed.work.unwrap().phase;
        prop_assert_eq!(phase.as_deref(), Some("implement"), "{:?}", set);
    }
}

/// The scenarios of a ticket that was entered before the first commit.
const SCENARIOS: [NodeId; 3] = [NodeId(11), NodeId(12), NodeId(13)];

fn commit(number: usize, subject: &str) -> HistoryCommit {
    HistoryCommit {
        hash: format!("{number:040x}"),
        subject: subject.to_owned(),
        authored_at: i64::try_from(number).unwrap(),
        ..HistoryCommit::default()
    }
}

/// The cycles and completed scenarios that a history leads to.
fn folded(commits: Vec<HistoryCommit>) -> Vec<(Option<Cycle>, bool, u64)> {
    let scenarios = SCENARIOS.map(|id| ScenarioInput {
        id,
        since: None,
        decisions: Vec::new(),
        is_unproved: false,
    });
    let made = HistoryMark {
        head: None,
        at: timestamp(0),
    };
    let span = WorkSpan {
        session: "s".to_owned(),
        scenario: None,
        from: made,
        to: None,
    };
    let lines = commits
        .iter()
        .map(|commit| (commit.change_key(), 10))
        .collect();
    let cycles = fold_cycles(&CycleInputs {
        scenarios: &scenarios,
        spans: &[span],
        history: &CommitHistory {
            commits,
            ..CommitHistory::default()
        },
        sessions: &BTreeMap::new(),
        has_own_focus: &BTreeSet::new(),
        lines: &lines,
        prefixes: &CommitPrefixes::default(),
        profiles: &[],
        requires_test: false,
    });
    cycles
        .into_iter()
        .map(|tdd| (tdd.cycle, tdd.closed, tdd.lines))
        .collect()
}

fn any_subject() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "test: a",
        "feat: a",
        "fix(x)!: a",
        "refactor: a",
        "docs: a",
        "no prefix",
    ])
}

fn any_history() -> impl Strategy<Value = Vec<HistoryCommit>> {
    prop::collection::vec(any_subject(), 0..12).prop_map(|subjects| {
        let commits = subjects.iter().enumerate();
        commits
            .map(|(number, subject)| commit(number, subject))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// A reverted commit counts as if it had never been made, and a reverted revert as if neither had.
    #[test]
    fn a_revert_takes_its_commit_out_of_the_cycle(history in any_history(), which in 0..12_usize) {
        prop_assume!(which < history.len());
        let target = history[which].clone();
        let revert = HistoryCommit {
            reverts: Some(target.hash.clone()),
            ..commit(100, &format!("Revert \"{}\"", target.subject))
        };
        let reapply = commit(101, &format!("Reapply \"{}\"", target.subject));
        let without: Vec<_> = history.iter().filter(|one| one.hash != target.hash).cloned().collect();
        let mut reverted = history.clone();
        reverted.push(revert);
        prop_assert_eq!(folded(reverted.clone()), folded(without));
        reverted.push(reapply);
        prop_assert_eq!(folded(reverted), folded(history));
    }

    /// A change that comes in twice (cherry-picked and merged) counts once.
    #[test]
    fn a_second_copy_of_a_change_counts_nothing(history in any_history(), which in 0..12_usize) {
        prop_assume!(which < history.len());
        let mut twice = history.clone();
        twice.push(HistoryCommit { hash: "f".repeat(40), ..history[which].clone() });
        prop_assert_eq!(folded(twice), folded(history));
    }

    /// An empty commit counts as if it had never been made, also when it is reverted and reapplied.
    #[test]
    fn an_empty_commit_is_no_step(history in any_history(), at in 0..12_usize, subject in any_subject()) {
        prop_assume!(at <= history.len());
        let empty = HistoryCommit { is_empty: true, ..commit(100, subject) };
        let revert = HistoryCommit {
            reverts: Some(empty.hash.clone()),
            ..commit(101, &format!("Revert \"{subject}\""))
        };
        let reapply = HistoryCommit {
            reverts: Some(revert.hash.clone()),
            ..commit(102, &format!("Reapply \"{subject}\""))
        };
        let mut with = history.clone();
        with.insert(at, empty);
        prop_assert_eq!(folded(with.clone()), folded(history.clone()));
        with.extend([revert, reapply]);
        prop_assert_eq!(folded(with), folded(history));
    }

    /// Scenarios are completed in order, and only the first open one is in a cycle.
    #[test]
    fn scenarios_are_gone_through_in_order(history in any_history()) {
        let cycles = folded(history);
        let open: Vec<_> = cycles.iter().skip_while(|(_, closed, _)| *closed).collect();
        prop_assert!(open.iter().all(|(_, closed, _)| !closed));
        prop_assert!(open.iter().skip(1).all(|(cycle, ..)| cycle.is_none()), "{:?}", cycles);
    }
}

#[test]
fn a_decision_about_a_scenario_keeps_the_commits_before_it() {
    let made = |head: &str| HistoryMark {
        head: Some(head.to_owned()),
        at: timestamp(0),
    };
    let history = CommitHistory {
        commits: vec![
            commit(1, "test: a"),
            commit(2, "feat: a"),
            commit(3, "test: b"),
        ],
        ..CommitHistory::default()
    };
    let decision = |number: usize, completed| ScenarioDecision {
        made: made(&format!("{number:040x}")),
        completed,
    };
    let fold = |decisions: Vec<ScenarioDecision>| {
        let inputs = [(SCENARIOS[0], decisions), (SCENARIOS[1], Vec::new())];
        let scenarios = inputs.map(|(id, decisions)| ScenarioInput {
            id,
            since: None,
            decisions,
            is_unproved: false,
        });
        let span = WorkSpan {
            session: String::new(),
            scenario: None,
            from: made("base"),
            to: None,
        };
        let cycles = fold_cycles(&CycleInputs {
            scenarios: &scenarios,
            spans: &[span],
            history: &history,
            sessions: &BTreeMap::new(),
            has_own_focus: &BTreeSet::new(),
            lines: &BTreeMap::new(),
            prefixes: &CommitPrefixes::default(),
            profiles: &[],
            requires_test: false,
        });
        cycles
            .iter()
            .map(|tdd| (tdd.cycle, tdd.closed))
            .collect::<Vec<_>>()
    };
    let (red, green) = (Some(Cycle::Red), Some(Cycle::Green));
    // Completed by hand when it was green: the next test is the next scenario's.
    assert_eq!(
        fold(vec![decision(2, true)]),
        [(green, false), (red, false)]
    );
    // Completed by hand when it was red: what follows is the next scenario's.
    assert_eq!(fold(vec![decision(1, true)]), [(red, false), (green, true)]);
    // Completed by commits and reopened: it begins again.
    assert_eq!(
        fold(vec![decision(3, false)]),
        [(None, false), (red, false)]
    );
    assert_eq!(
        fold(vec![decision(2, false)]),
        [(red, false), (None, false)]
    );
}
