//! Scenarios of the autonomous loop: ticks, scenes, memory, the book.

use super::{Acknowledges, Base, Repeats, Scenario};

/// A story whose scene is approved, for the planner and the writer without a model.
static LOOP: Base = Base {
    name: "loop",
    script: "\
tl init
mkdir -p acts/act-1/chapters/chapter-01/scenes
printf '# Act 1\\n\\n## Characters\\n- Elena\\n- Marcus\\n\\n## Locations\\n- The Archive\\n' > acts/act-1/strategic-plan.md
tl approve act 1
printf '# Chapter 1\\n\\n## Characters\\n- Elena\\n' > acts/act-1/chapters/chapter-01/plan.md
tl approve chapter 1
printf '# The drawer\\n\\n## Characters\\n- Elena\\n\\n## Beats\\nElena opens the drawer.\\n' > acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md
tl approve scene 0101
tl story memory edit --new character name=Elena role=protagonist
tl status
",
};

pub(super) fn scenarios() -> Vec<Scenario> {
    let s = Scenario::new;
    vec![
        // The plan is kept before it is run, and a repeated tick goes on with it.
        s("tick", &["story-tick"], &LOOP, "", "tl story tick").with(Repeats::Resume),
        s(
            "tick-second",
            &["story-tick"],
            &LOOP,
            "tl story tick",
            "tl story tick",
        )
        .with(Repeats::Resume),
        // Each step of a run is kept. A repeated command plans once more before it writes on, so it ends with one tick more.
        s(
            "story-run",
            &["story-run"],
            &LOOP,
            "",
            "tl story run --scenes 1",
        )
        .with(Repeats::Never),
        // Each step of a scene is kept, and a repeated command goes on with the next.
        s(
            "write",
            &["story-write"],
            &LOOP,
            "",
            "tl story write scene-0101",
        )
        .with(Repeats::Resume),
        s(
            "generation-resume",
            &["story-generation-resume"],
            &LOOP,
            FAILED_SCENE,
            "tl story generation resume scene-0101",
        )
        .with(Repeats::Resume),
        s(
            "generation-cancel",
            &["story-generation-cancel"],
            &LOOP,
            FAILED_SCENE,
            "tl story generation cancel scene-0101",
        ),
        s(
            "mcp-tick",
            &["mcp"],
            &LOOP,
            BEGUN_TICK,
            "tl mcp --toolsets story",
        )
        .with_input(super::FROM_FILE)
        .acknowledging(Acknowledges::ByOutput)
        .with(Repeats::Never),
        s(
            "memory-new",
            &["story-memory-edit"],
            &LOOP,
            "",
            "tl story memory edit --new character name=Marcus role=mentor",
        ),
        s(
            "memory-edit",
            &["story-memory-edit"],
            &LOOP,
            "",
            "tl story memory edit C0 emotional_state=tense",
        ),
        s(
            "memory-forget",
            &["story-memory-forget"],
            &LOOP,
            "",
            "tl story memory forget C0",
        ),
        // A book is a new project: what is there already is left as it is.
        s(
            "novel-new",
            &["story-new"],
            &LOOP,
            "",
            "tl story new Drawer",
        )
        .with(Repeats::Resume),
        s(
            "novel-compile",
            &["story-compile"],
            &LOOP,
            "tl story write scene-0101",
            "tl story compile --output book.md",
        ),
        s(
            "novel-epub",
            &["story-compile"],
            &LOOP,
            "tl story write scene-0101",
            "tl story compile --format epub --output book.epub",
        ),
    ]
}

/// A scene whose model failed.
const FAILED_SCENE: &str = "\
THROUGHLINE_LLM_PROVIDER=command THROUGHLINE_LLM_COMMAND=/bin/false tl story write scene-0101 || true
";

/// A client that was told what to plan, and its answer.
const BEGUN_TICK: &str = r#"
hello='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"lane","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}'
call() { printf '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$1" "$2"; }
nonce=$( { echo "$hello"; call story_tick_begin '{}'; sleep 0.5; } | tl mcp --toolsets story | grep -o 'nonce[^0-9a-f]*[0-9a-f]*' | grep -o '[0-9a-f]*$' | tail -1)
plan='{"rationale":"because","scene_intention":"Elena opens it","actions":[{"tool":"character.generate","args":{"name":"Ivo","role":"clerk","description":"Tired."}}]}'
{ echo "$hello"; call story_tick_submit "{\"nonce\":\"$nonce\",\"plan\":$plan}"; } > ../input
"#;
