//! Guides of work phases after a compaction, and the phases that guides, briefing and rules name.

use application::move_focus::{FocusMove, move_focus};
use application::tickets::show_phase;
use domain::host_event::{Happening, Host, StartSource};
use testkit::FakeGit;

use crate::hooks::Session;
use crate::world::{World, words};

/// A session that has the guide and the text of the ticket 017a in its conversation.
fn guided_session<'w>(world: &'w World, git: &'w FakeGit, host: Host) -> Session<'w> {
    let mut session = Session::with_git(world, "s", git);
    session.host = host;
    session.start();
    let ctx = world.agent("s").with_git_and_session(git, "s".to_owned());
    let enter = FocusMove::Enter {
        node: words("017a"),
        claim: false,
    };
    move_focus(&ctx, &enter).unwrap();
    session
}

#[test]
fn a_guide_lost_in_a_compaction_is_given_again_once() {
    for host in [Host::ClaudeCode, Host::Codex, Host::Cursor, Host::Gemini] {
        let (world, git) = (World::with_tickets(), FakeGit::with_commit());
        let ticket = "---\nid: 017a\nphase: implement\n---\n# Lines\n";
        world.files.edit("tickets/017a-loc/ticket.md", ticket);
        let session = guided_session(&world, &git, host);
        let edit = || {
            let told = session.write("src/a.rs", "fn a() {}\n").reply.context;
            told.unwrap_or_default()
        };
        assert!(!edit().contains("# Implement"), "{host:?}: it was entered");
        session.handle(Happening::Compacting);
        match host.restarts_after_compaction() {
            true => drop(session.handle(Happening::SessionStarted {
                source: StartSource::Compact,
            })),
            false => drop(session.handle(Happening::Compacted)),
        }
        let told = edit();
        assert!(
            told.contains("# Implement") && told.contains("# Lines"),
            "{host:?}: {told}"
        );
        assert!(!edit().contains("# Implement"), "{host:?}: once");
    }
}

#[test]
fn guides_briefing_and_rules_name_the_phases_of_the_work_level() {
    for (level, next, phases) in [
        (
            "task",
            "implement",
            "Phases of this task: intake → implement → done;",
        ),
        (
            "feature",
            "define-behavior",
            "Phases of this feature: intake → define-behavior → scenario-gate → decomposition → implement → done;",
        ),
    ] {
        let (world, git) = (World::with_tickets(), FakeGit::with_commit());
        let ticket = format!("---\nid: 017a\nphase: intake\nwork_level: {level}\n---\n# Lines\n");
        world.files.edit("tickets/017a-loc/ticket.md", &ticket);
        let session = guided_session(&world, &git, Host::ClaudeCode);
        let command = format!("tl ticket phase 017a {next}");
        let briefing = session.start().reply.context.unwrap();
        assert!(
            briefing.contains(&format!("then {command}\n")),
            "{briefing}"
        );
        assert!(
            briefing.contains("the guide DISCOVERY asks for (to read it: tl ticket phase 017a)")
        );
        assert!(briefing.contains(phases), "{briefing}");
        let guide = show_phase(&world.agent("s"), &words("017a")).unwrap().guide;
        let guide = guide.unwrap();
        assert!(guide.contains(&format!("`{command}`")), "{guide}");
    }
}
