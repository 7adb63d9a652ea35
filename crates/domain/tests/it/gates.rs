//! The gates as tables: what is about to happen, and who objects.

use domain::gates::{
    CommandFacts, Event, FiredGate, FrozenFile, GATES, GateScope, GateVerdict, IntendedChange,
    NewPhase, Objection, Override, ParentPlan, PlanStep, SessionFile, Unadopted, UnprovedNode,
    WorkStep, evaluate, find_gate_by_name, render_objections,
};
use domain::host_event::FileEffect;
use domain::ids::VersionHash;
use domain::node::{Content, Node, NodeStatus, Status};
use domain::policy::{ApprovalPolicy, GateMode, Governance, Policy};
use domain::profile::{Profile, built_in_profile, locate_plan};
use domain::work::work_level::{Outgrown, WorkLevel};
use testkit::parse_tree;

const ACT: &str = "acts/act-1/strategic-plan.md";
const CHAPTER: &str = "acts/act-1/chapters/chapter-01/plan.md";
const SCENE: &str = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";

fn story() -> Vec<Profile> {
    vec![built_in_profile("story").unwrap()]
}

/// What is known about a step; the tables change one thing at a time.
struct Scene {
    file: &'static str,
    effect: Option<FileEffect>,
    node: Option<Node>,
    parent: Option<Option<Node>>,
    size: Option<u64>,
    read: Option<VersionHash>,
    session_is_known: bool,
    claimed_by: Option<&'static str>,
    overridden: Vec<String>,
    policy: Policy,
}

impl Scene {
    /// A root act is written that is not there yet, in a session that is known: nobody objects.
    fn new(file: &'static str, effect: FileEffect) -> Self {
        Self {
            file,
            effect: Some(effect),
            node: None,
            parent: None,
            size: None,
            read: None,
            session_is_known: true,
            claimed_by: None,
            overridden: Vec::new(),
            policy: Policy::default(),
        }
    }

    fn verdict(&self) -> GateVerdict {
        let profiles = story();
        let place = locate_plan(&profiles, self.file).unwrap();
        let step = PlanStep {
            doing: self
                .effect
                .as_ref()
                .map_or(IntendedChange::Planning, IntendedChange::Changing),
            place: &place,
            file: self.file,
            node: self.node.as_ref(),
            parent: match &self.parent {
                None => ParentPlan::None,
                Some(None) => ParentPlan::Missing,
                Some(Some(parent)) => ParentPlan::Known(parent),
            },
            undecided: None,
            size: self.size,
            read: self.read,
            session_is_known: self.session_is_known,
            claimed_by: self.claimed_by,
        };
        let event = Event {
            profiles: &profiles,
            plans: &[step],
            overrides: &overrides_for(&self.overridden, &place.path_alias()),
            ..Event::default()
        };
        evaluate(&event, &self.policy)
    }

    /// Returns the names of the gates that block.
    fn blocks(&self) -> Vec<&'static str> {
        self.verdict()
            .blocks
            .iter()
            .map(|fired| fired.gate)
            .collect()
    }

    /// Returns the first gate's words.
    fn why(&self) -> String {
        self.verdict()
            .blocks
            .first()
            .map(|fired| fired.objection.why.clone())
            .unwrap_or_default()
    }
}

/// Returns the overrides of these gates for one subject.
fn overrides_for(gates: &[String], subject: &str) -> Vec<Override> {
    let known = gates.iter().filter_map(|name| find_gate_by_name(name));
    known.map(|gate| (gate.name, subject.to_owned())).collect()
}

fn write(text: &str) -> FileEffect {
    FileEffect::Write {
        text: Some(text.to_owned()),
    }
}

fn act(status: &str) -> Node {
    parse_tree(&format!("act-1 {status}\n")).all_preorder()[0].clone()
}

fn chapter(status: &str) -> Node {
    parse_tree(&format!("act-1 approved\n  chapter-01 {status}\n")).all_preorder()[1].clone()
}

fn without_text(mut node: Node) -> Node {
    node.content = Content::Missing;
    node.standing = NodeStatus::without_cause(Status::Invalid);
    node
}

#[test]
fn hierarchy_asks_for_an_approved_parent() {
    let none: &[&str] = &[];
    type Row<'r> = (&'r str, Option<Option<Node>>, &'r [&'r str], &'r str);
    let table: Vec<Row<'_>> = vec![
        ("approved", Some(Some(act("approved"))), none, ""),
        (
            "a draft",
            Some(Some(act("draft"))),
            &["hierarchy"],
            "its parent `act-1` is a draft, not approved",
        ),
        (
            "stale",
            Some(Some(act("requires-revalidation"))),
            &["hierarchy"],
            "its parent `act-1` went stale",
        ),
        (
            "invalid",
            Some(Some(act("invalid"))),
            &["hierarchy"],
            "its parent `act-1` is invalid",
        ),
        (
            "without its file",
            Some(Some(without_text(act("draft")))),
            &["hierarchy"],
            "its parent `act-1` has no plan yet",
        ),
        (
            "missing",
            Some(None),
            &["hierarchy"],
            "its parent `act-1` has no plan yet",
        ),
        // The place says that there is one above, but nobody has to be asked: as for a root.
        ("none", None, none, ""),
    ];
    for (name, parent, gates, why) in table {
        for effect in [
            Some(write("x")),
            Some(FileEffect::Write { text: None }),
            Some(FileEffect::Edit {
                removed: 1,
                added: 1,
            }),
            None,
        ] {
            let scene = Scene {
                effect: effect.clone(),
                parent: parent.clone(),
                ..Scene::new(CHAPTER, write("x"))
            };
            assert_eq!(scene.blocks(), gates, "{name}, {effect:?}");
            assert!(scene.why().contains(why), "{name}: {}", scene.why());
        }
        // Taking a plan away plans nothing, reading neither.
        for effect in [FileEffect::Delete, FileEffect::Read] {
            let scene = Scene {
                parent: parent.clone(),
                ..Scene::new(CHAPTER, effect.clone())
            };
            assert_eq!(scene.blocks(), none, "{name}, {effect:?}");
        }
    }
}

#[test]
fn hierarchy_says_what_to_do_next() {
    let next = |file: &'static str, parent: Option<Node>| {
        let scene = Scene {
            parent: Some(parent),
            ..Scene::new(file, write("x"))
        };
        scene.verdict().blocks[0].objection.next_steps.clone()
    };
    assert_eq!(
        next(CHAPTER, None),
        [
            "tl plan act act-1   # plan the parent first",
            "tl approve act-1   # then a person approves it"
        ]
    );
    assert_eq!(
        next(SCENE, None),
        [
            "tl plan chapter act-1/chapter-01   # plan the parent first",
            "tl approve act-1/chapter-01   # then a person approves it",
        ]
    );
    assert_eq!(
        next(CHAPTER, Some(act("draft"))),
        [
            "tl approve act-1   # ask the person; the text is in act-1.md",
            "write `act-1/chapter-01` again once `act-1` is approved",
        ]
    );
    assert_eq!(
        next(SCENE, Some(chapter("requires-revalidation")))[0],
        "tl why act-1/chapter-01   # then: tl revalidate act-1/chapter-01"
    );
}

#[test]
fn read_before_write_asks_for_the_present_version() {
    let node = act("approved");
    let now = node.content.version_hash();
    let other = Some(VersionHash::of_bytes(b"another"));
    let write = || write("# Another text\n");
    let edit = FileEffect::Edit {
        removed: 3,
        added: 3,
    };
    type Row<'r> = (
        &'r str,
        FileEffect,
        Option<Node>,
        Option<VersionHash>,
        &'r str,
    );
    let table: Vec<Row<'_>> = vec![
        (
            "never read",
            write(),
            Some(node.clone()),
            None,
            "this session has not read it",
        ),
        (
            "another version was read",
            write(),
            Some(node.clone()),
            other,
            "it changed since this session last read it",
        ),
        (
            "this version was read",
            write(),
            Some(node.clone()),
            now,
            "",
        ),
        (
            "a text nobody shows",
            FileEffect::Write { text: None },
            Some(node.clone()),
            None,
            "this session has not read it",
        ),
        ("an edit", edit, Some(node.clone()), None, ""),
        (
            "a deletion",
            FileEffect::Delete,
            Some(node.clone()),
            None,
            "",
        ),
        ("reading", FileEffect::Read, Some(node.clone()), None, ""),
        ("a new plan", write(), None, None, ""),
        (
            "a plan whose file is gone",
            write(),
            Some(without_text(node)),
            None,
            "",
        ),
    ];
    for (name, effect, node, read, why) in table {
        let scene = Scene {
            node,
            read,
            ..Scene::new(ACT, effect)
        };
        let expected: &[&str] = if why.is_empty() {
            &[]
        } else {
            &["read-before-write"]
        };
        assert_eq!(scene.blocks(), expected, "{name}");
        assert!(scene.why().ends_with(why), "{name}: {}", scene.why());
    }
}

#[test]
fn shrink_asks_for_forty_percent_of_what_is_not_a_stub() {
    // The size of the file, what is done, whether it may.
    let text = |bytes: usize| write(&"x".repeat(bytes));
    let edit = |removed, added| FileEffect::Edit { removed, added };
    let table: Vec<(Option<u64>, FileEffect, bool)> = vec![
        (Some(1000), text(400), true),
        (Some(1000), text(399), false),
        (Some(1000), text(0), false),
        (Some(400), text(160), true),
        (Some(400), text(159), false),
        (Some(399), text(0), true),
        (Some(0), text(0), true),
        (None, text(0), true),
        (Some(1000), edit(600, 0), true),
        (Some(1000), edit(601, 0), false),
        (Some(1000), edit(601, 1), true),
        // A replacement of everything, counted twice by a sloppy host.
        (Some(1000), edit(5000, 0), false),
        (Some(1000), edit(5000, 400), true),
        (Some(1000), FileEffect::Write { text: None }, true),
        (Some(1000), FileEffect::Delete, true),
        (Some(1000), FileEffect::Read, true),
        (Some(u64::MAX / 200), text(1000), false),
    ];
    for (size, effect, may) in table {
        let scene = Scene {
            size,
            ..Scene::new(ACT, effect.clone())
        };
        assert_eq!(
            scene.blocks().is_empty(),
            may,
            "{size:?} {effect:?}: {}",
            scene.why()
        );
    }
    // Letters of more than one byte count as bytes, as the file does.
    let scene = Scene {
        size: Some(1000),
        ..Scene::new(ACT, write(&"ж".repeat(200)))
    };
    assert!(scene.blocks().is_empty());
}

#[test]
fn shrink_takes_its_share_from_the_policy() {
    for (percent, bytes, may) in [
        (0, 0, true),
        (90, 899, false),
        (90, 900, true),
        (100, 999, false),
        (100, 1000, true),
    ] {
        let mut scene = Scene {
            size: Some(1000),
            ..Scene::new(ACT, write(&"x".repeat(bytes)))
        };
        scene.policy.gates.shrink_below_percent = percent;
        assert_eq!(
            scene.blocks().is_empty(),
            may,
            "{percent} % and {bytes} bytes"
        );
    }
}

/// Numbers that come from a settings file must not make the sum run over.
#[test]
fn shrink_counts_with_any_number() {
    for (size, percent) in [
        (u64::MAX, 40),
        (u64::MAX / 40 + 1, 40),
        (1000, u64::MAX),
        (1000, u64::MAX / 1000 + 1),
    ] {
        let mut scene = Scene {
            size: Some(size),
            ..Scene::new(ACT, write("x"))
        };
        scene.policy.gates.shrink_below_percent = percent;
        assert_eq!(scene.blocks(), ["shrink"], "{size} bytes, {percent} %");
    }
}

#[test]
fn session_asks_for_a_start_where_the_policy_does() {
    let scene = |mode, known, effect| {
        let mut scene = Scene {
            session_is_known: known,
            ..Scene::new(ACT, effect)
        };
        scene.policy.gates.session = mode;
        scene.blocks()
    };
    let none: [&str; 0] = [];
    assert_eq!(
        scene(GateMode::Off, false, write("x")),
        none,
        "off by default"
    );
    assert_eq!(Policy::default().gates.session, GateMode::Off);
    assert_eq!(scene(GateMode::Block, false, write("x")), ["session"]);
    assert_eq!(
        scene(GateMode::Block, false, FileEffect::Delete),
        ["session"]
    );
    assert_eq!(scene(GateMode::Block, true, write("x")), none);
    assert_eq!(scene(GateMode::Block, false, FileEffect::Read), none);
}

/// A step to which every gate has something to say.
fn hopeless() -> Scene {
    let mut scene = Scene {
        node: Some(chapter("approved")),
        parent: Some(Some(act("draft"))),
        size: Some(1000),
        session_is_known: false,
        claimed_by: Some("another"),
        ..Scene::new(CHAPTER, write(""))
    };
    scene.policy.gates.session = GateMode::Block;
    scene
}

const ABOUT_PLANS: [&str; 5] = [
    "session",
    "hierarchy",
    "claim",
    "read-before-write",
    "shrink",
];
const ABOUT_WORK: [&str; 5] = ["claim", "context", "phase", "loc", "scope"];

/// An edit of files that are no plans.
struct Work {
    lines: Option<u64>,
    phase: bool,
    context: Option<&'static str>,
    outgrown: Option<Outgrown>,
    claimed_by: Option<&'static str>,
    overridden: Vec<String>,
    level: Option<WorkLevel>,
    asked: &'static [&'static str],
    policy: Policy,
}

impl Work {
    fn verdict(&self) -> GateVerdict {
        let profiles = [Profile {
            gates: Some(self.asked.iter().map(|name| (*name).to_owned()).collect()),
            ..built_in_profile("tickets").unwrap()
        }];
        let step = WorkStep {
            node: "017a",
            path: "017/017a",
            uncommitted: self.lines,
            level: self.level,
            new_phase: self.phase.then_some(NewPhase {
                from: None,
                to: "implement",
                guide: "THE GUIDE",
                needs_commit: true,
            }),
            context: self.context,
            outgrown: self.outgrown.as_ref(),
            claimed_by: self.claimed_by,
        };
        let event = Event {
            profiles: &profiles,
            work: Some(step),
            overrides: &overrides_for(&self.overridden, "017/017a"),
            ..Event::default()
        };
        evaluate(&event, &self.policy)
    }

    fn blocks(&self) -> Vec<&'static str> {
        self.verdict()
            .blocks
            .iter()
            .map(|fired| fired.gate)
            .collect()
    }
}

/// Work that every gate has something to say about.
fn hopeless_work() -> Work {
    Work {
        lines: Some(401),
        phase: true,
        context: Some("THE TICKET"),
        outgrown: Some(Outgrown::Files {
            files: 3,
            level: WorkLevel::Patch,
        }),
        claimed_by: Some("another"),
        overridden: Vec::new(),
        level: None,
        asked: &ABOUT_WORK,
        policy: Policy::default(),
    }
}

#[test]
fn work_is_judged_by_what_is_known() {
    let quiet = || Work {
        lines: Some(400),
        phase: false,
        context: None,
        outgrown: None,
        claimed_by: None,
        ..hopeless_work()
    };
    assert!(quiet().blocks().is_empty());
    assert_eq!(
        Work {
            lines: Some(401),
            ..quiet()
        }
        .blocks(),
        ["loc"]
    );
    let patch = Work {
        lines: Some(201),
        level: Some(WorkLevel::Patch),
        ..quiet()
    };
    let text = render_objections(&patch.verdict().blocks);
    assert!(
        text.contains("201 changed lines are not committed; the limit is 200 for a patch")
            && text.contains("tl ticket level 017a task"),
        "{text}"
    );
    let task = Work {
        level: Some(WorkLevel::Task),
        ..quiet()
    };
    assert!(task.blocks().is_empty());
    // Nobody can count: no repository, or a merge under way.
    assert!(
        Work {
            lines: None,
            ..quiet()
        }
        .blocks()
        .is_empty()
    );
    // A profile that does not ask for a gate is not stopped by it.
    assert_eq!(
        Work {
            asked: &["loc"],
            ..hopeless_work()
        }
        .blocks(),
        ["loc"]
    );
    let text = render_objections(
        &Work {
            phase: true,
            ..quiet()
        }
        .verdict()
        .blocks,
    );
    assert!(
        text.starts_with(
            "Throughline (phase gate): `017a` is entering the implement phase\n  next: git add"
        ),
        "{text}"
    );
    assert!(text.contains("\n\nTHE GUIDE\n"), "{text}");
    assert!(
        render_objections(
            &Work {
                context: Some("THE TICKET"),
                ..quiet()
            }
            .verdict()
            .blocks
        )
        .contains("THE TICKET")
    );
    let mut warned = hopeless_work();
    warned.policy.gates.loc = GateMode::Warn;
    assert!(!warned.blocks().contains(&"loc"));
    assert_eq!(warned.verdict().warnings.len(), 1);
}

#[test]
fn all_gates_are_asked_in_the_order_of_their_weight() {
    assert_eq!(hopeless().blocks(), ABOUT_PLANS);
    assert_eq!(hopeless_work().blocks(), ABOUT_WORK);
    let all = GATES.map(|gate| gate.name);
    let asked: Vec<&str> = all
        .into_iter()
        .filter(|name| ABOUT_PLANS.contains(name) || ABOUT_WORK.contains(name))
        .collect();
    // The others are about the project as a whole, sessions, and the phases and completion of nodes.
    assert_eq!(all.len(), asked.len() + 8);
    for gate in GATES {
        assert_eq!(find_gate_by_name(gate.name).unwrap().name, gate.name);
    }
    assert!(find_gate_by_name("Shrink").is_none());
}

#[test]
fn each_gate_has_its_own_switch() {
    type Switch = fn(&mut Policy, GateMode);
    let switches: [(&str, Switch); 5] = [
        ("claim", |policy, mode| policy.gates.claim = mode),
        ("session", |policy, mode| policy.gates.session = mode),
        ("hierarchy", |policy, mode| policy.gates.hierarchy = mode),
        ("read-before-write", |policy, mode| {
            policy.gates.read_before_write = mode
        }),
        ("shrink", |policy, mode| policy.gates.shrink = mode),
    ];
    for (name, switch) in switches {
        let others: Vec<&str> = ABOUT_PLANS
            .into_iter()
            .filter(|gate| *gate != name)
            .collect();
        for (mode, warned) in [(GateMode::Warn, vec![name]), (GateMode::Off, Vec::new())] {
            let mut scene = hopeless();
            switch(&mut scene.policy, mode);
            let verdict = scene.verdict();
            assert_eq!(scene.blocks(), others, "{name} {mode:?}");
            assert_eq!(
                verdict
                    .warnings
                    .iter()
                    .map(|fired| fired.gate)
                    .collect::<Vec<_>>(),
                warned,
                "{name} {mode:?}"
            );
        }
    }
}

#[test]
fn an_override_is_for_one_gate() {
    for gate in ABOUT_PLANS {
        let scene = Scene {
            overridden: vec![gate.to_owned()],
            ..hopeless()
        };
        assert_eq!(
            scene.blocks(),
            ABOUT_PLANS
                .into_iter()
                .filter(|one| *one != gate)
                .collect::<Vec<_>>()
        );
    }
    for gate in ABOUT_WORK {
        let work = Work {
            overridden: vec![gate.to_owned()],
            ..hopeless_work()
        };
        assert_eq!(
            work.blocks(),
            ABOUT_WORK
                .into_iter()
                .filter(|one| *one != gate)
                .collect::<Vec<_>>()
        );
    }
    let scene = Scene {
        overridden: vec!["all".to_owned(), String::new()],
        ..hopeless()
    };
    assert_eq!(scene.blocks().len(), 5);
}

/// What the gates look at that are not about one plan or the work: everything is wrong.
fn hopeless_project(overrides: &[Override], policy: &Policy, profiles: &[Profile]) -> GateVerdict {
    let files = [
        "src/a.rs".to_owned(),
        ".throughline/decisions/ab/x.json".to_owned(),
    ];
    let session_files = [SessionFile {
        file: ".throughline/sessions/47001611026.md".to_owned(),
        node: "t_47001611026".to_owned(),
        is_read: false,
    }];
    let event = Event {
        profiles,
        files: &files,
        documents: &[FrozenFile {
            document: "search",
            name: "plan.md",
        }],
        session_files: &session_files,
        command: CommandFacts {
            may_write: true,
            runs_own_hook: true,
        },
        unadopted: Some(Unadopted::State),
        is_typed_command: true,
        lacks_intent: true,
        unproved: Some(UnprovedNode {
            path: "act-1",
            profile: profiles.first(),
            why: "nothing proves it",
            steps: &[],
        }),
        overrides,
        ..Event::default()
    };
    evaluate(&event, policy)
}

fn strict_policy() -> Policy {
    Policy {
        governance: Governance::Strict,
        approval: ApprovalPolicy::Human,
        ..Policy::default()
    }
}

fn story_and_trail() -> Vec<Profile> {
    ["story", "trail"]
        .map(|name| built_in_profile(name).unwrap())
        .into()
}

#[test]
fn every_other_gate_names_its_subject() {
    let verdict = hopeless_project(&[], &strict_policy(), &story_and_trail());
    let fired: Vec<(&str, &str)> = verdict
        .blocks
        .iter()
        .map(|fired| (fired.gate, fired.subject.as_str()))
        .collect();
    assert_eq!(
        fired,
        [
            ("impersonation", "command"),
            ("adopt", "typed command"),
            ("decisions", ".throughline/decisions/ab/x.json"),
            ("frozen", "search"),
            ("read-before-write", "t_47001611026"),
            ("done", "act-1"),
            ("intent", "src/a.rs"),
        ]
    );
}

#[test]
fn an_override_lets_each_gate_pass_that_has_one() {
    let profiles = story_and_trail();
    let all = hopeless_project(&[], &strict_policy(), &profiles).blocks;
    for fired in &all {
        let granted = [(fired.gate, fired.subject.clone())];
        let verdict = hopeless_project(&granted, &strict_policy(), &profiles);
        let is_final = find_gate_by_name(fired.gate)
            .unwrap()
            .never_overridden
            .is_some();
        assert_eq!(
            verdict.is_blocked_by(fired.gate),
            is_final,
            "{}",
            fired.gate
        );
        assert_eq!(verdict.overridden.len(), usize::from(!is_final));
        assert_eq!(
            is_final,
            ["impersonation", "adopt", "decisions", "frozen"].contains(&fired.gate)
        );
        // Another subject's override is of no use.
        let granted = [(fired.gate, "another".to_owned())];
        let verdict = hopeless_project(&granted, &strict_policy(), &profiles);
        assert_eq!(verdict.blocks, all);
    }
}

#[test]
fn governance_approval_and_profiles_switch_gates() {
    let gates = |policy: &Policy, profiles: &[Profile]| -> Vec<&'static str> {
        let verdict = hopeless_project(&[], policy, profiles);
        verdict.blocks.iter().map(|fired| fired.gate).collect()
    };
    let assisted = Policy {
        governance: Governance::Assisted,
        ..strict_policy()
    };
    assert!(!gates(&assisted, &story_and_trail()).contains(&"intent"));
    assert!(!gates(&strict_policy(), &story()).contains(&"intent"));
    assert!(!gates(&Policy::default(), &story_and_trail()).contains(&"impersonation"));
    // A profile that lists its gates has those, and the ones about the project as a whole.
    let listed = [Profile {
        gates: Some(vec!["loc".to_owned()]),
        ..built_in_profile("tickets").unwrap()
    }];
    assert_eq!(
        gates(&strict_policy(), &listed),
        ["impersonation", "adopt", "decisions", "frozen"]
    );
    let project: Vec<&str> = GATES
        .iter()
        .filter(|gate| gate.scope == GateScope::Project)
        .map(|gate| gate.name)
        .collect();
    assert_eq!(project, ["impersonation", "adopt", "decisions", "frozen"]);
}

#[test]
fn plans_of_a_clone_are_written_after_its_adoption() {
    let profiles = story();
    let place = locate_plan(&profiles, ACT).unwrap();
    let fired = |effect: FileEffect, unadopted, policy: &Policy| {
        let steps = [PlanStep {
            doing: IntendedChange::Changing(&effect),
            place: &place,
            file: ACT,
            node: None,
            parent: ParentPlan::None,
            undecided: None,
            size: None,
            read: None,
            session_is_known: true,
            claimed_by: None,
        }];
        let event = Event {
            profiles: &profiles,
            plans: &steps,
            unadopted,
            ..Event::default()
        };
        let verdict = evaluate(&event, policy);
        let names = |fired: &[FiredGate]| -> Vec<String> {
            let name = |one: &FiredGate| format!("{} {}", one.gate, one.subject);
            fired.iter().map(name).collect()
        };
        (names(&verdict.blocks), names(&verdict.warnings))
    };
    let policy = Policy::default();
    let adopt = || vec!["adopt act-1".to_owned()];
    for unadopted in [Unadopted::State, Unadopted::Decisions] {
        assert_eq!(
            fired(write("x"), Some(unadopted), &policy),
            (adopt(), vec![])
        );
        let read = fired(FileEffect::Read, Some(unadopted), &policy);
        assert_eq!(read, (vec![], vec![]));
    }
    assert_eq!(fired(write("x"), None, &policy), (vec![], vec![]));
    let mut lenient = Policy::default();
    lenient.gates.hierarchy = GateMode::Warn;
    lenient.gates.read_before_write = GateMode::Warn;
    lenient.gates.shrink = GateMode::Off;
    assert_eq!(
        fired(write("x"), Some(Unadopted::State), &lenient),
        (vec![], adopt())
    );
}

#[test]
fn every_step_of_a_call_is_asked_about() {
    let profiles = story();
    let (first, second) = (
        locate_plan(&profiles, ACT).unwrap(),
        locate_plan(&profiles, CHAPTER).unwrap(),
    );
    let effect = write("x");
    let step = |place, file, parent| PlanStep {
        doing: IntendedChange::Changing(&effect),
        place,
        file,
        node: None,
        parent,
        undecided: None,
        size: None,
        read: None,
        session_is_known: true,
        claimed_by: None,
    };
    let event = Event {
        profiles: &profiles,
        plans: &[
            step(&first, ACT, ParentPlan::None),
            step(&second, CHAPTER, ParentPlan::Missing),
        ],
        ..Event::default()
    };
    let verdict = evaluate(&event, &Policy::default());
    assert_eq!(
        verdict
            .blocks
            .iter()
            .map(|fired| fired.subject.as_str())
            .collect::<Vec<_>>(),
        ["act-1/chapter-01"]
    );
    assert_eq!(
        evaluate(&Event::default(), &Policy::default()),
        GateVerdict::default()
    );
}

#[test]
fn a_refusal_says_what_why_and_what_next() {
    let fired = |gate, why: &str, next: &[&str]| FiredGate {
        gate,
        subject: "act-1".to_owned(),
        objection: Objection::new(
            why.to_owned(),
            next.iter().map(|step| (*step).to_owned()).collect(),
        ),
    };
    let text = render_objections(&[
        fired("hierarchy", "it is so", &["do this", "or that"]),
        fired("shrink", "and so", &[]),
    ]);
    assert_eq!(
        text,
        "Throughline (hierarchy gate): it is so\n  next: do this\n  next: or that\nThroughline (shrink gate): and so"
    );
    assert_eq!(render_objections(&[]), "");
}
