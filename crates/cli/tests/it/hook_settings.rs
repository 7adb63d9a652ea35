//! Settings and profiles that are broken, missing or weaker than before, as hooks tell them.

use std::fs;

use serde_json::{Value, json};
use testkit::Answer;

use crate::hook_faults::{faults, may_write, replaced, state};
use crate::{empty, planned};

#[test]
fn broken_settings_are_reported_and_the_last_good_ones_stay_in_force() {
    let project = planned();
    project.configure("policy.gates.hierarchy", "\"block\"");
    let session = project.session("s");
    assert!(session.start("startup").context().is_some());
    let broken = [
        ("[policy\nthis is not TOML", "config.toml:1"),
        (
            "[policy.gates]\nhierarchy = \"perhaps\"\n",
            "expected one of `off`, `warn`, `block`",
        ),
        ("profiles = [\"nope\"]\n", "nope"),
    ];
    for (text, part) in broken {
        let wrong = replaced(&project, "config.toml", text);
        for answer in [session.start("startup"), session.prompt("go on")] {
            let context = answer.context().unwrap_or_default();
            assert!(
                context.contains(part)
                    && context.contains("the last good settings stay in force")
                    && context.contains("  next: "),
                "{text}: {answer:?}"
            );
            assert!(answer.stdout.contains("systemMessage"), "{answer:?}");
        }
        let stop = session.stop();
        assert_eq!(stop.block(), None);
        assert!(
            stop.stdout.contains("the last good settings stay in force"),
            "to the person: {stop:?}"
        );
        let refused = may_write(&project, &session, "acts/act-9/chapters/chapter-01/plan.md");
        let reason = refused.block().expect("the gate is as before");
        assert!(reason.contains("hierarchy gate"), "{reason}");
        assert_eq!(faults(&project), Vec::<Value>::new(), "{text}");
        let doctor = project.run(&["host", "doctor"]);
        assert_eq!(doctor.code, 3, "{doctor:?}");
        assert!(doctor.stdout.contains(part), "{doctor:?}");
        wrong.repair();
        let context = session.prompt("go on").context().unwrap_or_default();
        assert!(!context.contains("last good"), "{context}");
    }
}

#[test]
fn missing_settings_are_reported_and_the_last_good_ones_stay_in_force() {
    let project = empty();
    project.ok(&["init", "--profile", "tickets"]);
    let session = project.session("s");
    assert!(session.start("startup").context().is_some());
    let path = state(&project, "config.toml");
    let text = fs::read(&path).expect("settings");
    fs::remove_file(&path).expect("removed");
    for answer in [session.start("startup"), session.prompt("go on")] {
        let context = answer.context().unwrap_or_default();
        assert!(
            context.contains("config.toml is missing")
                && context.contains("cp .throughline/last-good-config.toml"),
            "{answer:?}"
        );
        assert!(!context.contains("act → chapter"), "{answer:?}");
    }
    assert!(session.stop().stdout.contains("config.toml is missing"));
    let doctor = project.run(&["host", "doctor"]);
    assert_eq!(doctor.code, 3, "{doctor:?}");
    assert!(
        doctor.stdout.contains("config.toml is missing"),
        "{doctor:?}"
    );
    // The next step is the way back.
    assert!(project.shell("cp .throughline/last-good-config.toml .throughline/config.toml"));
    assert_eq!(fs::read(&path).expect("settings"), text);
    let context = session.prompt("go on").context().unwrap_or_default();
    assert!(!context.contains("missing"), "{context}");
}

#[test]
fn weakened_gates_are_told_to_the_agent_and_to_the_person_once_each() {
    let project = empty();
    project.ok(&["init", "--profile", "tickets"]);
    project.configure("policy.approval", "\"anyone\"");
    let session = project.session("s");
    let _ = session.start("startup");
    let _ = session.prompt("go on");
    let config = project.read(".throughline/config.toml");
    let weaker = format!("{config}\n[policy.gates]\nphase = \"off\"\n");
    let change = "policy.gates.phase: \"block\" → \"off\"";
    let (_, after) = session.write(".throughline/config.toml", &weaker);
    let context = after.and_then(|after| after.context()).unwrap_or_default();
    assert!(
        context.contains(&format!("this weakened the gates: {change}")),
        "{context}"
    );
    let run = json!({ "command": "touch x" });
    let again = session.after("Bash", &run).context().unwrap_or_default();
    assert!(!again.contains("weakened"), "{again}");
    let noticed = |answer: &Answer| answer.json()["systemMessage"].as_str().map(str::to_owned);
    let told = noticed(&session.stop()).unwrap_or_default();
    assert!(
        told.contains(change) && told.contains("git diff .throughline"),
        "{told}"
    );
    assert_eq!(noticed(&session.stop()), None);
    // By a command: the profile is gone, and its gates with it.
    let story = config.replace("tickets", "story");
    project.write(".throughline/config.toml", &story);
    let told = session.after("Bash", &run).context().unwrap_or_default();
    assert!(
        told.contains("policy.gates.loc: \"block\" → \"off\""),
        "{told}"
    );
    let told = noticed(&session.start("startup")).unwrap_or_default();
    assert!(told.contains("policy.gates.loc"), "{told}");
    // Stricter again is no news: the gates of both profiles are in force.
    let both = config.replace("[\"tickets\"]", "[\"tickets\", \"story\"]");
    assert_ne!(both, config);
    project.write(".throughline/config.toml", &both);
    assert_eq!(noticed(&session.prompt("go on")), None);
}

#[test]
fn a_broken_profile_is_reported_and_its_last_good_version_stays_in_force() {
    let project = planned();
    let own = "name = \"manual\"\ntitle = \"Manual\"\n\n[[level]]\nname = \"part\"\nroot = true\nalias = \"part-{n}\"\n\
               numbers = \"1-10\"\nfile = \"parts/{alias}/plan.md\"\npurpose = \"a part\"\noutline = [\"Purpose\"]\n\n\
               [[level]]\nname = \"page\"\nunder = [\"part\"]\nalias = \"page-{n:2}\"\nnumbers = \"1-99\"\n\
               file = \"pages/{alias}.md\"\npurpose = \"a page\"\noutline = [\"Purpose\"]\n";
    project.write(".throughline/profiles/manual.toml", own);
    project.configure("profiles", "[\"story\", \"manual\"]");
    let session = project.session("s");
    assert!(session.start("startup").context().is_some());
    let page = "parts/part-1/pages/page-01.md";
    let is_gated = |what: &str| {
        let reason = may_write(&project, &session, page).block().expect(what);
        assert!(reason.contains("hierarchy gate"), "{what}: {reason}");
    };
    is_gated("the part is not planned");
    let wrong = replaced(
        &project,
        "profiles/manual.toml",
        "name = \"manual\"\nlevel = 3\n",
    );
    for answer in [session.start("startup"), session.prompt("go on")] {
        let context = answer.context().unwrap_or_default();
        assert!(
            context.contains("profiles/manual.toml")
                && context.contains("the last good settings stay in force"),
            "{answer:?}"
        );
    }
    assert!(session.stop().stdout.contains("profiles/manual.toml"));
    is_gated("the gate is as before");
    assert_eq!(faults(&project), Vec::<Value>::new());
    let doctor = project.run(&["host", "doctor"]);
    assert_eq!(doctor.code, 3, "{doctor:?}");
    assert!(doctor.stdout.contains("profiles/manual.toml"), "{doctor:?}");
    wrong.repair();
    let context = session.prompt("go on").context().unwrap_or_default();
    assert!(!context.contains("last good"), "{context}");
}

#[test]
fn a_host_without_context_at_prompts_is_told_of_broken_settings_by_its_next_call() {
    let project = planned();
    let session = project.session_of("cursor", "s");
    let _ = session.event("sessionStart", json!({}));
    let wrong = replaced(
        &project,
        "config.toml",
        "[policy.gates]\nhierarchy = \"blok\"\n",
    );
    let input = json!({ "command": "make" });
    for _ in 0..2 {
        let prompt = session.event("beforeSubmitPrompt", json!({ "prompt": "go on" }));
        assert_eq!(prompt.context(), None, "the host drops it");
        let told = [
            session.after("Shell", &input),
            session.after("Shell", &input),
        ];
        let told = told.map(|answer| answer.context().unwrap_or_default());
        assert!(
            told[0].contains("did you mean `block`? Until it is fixed, the last good settings"),
            "{told:?}"
        );
        assert!(
            !told[1].contains("last good"),
            "once for each prompt: {told:?}"
        );
    }
    wrong.repair();
    let _ = session.event("beforeSubmitPrompt", json!({ "prompt": "go on" }));
    let context = session.after("Shell", &input).context().unwrap_or_default();
    assert!(!context.contains("last good"), "{context}");
}
