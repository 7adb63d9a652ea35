//! Ways round the hierarchy gate. Below an act that is not approved no chapter comes into being unnoticed: each
//! way is stopped before it, or noticed right after it with everything that follows recorded.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use testkit::{Answer, Project, Session};

use crate::{Event, planned, statuses, story};

const CHAPTER_2: &str = "acts/act-1/chapters/chapter-02/plan.md";
const TEXT: &str = "# A chapter nobody asked for\n";

/// Chapters that were written while the act was approved, besides the one with a scene.
const OLDER: [u32; 12] = [31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42];

fn chapter(number: u32) -> String {
    format!("acts/act-1/chapters/chapter-{number:02}/plan.md")
}

/// The act was approved, then edited: it is a draft, and everything below it is stale.
fn with_draft_act() -> Project {
    let project = planned();
    for number in OLDER {
        project.write(
            &chapter(number),
            format!("# Chapter {number}\n\nAs planned.\n"),
        );
    }
    project.ok(&["status"]);
    project.write(Project::ACT, crate::ACT_EDITED);
    project.ok(&["status"]);
    assert_eq!(project.status("act-1"), "draft");
    assert_eq!(project.status("chapter-31"), "requires-revalidation");
    project
}

/// Returns the newest operation as the journal has it: no command looks at the files in between.
fn newest_in_journal(project: &Project) -> Value {
    let journal = project.read(".throughline/journal.jsonl");
    let line: Value = serde_json::from_str(journal.lines().last().expect("a line")).expect("JSON");
    line["op"].clone()
}

/// Returns why this is no refusal of the hierarchy gate that an agent could work with.
fn not_blocked(answer: &Answer, plan: &str) -> Option<String> {
    let Some(reason) = answer.block() else {
        return Some(format!("passed: {answer:?}"));
    };
    if answer.code != 0 || !answer.stderr.is_empty() {
        return Some(format!("said in the wrong way: {answer:?}"));
    }
    let parts = [
        "Throughline (hierarchy gate): ",
        &format!("`{plan}` cannot be"),
        "its parent `act-1`",
        "\n  next: ",
    ];
    let missing: Vec<&&str> = parts
        .iter()
        .filter(|part| !reason.contains(**part))
        .collect();
    (!missing.is_empty()).then(|| format!("does not say {missing:?}: {reason}"))
}

/// One call of a tool that names the file it writes.
struct Call<'p> {
    name: &'static str,
    session: Session<'p>,
    tool: &'static str,
    input: Value,
    plan: &'static str,
}

#[track_caller]
fn each_is_blocked(project: &Project, calls: &[Call<'_>]) {
    let before = crate::fingerprint(project);
    let mut failed = Vec::new();
    for call in calls {
        let answer = call.session.before(call.tool, &call.input);
        failed.extend(not_blocked(&answer, call.plan).map(|why| format!("{}: {why}", call.name)));
        let line = project.ledger().pop().expect("a line");
        if (&line["outcome"], &line["gate"], &line["plan"])
            != (&json!("block"), &json!("hierarchy"), &json!(call.plan))
        {
            failed.push(format!("{}: the ledger says {line}", call.name));
        }
    }
    assert!(
        failed.is_empty(),
        "{} of {} ways round:\n{}",
        failed.len(),
        calls.len(),
        failed.join("\n")
    );
    assert_eq!(
        crate::fingerprint(project),
        before,
        "what was stopped left no trace"
    );
}

#[test]
fn writing_by_any_spelling_of_the_path_is_blocked() {
    let project = with_draft_act();
    let root = project.root();
    let outside = project.user_directory().join("elsewhere");
    std::fs::create_dir_all(&outside).expect("a folder");
    symlink(root.join("acts/act-1"), root.join("short")).expect("a link");
    symlink("short/chapters", root.join("shorter")).expect("a link");
    symlink(root.join(Project::CHAPTER), root.join("first.md")).expect("a link");
    symlink(CHAPTER_2, root.join("second.md")).expect("a dangling link");
    symlink("second.md", root.join("third.md")).expect("a link to a dangling link");
    symlink(&root, outside.join("project")).expect("a link");
    let own_name = root
        .file_name()
        .and_then(|name| name.to_str())
        .expect("Unicode");
    let absolute = |path: &str| root.join(path).to_str().expect("Unicode").to_owned();
    let through = outside
        .join("project")
        .join(CHAPTER_2)
        .to_str()
        .expect("Unicode")
        .to_owned();
    let folder = root
        .join("acts/act-1")
        .to_str()
        .expect("Unicode")
        .to_owned();
    let paths: [(&str, String, &str); 16] = [
        ("absolute", absolute(CHAPTER_2), "act-1/chapter-02"),
        ("relative", CHAPTER_2.to_owned(), "act-1/chapter-02"),
        ("./", format!("./{CHAPTER_2}"), "act-1/chapter-02"),
        (
            ".. inside",
            "acts/act-1/../act-1/chapters/chapter-02/plan.md".to_owned(),
            "act-1/chapter-02",
        ),
        (
            ".. through what is not there",
            absolute("nowhere/../").clone() + CHAPTER_2,
            "act-1/chapter-02",
        ),
        (
            ".. out and in again",
            format!("../{own_name}/{CHAPTER_2}"),
            "act-1/chapter-02",
        ),
        ("//", CHAPTER_2.replace('/', "//"), "act-1/chapter-02"),
        (
            "/./",
            absolute(&CHAPTER_2.replace('/', "/./")),
            "act-1/chapter-02",
        ),
        (
            "a linked folder",
            absolute("short/chapters/chapter-02/plan.md"),
            "act-1/chapter-02",
        ),
        (
            "a link to a linked folder",
            "shorter/chapter-02/plan.md".to_owned(),
            "act-1/chapter-02",
        ),
        (
            ".. after a link",
            absolute("shorter/../chapters/chapter-02/plan.md"),
            "act-1/chapter-02",
        ),
        ("a linked file", absolute("first.md"), "act-1/chapter-01"),
        ("a dangling link", absolute("second.md"), "act-1/chapter-02"),
        (
            "a link to a dangling link",
            "third.md".to_owned(),
            "act-1/chapter-02",
        ),
        ("a link from outside", through, "act-1/chapter-02"),
        (
            "an existing plan",
            absolute(Project::CHAPTER),
            "act-1/chapter-01",
        ),
    ];
    let mut calls: Vec<Call<'_>> = paths
        .into_iter()
        .map(|(name, path, plan)| Call {
            name,
            session: project.session(name),
            tool: "Write",
            input: json!({ "file_path": path, "content": TEXT }),
            plan,
        })
        .collect();
    // The session stands somewhere else.
    for (name, directory, path) in [
        (
            "in a folder of the project",
            folder.clone(),
            "chapters/chapter-02/plan.md".to_owned(),
        ),
        (
            "in a linked folder",
            absolute("shorter"),
            "chapter-02/plan.md".to_owned(),
        ),
        (
            "outside of any project",
            "/".to_owned(),
            absolute(CHAPTER_2),
        ),
        (
            "in a directory that is gone",
            absolute("gone"),
            absolute(CHAPTER_2),
        ),
        ("nowhere", String::new(), CHAPTER_2.to_owned()),
    ] {
        calls.push(Call {
            name,
            session: project.session(name).with("cwd", directory),
            tool: "Write",
            input: json!({ "file_path": path, "content": TEXT }),
            plan: "act-1/chapter-02",
        });
    }
    each_is_blocked(&project, &calls);
}

#[test]
fn every_file_tool_of_every_host_is_blocked() {
    let project = with_draft_act();
    let absolute = |path: &str| {
        project
            .root()
            .join(path)
            .to_str()
            .expect("Unicode")
            .to_owned()
    };
    let (new, old) = (absolute(CHAPTER_2), absolute(Project::CHAPTER));
    let patch =
        |body: &str| json!({ "command": format!("*** Begin Patch\n{body}\n*** End Patch\n") });
    let heredoc = format!(
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {CHAPTER_2}\n+# New\n*** End Patch\nEOF\n"
    );
    let in_folder = "cd acts/act-1 && apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: chapters/chapter-02/plan.md\n\
                     +# New\n*** End Patch\nEOF\n";
    // Name, host, tool, input, plan.
    let table: Vec<(&str, &str, &str, Value, &str)> = vec![
        (
            "Edit",
            "claude-code",
            "Edit",
            json!({"file_path": old, "old_string": "Mara", "new_string": "Ivo"}),
            "act-1/chapter-01",
        ),
        (
            "MultiEdit",
            "claude-code",
            "MultiEdit",
            json!({"file_path": old, "edits": [{"old_string": "Mara", "new_string": "Ivo"}]}),
            "act-1/chapter-01",
        ),
        (
            "NotebookEdit",
            "claude-code",
            "NotebookEdit",
            json!({"notebook_path": new, "new_source": TEXT}),
            "act-1/chapter-02",
        ),
        (
            "an MCP server writes",
            "claude-code",
            "mcp__fs__write_file",
            json!({"path": new, "content": TEXT}),
            "act-1/chapter-02",
        ),
        (
            "an MCP server writes, relative",
            "claude-code",
            "mcp__fs__write_file",
            json!({"path": CHAPTER_2, "content": TEXT}),
            "act-1/chapter-02",
        ),
        (
            "an MCP server edits",
            "claude-code",
            "mcp__fs__edit_file",
            json!({"path": old, "edits": [{"oldText": "Mara", "newText": "Ivo"}]}),
            "act-1/chapter-01",
        ),
        (
            "an MCP server moves",
            "claude-code",
            "mcp__fs__move_file",
            json!({"source": "draft.md", "destination": new}),
            "act-1/chapter-02",
        ),
        (
            "an MCP server copies",
            "claude-code",
            "mcp__fs__copy_file",
            json!({"source": "draft.md", "destination": new}),
            "act-1/chapter-02",
        ),
        (
            "Copilot under Claude's settings",
            "claude-code",
            "Write",
            json!({"path": new, "file_text": TEXT}),
            "act-1/chapter-02",
        ),
        (
            "Copilot creates",
            "copilot",
            "create",
            json!({"path": new, "file_text": TEXT}),
            "act-1/chapter-02",
        ),
        (
            "Copilot edits",
            "copilot",
            "edit",
            json!({"path": old, "old_str": "Mara", "new_str": "Ivo"}),
            "act-1/chapter-01",
        ),
        (
            "Copilot's one tool for all",
            "copilot",
            "str_replace_editor",
            json!({"command": "create", "path": new, "file_text": TEXT}),
            "act-1/chapter-02",
        ),
        (
            "Codex adds",
            "codex",
            "apply_patch",
            patch(&format!("*** Add File: {CHAPTER_2}\n+# New")),
            "act-1/chapter-02",
        ),
        (
            "Codex updates",
            "codex",
            "apply_patch",
            patch(&format!(
                "*** Update File: {}\n@@\n-- Mara\n+- Ivo",
                Project::CHAPTER
            )),
            "act-1/chapter-01",
        ),
        (
            "Codex moves",
            "codex",
            "apply_patch",
            patch(&format!(
                "*** Update File: draft.md\n*** Move to: {CHAPTER_2}\n@@\n-a\n+b"
            )),
            "act-1/chapter-02",
        ),
        (
            "Codex, the second file of a patch",
            "codex",
            "apply_patch",
            patch(&format!(
                "*** Add File: notes.md\n+x\n*** Add File: {CHAPTER_2}\n+# New"
            )),
            "act-1/chapter-02",
        ),
        (
            "Codex, a patch in the shell",
            "codex",
            "Bash",
            json!({"command": heredoc}),
            "act-1/chapter-02",
        ),
        (
            "Codex, in words",
            "codex",
            "shell",
            json!({"command": ["bash", "-lc", heredoc]}),
            "act-1/chapter-02",
        ),
        (
            "Codex, in a folder",
            "codex",
            "Bash",
            json!({"command": in_folder}),
            "act-1/chapter-02",
        ),
        (
            "Gemini writes",
            "gemini",
            "write_file",
            json!({"file_path": new, "content": TEXT}),
            "act-1/chapter-02",
        ),
        (
            "Gemini replaces",
            "gemini",
            "replace",
            json!({"file_path": old, "old_string": "Mara", "new_string": "Ivo"}),
            "act-1/chapter-01",
        ),
        (
            "OpenCode writes",
            "opencode",
            "write",
            json!({"filePath": new, "content": TEXT}),
            "act-1/chapter-02",
        ),
        (
            "OpenCode edits",
            "opencode",
            "edit",
            json!({"filePath": old, "oldString": "Mara", "newString": "Ivo"}),
            "act-1/chapter-01",
        ),
        (
            "OpenCode patches",
            "opencode",
            "apply_patch",
            json!({"patchText": format!("*** Begin Patch\n*** Add File: {CHAPTER_2}\n+x\n*** End Patch")}),
            "act-1/chapter-02",
        ),
        (
            "Cursor writes",
            "cursor",
            "Write",
            json!({"file_path": new, "content": TEXT}),
            "act-1/chapter-02",
        ),
        (
            "a tool nobody knows",
            "claude-code",
            "SaveDocument",
            json!({"path": new, "content": TEXT}),
            "act-1/chapter-02",
        ),
    ];
    let mut calls: Vec<Call<'_>> = table
        .into_iter()
        .map(|(name, host, tool, input, plan)| Call {
            name,
            session: project.session_of(host, name),
            tool,
            input,
            plan,
        })
        .collect();
    calls.push(Call {
        name: "a subagent",
        session: project
            .session("subagent")
            .with("agent_id", "a1")
            .with("agent_type", "general-purpose"),
        tool: "Write",
        input: json!({ "file_path": new, "content": TEXT }),
        plan: "act-1/chapter-02",
    });
    each_is_blocked(&project, &calls);
}

/// One command line that writes a plan, and what has to be there before.
struct Line {
    name: &'static str,
    /// The chapter it writes.
    number: u32,
    command: String,
}

/// Returns why a plan that was written behind the gate's back was not noticed as it must be.
fn not_noticed(project: &Project, answer: &Answer, number: u32) -> Option<String> {
    let path = format!("act-1/chapter-{number:02}");
    let said = answer.context().unwrap_or_default();
    let wanted = format!("`{path}` was written although its parent `act-1` is draft");
    if answer.code != 0 || !answer.stderr.is_empty() || !said.contains(&wanted) {
        return Some(format!("the agent is not told: {answer:?}"));
    }
    let operation = newest_in_journal(project);
    let summary = operation["summary"].as_str().unwrap_or_default();
    if operation["channel"] != "hook"
        || operation["verb"] != "observe"
        || !summary.contains(&format!("chapter-{number:02}"))
    {
        return Some(format!("it is not recorded: {operation}"));
    }
    let before = crate::newest_operation(project);
    // Its act was changed after approval, so everything below waits for a decision about it.
    if project.status(&path) != "requires-revalidation" {
        return Some(format!("it is {}", project.status(&path)));
    }
    if crate::newest_operation(project) != before {
        return Some("the next command had to notice it".to_owned());
    }
    let approve = project.run(&["approve", &path]);
    (approve.code != 1).then(|| format!("it can be approved: {approve:?}"))
}

#[test]
fn every_command_line_that_writes_a_plan_is_noticed() {
    let project = with_draft_act();
    project.write("draft.md", TEXT);
    project.write("more.md", TEXT);
    project.write(
        "write-it.sh",
        format!(
            "mkdir -p acts/act-1/chapters/chapter-11\nprintf '%s' hello > {}\n",
            chapter(11)
        ),
    );
    project.write(
        "change.diff",
        format!(
            "--- a/{0}\n+++ b/{0}\n@@ -1,3 +1,3 @@\n # Chapter 38\n \n-As planned.\n+As patched.\n",
            chapter(38)
        ),
    );
    // One chapter lies in another branch of git, one in a stash; neither is in the working tree.
    assert!(project.shell(&format!(
        "git init -q -b main && git add -A . && git commit -qm all && git checkout -qb other && \
         mkdir -p acts/act-1/chapters/chapter-12 && echo '# From a branch' > {branch} && git add -A . && git commit -qm more && \
         git checkout -q main && mkdir -p acts/act-1/chapters/chapter-13 && echo '# From a stash' > {stash} && \
         git add -A . && git stash -q",
        branch = chapter(12),
        stash = chapter(13),
    )));
    assert!(
        !project.root().join(chapter(12)).exists() && !project.root().join(chapter(13)).exists()
    );
    let new = |number: u32| format!("mkdir -p acts/act-1/chapters/chapter-{number:02} && ");
    let mut lines = vec![
        Line { name: "heredoc", number: 3, command: format!("{}cat > {} <<'EOF'\n# New\nEOF\n", new(3), chapter(3)) },
        Line { name: ">", number: 4, command: format!("{}echo '# New' > {}", new(4), chapter(4)) },
        Line { name: ">>", number: 31, command: format!("echo more >> {}", chapter(31)) },
        Line { name: "tee", number: 5, command: format!("{}echo '# New' | tee {}", new(5), chapter(5)) },
        Line { name: "sed -i", number: 32, command: format!("sed -i 's/planned/changed/' {}", chapter(32)) },
        Line { name: "cp", number: 6, command: format!("{}cp draft.md {}", new(6), chapter(6)) },
        Line { name: "mv", number: 7, command: format!("{}mv more.md {}", new(7), chapter(7)) },
        Line {
            name: "mv over an older one",
            number: 33,
            command: format!("cp draft.md x.md && mv x.md {}", chapter(33)),
        },
        Line {
            name: "a folder renamed",
            number: 8,
            command: "cp -r acts/act-1/chapters/chapter-41 tmp && mv tmp acts/act-1/chapters/chapter-08".to_owned(),
        },
        Line { name: "dd", number: 9, command: format!("{}dd if=draft.md of={} 2>/dev/null", new(9), chapter(9)) },
        Line { name: "install", number: 10, command: format!("install -D draft.md {}", chapter(10)) },
        Line { name: "a script", number: 11, command: "sh write-it.sh".to_owned() },
        Line { name: "git checkout", number: 12, command: format!("git checkout -q other -- {}", chapter(12)) },
        Line { name: "git stash pop", number: 13, command: "git stash pop -q".to_owned() },
        Line { name: "git apply", number: 38, command: "git apply change.diff".to_owned() },
        Line {
            name: "cd first",
            number: 14,
            command: "cd acts/act-1/chapters && mkdir chapter-14 && cd chapter-14 && echo x > plan.md".to_owned(),
        },
        Line {
            name: "a folder behind a link",
            number: 15,
            command: format!(
                "ln -s acts/act-1/chapters quick && mkdir quick/chapter-15 && cp draft.md {}",
                "quick/chapter-15/plan.md"
            ),
        },
        Line {
            name: "a name put together",
            number: 16,
            command: "d=acts/act-1/chap; mkdir -p ${d}ters/chapter-16; echo x > ${d}ters/chapter-16/plan.md".to_owned(),
        },
        Line { name: "a hard link", number: 17, command: format!("{}ln draft.md {}", new(17), chapter(17)) },
        Line {
            name: "an archive",
            number: 18,
            command: format!("{}cp draft.md {1} && tar cf a.tar {1} && rm {1} && tar xf a.tar", new(18), chapter(18)),
        },
        Line {
            name: "the times are set back",
            number: 34,
            command: format!("touch -r {0} t && sed -i 's/planned/plowned/' {0} && touch -r t {0}", chapter(34)),
        },
    ];
    if project.shell("python3 -c ''") {
        let command = format!(
            "python3 -c \"import pathlib; p = pathlib.Path('{}'); p.parent.mkdir(parents=True); p.write_text('x')\"",
            chapter(19)
        );
        lines.push(Line {
            name: "python",
            number: 19,
            command,
        });
    }
    if project.shell("perl -e ''") {
        lines.push(Line {
            name: "perl -i",
            number: 35,
            command: format!("perl -pi -e 's/planned/changed/' {}", chapter(35)),
        });
    }
    let mut failed = Vec::new();
    for line in &lines {
        let answer = project.session(line.name).shell_unasked(&line.command);
        failed.extend(
            not_noticed(&project, &answer, line.number).map(|why| format!("{}: {why}", line.name)),
        );
    }
    assert!(
        failed.is_empty(),
        "{} of {} ways round:\n{}",
        failed.len(),
        lines.len(),
        failed.join("\n")
    );
    project.ok(&["check"]);
}

#[test]
fn other_hosts_shells_and_tools_that_do_not_tell_are_noticed() {
    let project = with_draft_act();
    // Name, host, tool, input: none of them names the file in a way we could know.
    let command = "echo x > somewhere";
    let table: [(&str, &str, &str, Value); 11] = [
        (
            "Codex's shell",
            "codex",
            "Bash",
            json!({"command": command}),
        ),
        (
            "Codex's terminal",
            "codex",
            "write_stdin",
            json!({"session_id": 1, "chars": "echo x > y\n"}),
        ),
        (
            "Gemini's shell",
            "gemini",
            "run_shell_command",
            json!({"command": command}),
        ),
        (
            "Copilot's shell",
            "copilot",
            "bash",
            json!({"command": command}),
        ),
        (
            "OpenCode's shell",
            "opencode",
            "bash",
            json!({"command": command}),
        ),
        (
            "Cursor's shell",
            "cursor",
            "Shell",
            json!({"command": command, "cwd": ""}),
        ),
        (
            "an MCP server with other words",
            "claude-code",
            "mcp__ide__apply",
            json!({"uri": "file:///x", "what": TEXT}),
        ),
        (
            "Gemini's MCP server",
            "gemini",
            "mcp_ide_apply",
            json!({"uri": "file:///x"}),
        ),
        (
            "Cursor's MCP server",
            "cursor",
            "MCP:apply",
            json!({"uri": "file:///x"}),
        ),
        (
            "a subagent without hooks",
            "claude-code",
            "Agent",
            json!({"prompt": "plan it", "subagent_type": "x"}),
        ),
        (
            "OpenCode's subagent",
            "opencode",
            "task",
            json!({"prompt": "plan it"}),
        ),
    ];
    let mut failed = Vec::new();
    for (number, (name, host, tool, input)) in (50..).zip(&table) {
        let session = project.session_of(host, name);
        let before = session.before(tool, input);
        if !before.is_silent() {
            failed.push(format!("{name}: {before:?}"));
        }
        project.write(&chapter(number), TEXT);
        let answer = session.after(tool, input);
        failed.extend(not_noticed(&project, &answer, number).map(|why| format!("{name}: {why}")));
    }
    assert!(
        failed.is_empty(),
        "{} of {} ways round:\n{}",
        failed.len(),
        table.len(),
        failed.join("\n")
    );
}

#[test]
fn a_command_that_fails_after_it_wrote_is_noticed() {
    let project = with_draft_act();
    let session = project.session("s");
    let input = json!({ "command": format!("f={CHAPTER_2}; mkdir -p acts/act-1/chapters/chapter-02; echo x > $f; false") });
    assert!(session.before("Bash", &input).is_silent());
    assert!(!project.shell(input["command"].as_str().expect("a command")));
    let (_, mut fields) = session.call(false, "Bash", &input);
    fields["error"] = json!("exit code 1");
    let answer = session.event("PostToolUseFailure", fields);
    assert_eq!(not_noticed(&project, &answer, 2), None);
}

/// A link in the place of a plan is no plan: nothing is read through it, and nobody can approve it.
#[test]
fn a_link_put_where_a_plan_would_be_is_noticed_and_is_no_plan() {
    let project = with_draft_act();
    project.write("draft.md", TEXT);
    let session = project.session("s");
    let command = format!(
        "mkdir -p acts/act-1/chapters/chapter-02 && ln -s ../../../../draft.md {CHAPTER_2}"
    );
    let said = session.shell(&command).context().expect("it is told");
    assert!(
        said.contains("`act-1/chapter-02`") && said.contains("cannot be read"),
        "{said}"
    );
    assert_eq!(newest_in_journal(&project)["channel"], "hook");
    assert_eq!(project.status("act-1/chapter-02"), "invalid");
    // Writing what it leads to does not make it one.
    let input = json!({ "file_path": project.root().join("draft.md"), "content": "# More\n" });
    assert!(session.before("Write", &input).is_silent());
    project.write("draft.md", "# More\n");
    assert!(session.after("Write", &input).is_silent());
    assert_eq!(project.status("act-1/chapter-02"), "invalid");
    project.refused(&["approve", "act-1/chapter-02", "--force"]);
}

/// Through a hard link a plan has two names, and only one of them says so. The end of the turn sees it.
#[test]
fn a_plan_changed_through_another_name_is_noticed_at_the_latest_when_the_turn_ends() {
    let project = planned();
    let session = project.session("s");
    assert!(
        session
            .shell(&format!("ln {} notes.md", Project::ACT))
            .is_silent()
    );
    let input =
        json!({ "file_path": project.root().join("notes.md"), "content": crate::ACT_EDITED });
    assert!(session.before("Write", &input).is_silent());
    project.write("notes.md", crate::ACT_EDITED);
    let _ = session.after("Write", &input);
    let answer = session.stop();
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    assert_eq!(newest_in_journal(&project)["channel"], "hook");
    let (before, _) = session.write(CHAPTER_2, TEXT);
    assert_eq!(not_blocked(&before, "act-1/chapter-02"), None);
    assert_eq!(
        statuses(&project),
        [
            "act-1 draft",
            "act-1/chapter-01 requires-revalidation",
            "act-1/chapter-01/scene-0101 requires-revalidation"
        ]
    );
}

/// What happens between two events of a session, seen at the next one.
#[test]
fn what_happens_behind_the_back_of_a_session_is_noticed_at_its_next_event() {
    type Next<'n> = &'n dyn Fn(&Session<'_>) -> Answer;
    let events: [(&str, bool, Next<'_>); 5] = [
        (
            "a command in the background, at the end of the turn",
            false,
            &|session| session.stop(),
        ),
        ("an editor, at the next prompt", true, &|session| {
            session.prompt("go on")
        }),
        // A start says where everything stands; the draft act above is what needs someone.
        ("an editor, at a start", false, &|session| {
            session.start("startup")
        }),
        ("an editor, when a session is resumed", false, &|session| {
            session.start("resume")
        }),
        (
            "an editor, at the next command that may change something",
            true,
            &|session| session.shell("make --version"),
        ),
    ];
    let project = with_draft_act();
    let mut failed = Vec::new();
    for (number, (name, tells, next)) in (60..).zip(events) {
        let session = project.session(name);
        assert!(session.shell("true").is_silent(), "{name}");
        project.write(&chapter(number), TEXT);
        let answer = next(&session);
        if answer.code != 0 || !answer.stderr.is_empty() || answer.block().is_some() {
            failed.push(format!("{name}: {answer:?}"));
        }
        if tells
            && !answer
                .context()
                .is_some_and(|said| said.contains(&format!("chapter-{number}")))
        {
            failed.push(format!("{name}: the agent is not told: {answer:?}"));
        }
        let operation = newest_in_journal(&project);
        let summary = operation["summary"].as_str().unwrap_or_default();
        if operation["channel"] != "hook" || summary != format!("new: chapter-{number}") {
            failed.push(format!("{name}: not recorded: {operation}"));
        }
        assert_eq!(
            project.status(&format!("act-1/chapter-{number}")),
            "requires-revalidation",
            "{name}"
        );
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// A turn's end has no way to tell the model anything: the next prompt has.
#[test]
fn what_the_end_of_a_turn_noticed_is_told_at_the_next_prompt() {
    let project = with_draft_act();
    let session = project.session("s");
    let _ = session.prompt("begin");
    project.write(CHAPTER_2, TEXT);
    let _ = session.stop();
    let said = session.prompt("go on").context().unwrap_or_default();
    assert!(
        said.contains("chapter-02"),
        "the agent is never told: {said:?}"
    );
}

/// The approved parent is changed by a command, and a child is written: the first is noticed, the second stopped.
#[test]
fn a_parent_changed_by_a_command_stops_the_child_in_the_same_session() {
    // The file is not named, so that only the effect can be noticed.
    let change = format!("f={}; printf '# Another act\\n' > $f", Project::ACT);
    let ways: [(&str, Event<'_>); 3] = [
        ("with the event after the command", &|project| {
            let said = project
                .session("s")
                .shell(&change)
                .context()
                .expect("it is told");
            assert!(
                said.starts_with(
                    "Throughline: 3 plans below what changed now require revalidation."
                ),
                "{said}"
            );
            assert!(
                said.contains("- `act-1` changed and is draft now"),
                "{said}"
            );
            let operation = newest_in_journal(project);
            assert_eq!(
                (&operation["channel"], &operation["verb"]),
                (&json!("hook"), &json!("observe")),
                "{operation}"
            );
            let facts = operation["facts"].as_array().expect("facts");
            let groups = facts
                .iter()
                .filter_map(|fact| fact["groups"].as_array())
                .flatten();
            let stale = groups.filter(|group| group["after"]["status"] == "requires-revalidation");
            let stale: usize = stale
                .map(|group| group["nodes"].as_array().map_or(0, Vec::len))
                .sum();
            assert_eq!(stale, 3, "the cascade is in it: {facts:?}");
            assert!(
                facts.iter().any(|fact| fact["fact"] == "backup-written"),
                "and the backup: {facts:?}"
            );
        }),
        ("before anybody noticed", &|project| {
            assert!(project.shell(&change))
        }),
        ("from another session", &|project| {
            let _ = project.session("another").shell(&change);
        }),
    ];
    for (name, happens) in ways {
        let project = planned();
        let session = project.session("s");
        let (allowed, told) = session.write(CHAPTER_2, TEXT);
        assert!(
            allowed.block().is_none() && told.is_some(),
            "{name}: the act is approved: {allowed:?}"
        );
        happens(&project);
        let (before, _) = session.write("acts/act-1/chapters/chapter-03/plan.md", TEXT);
        assert_eq!(not_blocked(&before, "act-1/chapter-03"), None, "{name}");
        assert_eq!(
            project.status("scene-0101"),
            "requires-revalidation",
            "{name}"
        );
    }
}

#[test]
fn without_the_parents_plan_there_is_no_child() {
    let gone: [(&str, Event<'_>); 4] = [
        ("rm", &|project| {
            let said = project
                .session("s")
                .shell(&format!("rm {}", Project::ACT))
                .context()
                .expect("it is told");
            assert!(said.contains("`act-1`: its plan file is gone"), "{said}");
        }),
        ("rm, unnoticed", &|project| {
            assert!(project.shell(&format!("rm {}", Project::ACT)))
        }),
        ("mv, unnoticed", &|project| {
            assert!(project.shell(&format!("mv {} old.md", Project::ACT)))
        }),
        ("a folder in its place", &|project| {
            assert!(project.shell(&format!("rm {0} && mkdir {0}", Project::ACT)))
        }),
    ];
    for (name, happens) in gone {
        let project = planned();
        happens(&project);
        let (before, _) = project.session("s").write(CHAPTER_2, TEXT);
        assert_eq!(not_blocked(&before, "act-1/chapter-02"), None, "{name}");
    }
    // There never was one.
    let project = story();
    let (before, _) = project.session("s").write(CHAPTER_2, TEXT);
    assert_eq!(not_blocked(&before, "act-1/chapter-02"), None);
    let scene = project
        .session("s")
        .write(
            "acts/act-1/chapters/chapter-01/scenes/scene-0101-blueprint.md",
            TEXT,
        )
        .0;
    let reason = scene.block().expect("blocked");
    assert!(
        reason.contains("its parent `act-1/chapter-01` has no plan yet"),
        "{reason}"
    );
    assert!(reason.contains("next: tl plan chapter"), "{reason}");
}

/// The next step that a refusal names must work as it stands.
#[test]
fn the_next_steps_of_a_refusal_can_be_pasted() {
    let project = story();
    let (before, _) = project.session("s").write(Project::SCENE, TEXT);
    let reason = before.block().expect("blocked");
    let step = reason
        .lines()
        .find_map(|line| line.trim().strip_prefix("next: tl "))
        .expect("a command");
    let words: Vec<&str> = step
        .split_once('#')
        .map_or(step, |(command, _)| command)
        .split_whitespace()
        .collect();
    // The act is not planned either, so this leads one step further up, and that one works.
    let output = project.refused(&words);
    assert!(
        output.stderr.contains("next: tl plan act act-1\n"),
        "tl {words:?}: {}",
        output.stderr
    );
    project.ok(&["plan", "act", "act-1"]);
}

/// Another file on Linux, and no plan: harmless.
#[test]
fn another_case_is_another_file() {
    let project = with_draft_act();
    let path = "acts/act-1/chapters/Chapter-02/plan.md";
    let before = statuses(&project);
    let (answer, after) = project.session("s").write(path, TEXT);
    assert!(answer.is_silent(), "{answer:?}");
    // It is told as a file that looks like a plan; no more.
    let told = after.and_then(|after| after.context()).unwrap_or_default();
    assert!(told.contains("looks like a plan"), "{told}");
    assert_eq!(statuses(&project), before);
}

/// Hooks belong to a project, not to where the agent happens to stand.
#[test]
fn standing_in_another_project_does_not_help() {
    let project = with_draft_act();
    let other = project.root().join("sandbox");
    std::fs::create_dir_all(&other).expect("a folder");
    project.ok(&["--project", other.to_str().expect("Unicode"), "init"]);
    let session = project
        .session("s")
        .with("cwd", other.to_str().expect("Unicode"));
    let (before, after) = session.write(CHAPTER_2, TEXT);
    let noticed = after.as_ref().map_or(Some("blocked".to_owned()), |after| {
        not_noticed(&project, after, 2)
    });
    assert!(
        not_blocked(&before, "act-1/chapter-02").is_none() || noticed.is_none(),
        "neither stopped nor noticed: {before:?} {after:?}"
    );
}

/// An agent that switches the gate off is not stopped by it any more, but it is seen.
#[test]
fn a_gate_that_was_switched_off_still_sees() {
    let project = with_draft_act();
    let session = project.session("s");
    let config = format!(
        "{}policy.gates.hierarchy = \"off\"\n",
        project.read(".throughline/config.toml")
    );
    let _ = session.write(".throughline/config.toml", &config);
    let (_, after) = session.write(CHAPTER_2, TEXT);
    assert_eq!(not_noticed(&project, &after.expect("it passes"), 2), None);
}
