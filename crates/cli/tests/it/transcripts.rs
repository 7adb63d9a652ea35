//! Sessions of every host as transcripts: what happens, and every word the agent gets.
//!
//! Each payload is one the host really sent (`crates/hosts/tests/data`), with the prompt, the command,
//! the file and the project of this session in place of the recorded ones. The transcripts are
//! snapshots; read them as the agent would.

#![expect(clippy::unwrap_used, reason = "a failing test may panic")]

use std::path::Path;

use serde_json::Value;
use testkit::{Answer, Project};

use crate::empty;

/// How a host names what happens: a file of recorded payloads, and the tool it is about.
struct HostWords {
    host: &'static str,
    start: &'static [&'static str],
    prompt: &'static str,
    before_tool: &'static str,
    after_tool: &'static str,
    write_tool: &'static str,
    shell_tool: &'static str,
    /// Before a compaction, and what the host sends after it.
    compaction: &'static [&'static str],
    stop: &'static str,
}

static HOSTS: [HostWords; 6] = [
    HostWords {
        host: "claude-code",
        start: &["SessionStart"],
        prompt: "UserPromptSubmit",
        before_tool: "PreToolUse",
        after_tool: "PostToolUse",
        write_tool: "Write",
        shell_tool: "Bash",
        compaction: &["PreCompact", "SessionStart compact"],
        stop: "Stop",
    },
    HostWords {
        host: "codex",
        start: &["SessionStart"],
        prompt: "UserPromptSubmit",
        before_tool: "PreToolUse",
        after_tool: "PostToolUse",
        write_tool: "apply_patch",
        shell_tool: "Bash",
        compaction: &["PreCompact", "SessionStart compact"],
        stop: "Stop",
    },
    HostWords {
        host: "copilot",
        start: &["sessionStart"],
        prompt: "userPromptSubmitted",
        before_tool: "preToolUse",
        after_tool: "postToolUse",
        write_tool: "create",
        shell_tool: "bash",
        compaction: &["preCompact"],
        stop: "agentStop",
    },
    HostWords {
        host: "cursor",
        start: &["sessionStart"],
        prompt: "beforeSubmitPrompt",
        before_tool: "preToolUse",
        after_tool: "postToolUse",
        write_tool: "Write",
        shell_tool: "Shell",
        compaction: &["preCompact"],
        stop: "stop",
    },
    HostWords {
        host: "gemini",
        start: &["SessionStart"],
        prompt: "BeforeAgent",
        before_tool: "BeforeTool",
        after_tool: "AfterTool",
        write_tool: "write_file",
        shell_tool: "run_shell_command",
        // Its `PreCompress` tells nothing; a request without the briefing does.
        compaction: &["BeforeModel"],
        stop: "AfterAgent",
    },
    HostWords {
        host: "opencode",
        start: &[
            "event_session.created",
            "experimental.chat.system.transform interactive",
        ],
        prompt: "chat.message",
        before_tool: "tool.execute.before",
        after_tool: "tool.execute.after",
        write_tool: "write",
        shell_tool: "bash",
        compaction: &["experimental.session.compacting", "event_session.compacted"],
        stop: "event_session.idle",
    },
];

/// What a recorded payload is about, in the words it was recorded with.
const RECORDED_PROMPT: &str = "do the task";
const RECORDED_COMMAND: &str = "echo from-shell";
const RECORDED_FILE: &str = "target.txt";
const RECORDED_TEXT: &str = "hello\n";
const RECORDED_PATCH: &str = "*** Begin Patch\n*** Add File: target.txt\n+hello\n*** End Patch\n";
const RECORDED_ROOT: &str = "/project";
/// The session of the first payload of every file.
const SESSION_FIELDS: [&str; 3] = ["session_id", "sessionId", "conversation_id"];

/// What is put into a recorded payload.
#[derive(Clone, Debug, Default)]
struct Happening {
    prompt: String,
    command: String,
    path: String,
    text: String,
    /// The text of the file before, for a host that sends patches.
    former: Option<String>,
}

impl Happening {
    /// Returns a recorded text with what happens now in it.
    fn fill(&self, recorded: &str, root: &str) -> String {
        match recorded {
            RECORDED_PROMPT => self.prompt.clone(),
            RECORDED_COMMAND => self.command.clone(),
            RECORDED_TEXT => self.text.clone(),
            RECORDED_PATCH => self.render_patch(),
            RECORDED_ROOT => root.to_owned(),
            other => match other.strip_prefix("/project/") {
                Some(RECORDED_FILE) => format!("{root}/{}", self.path),
                _ => other.to_owned(),
            },
        }
    }

    fn render_patch(&self) -> String {
        let lines = |sign: char, text: &str| -> String {
            text.lines().map(|line| format!("{sign}{line}\n")).collect()
        };
        let change = match &self.former {
            None => format!("*** Add File: {}\n{}", self.path, lines('+', &self.text)),
            Some(former) => format!(
                "*** Update File: {}\n@@\n{}{}",
                self.path,
                lines('-', former),
                lines('+', &self.text)
            ),
        };
        format!("*** Begin Patch\n{change}*** End Patch\n")
    }

    fn fill_value(&self, value: &mut Value, root: &str) {
        match value {
            Value::String(text) => *text = self.fill(text, root),
            Value::Array(items) => items
                .iter_mut()
                .for_each(|item| self.fill_value(item, root)),
            Value::Object(fields) => fields
                .values_mut()
                .for_each(|field| self.fill_value(field, root)),
            _ => {}
        }
    }
}

/// Returns the recorded payload of an event: of this tool, or else the first with these words in it.
fn recorded(host: &str, event: &str, tool: Option<&str>) -> Value {
    let (file, word) = event.split_once(' ').unwrap_or((event, ""));
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../hosts/tests/data")
        .join(host)
        .join(format!("{file}.json"));
    let text = std::fs::read_to_string(&path).unwrap();
    let payloads: Vec<Value> = serde_json::from_str(&text).unwrap();
    let is_wanted = |payload: &&Value| {
        let named = [
            &payload["tool_name"],
            &payload["toolName"],
            &payload["input"]["tool"],
        ];
        match tool {
            Some(tool) => named.iter().any(|name| name.as_str() == Some(tool)),
            None => payload.to_string().contains(word),
        }
    };
    let found = payloads.iter().find(is_wanted);
    found
        .unwrap_or_else(|| panic!("{host} has no recorded {event} of {tool:?}"))
        .clone()
}

/// A session that is written down.
struct Transcript<'p> {
    project: &'p Project,
    words: &'static HostWords,
    /// The session's id in the payloads.
    session: String,
    text: String,
}

impl<'p> Transcript<'p> {
    fn new(project: &'p Project, words: &'static HostWords) -> Self {
        let first = recorded(words.host, words.prompt, None);
        let session = SESSION_FIELDS
            .iter()
            .find_map(|field| first[*field].as_str());
        let session = session.or_else(|| first["input"]["sessionID"].as_str());
        Self {
            project,
            words,
            session: session.unwrap().to_owned(),
            text: String::new(),
        }
    }

    /// Sends one event and writes down what the agent gets. Returns why it was blocked.
    fn send(&mut self, event: &str, tool: Option<&str>, happening: &Happening) -> Option<String> {
        let root = self.project.root().to_str().unwrap().to_owned();
        let mut payload = recorded(self.words.host, event, tool);
        happening.fill_value(&mut payload, &root);
        // Payloads of a file may be of different sessions; these are one.
        for field in SESSION_FIELDS {
            if payload.get(field).is_some() {
                payload[field] = self.session.clone().into();
            }
        }
        let name = event.split(' ').next().unwrap();
        let arguments = match self.words.host {
            // Only Copilot does not name the event in its payload.
            "copilot" => vec!["copilot", name],
            host => vec![host],
        };
        let answer = self.project.hook_of(&arguments, &payload);
        self.write_answer(&answer);
        answer.block()
    }

    fn write_answer(&mut self, answer: &Answer) {
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{answer:?}");
        let mut say = |who: &str, said: &str| {
            self.text.push_str(&format!("  {who}\n"));
            for line in said.lines() {
                self.text.push_str(format!("  | {line}").trim_end());
                self.text.push('\n');
            }
        };
        if let Some(reason) = answer.block() {
            say("blocked:", &reason);
        } else if let Some(said) = answer.context() {
            say("the agent is told:", &said);
        }
        if let Some(said) = answer.json()["systemMessage"].as_str() {
            say("the person is told:", said);
        }
    }

    fn narrate(&mut self, line: &str) {
        self.text.push_str(&format!("{line}\n"));
    }

    fn start(&mut self) {
        self.narrate("* The session starts.");
        for event in self.words.start {
            self.send(event, None, &Happening::default());
        }
    }

    fn prompt(&mut self, prompt: &str) {
        self.narrate(&format!("* The person types: {prompt}"));
        let happening = Happening {
            prompt: prompt.to_owned(),
            ..Happening::default()
        };
        self.send(self.words.prompt, None, &happening);
    }

    /// The agent writes a whole file, if it may.
    fn write(&mut self, path: &str, text: &str) {
        self.narrate(&format!("* The agent writes {path}"));
        let file = self.project.root().join(path);
        let happening = Happening {
            path: path.to_owned(),
            text: text.to_owned(),
            former: std::fs::read_to_string(file).ok(),
            ..Happening::default()
        };
        let tool = Some(self.words.write_tool);
        if self
            .send(self.words.before_tool, tool, &happening)
            .is_none()
        {
            self.project.write(path, text);
            self.after_tool(tool, &happening);
        }
    }

    fn after_tool(&mut self, tool: Option<&str>, happening: &Happening) {
        // Cursor was recorded with a shell command only; a write has the same fields.
        let (event, host) = (self.words.after_tool, self.words.host);
        match (host, tool) {
            ("cursor", Some("Write")) => {
                let mut before = recorded(host, self.words.before_tool, tool);
                before["hook_event_name"] = event.into();
                before["tool_output"] = "{}".into();
                let root = self.project.root().to_str().unwrap().to_owned();
                happening.fill_value(&mut before, &root);
                let answer = self.project.hook_of(&[host], &before);
                self.write_answer(&answer);
            }
            _ => {
                self.send(event, tool, happening);
            }
        }
    }

    /// The agent runs `tl` in its shell.
    fn tl(&mut self, arguments: &[&str]) {
        let command = format!("tl {}", arguments.join(" "));
        self.run(&command, |session, project| {
            let mut command = project.command(arguments);
            command.env("THROUGHLINE_SESSION", session);
            assert!(command.output().unwrap().status.success(), "{arguments:?}");
        });
    }

    /// The agent runs a command line.
    fn shell(&mut self, command: &str) {
        self.run(command, |_, project| {
            assert!(project.shell(command), "{command}")
        });
    }

    fn run(&mut self, command: &str, run: impl FnOnce(&str, &Project)) {
        self.narrate(&format!("* The agent runs: {command}"));
        let happening = Happening {
            command: command.to_owned(),
            ..Happening::default()
        };
        let tool = Some(self.words.shell_tool);
        if self
            .send(self.words.before_tool, tool, &happening)
            .is_none()
        {
            run(&self.session, self.project);
            self.after_tool(tool, &happening);
        }
    }

    /// A person does something in a terminal of their own.
    fn person(&mut self, arguments: &[&str]) {
        self.narrate(&format!("* A person runs: tl {}", arguments.join(" ")));
        let done = self.project.run_as_person("ann", "y\n", arguments);
        assert_eq!(done.code, 0, "{arguments:?}: {}", done.stdout);
    }

    fn compact(&mut self) {
        self.narrate("* The conversation is compacted.");
        for event in self.words.compaction {
            self.send(event, None, &Happening::default());
        }
        self.prompt("go on");
        // Some hosts take no context with a prompt; they get it with the next tool.
        self.shell("ls");
    }

    fn stop(&mut self) {
        self.narrate("* The agent ends its turn.");
        self.send(self.words.stop, None, &Happening::default());
    }
}

/// Replaces what differs between two runs: the digits of dates and of ids of the trail.
fn hide_numbers(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '-' | ':');
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
        let (run, after) = from.split_at(end);
        let digits = run.chars().filter(char::is_ascii_digit).count();
        let is_time = run.len() == 5 && run.as_bytes()[2] == b':';
        shown.push_str(before);
        match digits >= 8 || is_time {
            true => shown.push('#'),
            false => shown.push_str(run),
        }
        rest = after;
    }
    shown + rest
}

/// Writes down one session per host and compares each with its snapshot.
fn compare_transcripts(kind: &str, profiles: &[&str], act: impl Fn(&mut Transcript<'_>)) {
    compare_on(&HOSTS.each_ref(), kind, profiles, act);
}

/// The same for some of the hosts.
fn compare_on(
    hosts: &[&'static HostWords],
    kind: &str,
    profiles: &[&str],
    act: impl Fn(&mut Transcript<'_>),
) {
    for words in hosts {
        let project = empty();
        assert!(project.shell("git init -q -b main . && git commit -q --allow-empty -m start"));
        let mut arguments = vec!["init"];
        for profile in profiles {
            arguments.extend(["--profile", profile]);
        }
        project.ok(&arguments);
        let mut transcript = Transcript::new(&project, words);
        act(&mut transcript);
        let root = project.root().to_str().unwrap().to_owned();
        let text = hide_numbers(&transcript.text.replace(&root, "/project"));
        // The time a ticket was made at has fewer digits than a date.
        let text: Vec<&str> = text
            .lines()
            .map(|line| match line.starts_with("  | created: ") {
                true => "  | created: #",
                false => line,
            })
            .collect();
        let text = text.join("\n");
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("transcript_{kind}_{}", words.host), text);
        });
    }
}

const DOCUMENT: &str = ".throughline/plans/search/plan.json";
const ACT: &str = "acts/act-1/strategic-plan.md";
const CHAPTER: &str = "acts/act-1/chapters/chapter-01/plan.md";

#[test]
fn a_story() {
    compare_transcripts("story", &["story"], |session| {
        session.start();
        session.prompt("plan the first act");
        session.write(ACT, "# Act 1\n\n## Goals\n\nElena finds the map.\n");
        session.write(CHAPTER, "# Chapter 1\n\nThe archive.\n");
        session.person(&["approve", "act-1"]);
        session.shell("ls");
        session.write(ACT, "# Act 1\n\n## Goals\n\nElena finds a map.\n");
        session.write(ACT, "# Act 1\n\n## Goals\n\nElena finds an old map.\n");
        session.person(&["approve", "act-1"]);
        session.write(CHAPTER, "# Chapter 1\n\nThe archive.\n");
        session.shell("echo 'Elena loses the map.' >> acts/act-1/strategic-plan.md");
        session.compact();
        session.stop();
    });
}

#[test]
fn tickets() {
    compare_transcripts("tickets", &["tickets"], |session| {
        session.start();
        session.tl(&["ticket", "new", "Search by word"]);
        session.tl(&["ticket", "new", "Rank the results"]);
        session.prompt("let's work on 001");
        session.tl(&["focus", "enter", "001"]);
        session.tl(&["ticket", "phase", "001", "implement"]);
        session.write("src/search.rs", "pub fn search() {}\n");
        session.shell("git add -A && git commit -q -m 'test: 001 search'");
        session.person(&["comment", "001", "-m", "Mind the umlauts."]);
        session.prompt("go on");
        session.compact();
        session.stop();
    });
}

#[test]
fn a_trail() {
    compare_transcripts("trail", &["trail"], |session| {
        session.start();
        session.prompt("why is the page slow?");
        session.tl(&["trail", "intent", "find the slow query"]);
        session.shell("ls -la");
        session.tl(&["trail", "map", "tactic", "measure the page"]);
        session.compact();
        session.stop();
    });
}

#[test]
fn milestones() {
    compare_transcripts("milestones", &["milestones"], |session| {
        session.tl(&["doc", "new", "search"]);
        session.start();
        session.prompt("plan the search");
        session.write("src/index.rs", "pub fn build() {}\n");
        session.write(DOCUMENT, "{ \"broken\": ");
        session.prompt("go on");
        session.tl(&["doc", "restore"]);
        session.shell("echo '{}' > .throughline/plans/search/plan.json");
        session.compact();
        session.stop();
    });
}

#[test]
fn a_story_with_tickets_and_a_trail() {
    compare_transcripts("mixed", &["story", "tickets", "trail"], |session| {
        session.start();
        session.tl(&["ticket", "new", "Search by word"]);
        session.tl(&["focus", "enter", "001"]);
        session.write(ACT, "# Act 1\n\nElena finds the map.\n");
        session.write(CHAPTER, "# Chapter 1\n\nThe archive.\n");
        session.person(&["approve", "act-1"]);
        session.prompt("go on");
        session.compact();
        session.stop();
    });
}

const SCENE: &str = "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md";

/// Only people approve, the plan above a write is stale, and the settings break: what an agent has to
/// understand to do the right thing.
#[test]
fn people_decide_and_settings_break() {
    let [claude, _, _, _, gemini, _] = &HOSTS;
    compare_on(&[claude, gemini], "people", &["story"], |session| {
        let project = session.project;
        project.configure("policy.approval", "\"human\"");
        session.start();
        session.prompt("plan the first chapter");
        session.write(ACT, "# Act 1\n\nElena finds the map.\n");
        session.write(CHAPTER, "# Chapter 1\n\nThe archive.\n");
        session.person(&["approve", "act-1"]);
        session.shell("ls");
        session.write(CHAPTER, "# Chapter 1\n\nThe archive.\n");
        session.person(&["approve", "chapter-01"]);
        session.narrate("* A person edits the act in their editor.");
        project.write(ACT, "# Act 1\n\nElena loses the map.\n");
        session.person(&["approve", "act-1"]);
        session.shell("cat notes.txt || true");
        session.write(SCENE, "# Scene 1\n\nElena waits.\n");
        session.person(&["revalidate", "chapter-01", "--keep"]);
        session.write(SCENE, "# Scene 1\n\nElena waits.\n");
        let settings = project.read(".throughline/config.toml");
        session.narrate("* The settings break.");
        project.write(".throughline/config.toml", "[policy\napproval = 7\n");
        session.prompt("go on");
        session.write(PROSE, "Elena waits.\n");
        session.stop();
        session.narrate("* The settings are repaired.");
        project.write(".throughline/config.toml", &settings);
        session.prompt("go on");
        session.compact();
    });
}

const PROSE: &str = "acts/act-1/chapters/chapter-01/content/scene-0101.md";
