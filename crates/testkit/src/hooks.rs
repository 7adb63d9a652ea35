//! Running a hook as an agent host runs it: one event on standard input, one answer on standard output.

use std::cell::Cell;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use crate::{Output, Project};

/// What a hook answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The exit code, or the signal that ended it, below zero.
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Answer {
    /// Returns the answer as JSON; null when there is none.
    ///
    /// # Panics
    /// When something else was printed.
    #[must_use]
    pub fn json(&self) -> Value {
        if self.stdout.is_empty() {
            return Value::Null;
        }
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("no JSON ({error}): {}", self.stdout))
    }

    /// Returns why the step must not happen, in whichever host's words it is said.
    #[must_use]
    pub fn block(&self) -> Option<String> {
        let json = self.json();
        let inner = &json["hookSpecificOutput"];
        let denied = inner["permissionDecision"] == "deny"
            || json["permissionDecision"] == "deny"
            || json["permission"] == "deny"
            || json["decision"] == "deny"
            || json["decision"] == "block"
            || json["continue"] == false
            || json["deny"].is_string();
        let reasons = [
            &inner["permissionDecisionReason"],
            &json["permissionDecisionReason"],
            &json["agent_message"],
            &json["user_message"],
            &json["reason"],
            &json["deny"],
        ];
        denied.then(|| {
            reasons
                .iter()
                .find_map(|reason| reason.as_str())
                .unwrap_or_default()
                .to_owned()
        })
    }

    /// Returns what the model is told, in whichever host's words it is said.
    #[must_use]
    pub fn context(&self) -> Option<String> {
        let json = self.json();
        let said = [
            &json["hookSpecificOutput"]["additionalContext"],
            &json["additionalContext"],
            &json["additional_context"],
            &json["append"],
            &json["prompt_append"],
            &json["system"],
            &json["context"][0],
        ];
        said.iter()
            .find_map(|said| said.as_str())
            .map(str::to_owned)
    }

    /// Says whether nothing at all was said, and that in good order.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        self.code == 0 && self.stdout.is_empty() && self.stderr.is_empty()
    }
}

impl From<Output> for Answer {
    fn from(output: Output) -> Self {
        Self {
            code: output.code,
            stdout: output.stdout,
            stderr: output.stderr,
        }
    }
}

impl Project {
    /// Sends an event of Claude Code.
    #[must_use]
    pub fn hook(&self, payload: &Value) -> Answer {
        self.hook_of(&["claude-code"], payload)
    }

    /// Sends an event of any host: `arguments` are those after `tl hook`.
    #[must_use]
    pub fn hook_of(&self, arguments: &[&str], payload: &Value) -> Answer {
        self.hook_bytes(arguments, payload.to_string().as_bytes(), &[])
    }

    /// Sends any bytes, with more environment.
    ///
    /// # Panics
    /// When the program cannot be started.
    #[must_use]
    pub fn hook_bytes(
        &self,
        arguments: &[&str],
        stdin: &[u8],
        environment: &[(&str, &str)],
    ) -> Answer {
        // A host is a process of its own, above its hooks and the commands of its agent: tests are no host.
        let mut all = vec![
            "--foreground".into(),
            "600".into(),
            self.binary().as_os_str().to_owned(),
            "hook".into(),
        ];
        all.extend(arguments.iter().map(std::ffi::OsString::from));
        let mut child = self
            .command_of("timeout".as_ref())
            .args(all)
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // A hook may end without having read everything.
        let _ = child.stdin.take().expect("a pipe").write_all(stdin);
        let output = child.wait_with_output().expect("the program ends");
        Answer {
            code: output
                .status
                .code()
                .unwrap_or_else(|| -output.status.signal().unwrap_or(1)),
            stdout: String::from_utf8(output.stdout).expect("UTF-8 on stdout"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8 on stderr"),
        }
    }

    /// Returns a session of Claude Code.
    #[must_use]
    pub fn session(&self, id: &str) -> Session<'_> {
        self.session_of("claude-code", id)
    }

    /// Returns a session of a host.
    #[must_use]
    pub fn session_of(&self, host: &str, id: &str) -> Session<'_> {
        Session {
            project: self,
            host: host.to_owned(),
            id: id.to_owned(),
            more: Map::new(),
            environment: Vec::new(),
            calls: Cell::new(0),
        }
    }

    /// Runs a command line in the project, as an agent's shell tool or a person would; says whether it succeeded.
    ///
    /// # Panics
    /// When there is no shell.
    #[expect(
        clippy::disallowed_methods,
        reason = "a test does what an agent's shell does"
    )]
    pub fn shell(&self, command: &str) -> bool {
        let git = [
            "GIT_AUTHOR_NAME",
            "GIT_AUTHOR_EMAIL",
            "GIT_COMMITTER_NAME",
            "GIT_COMMITTER_EMAIL",
        ];
        let output = Command::new("sh")
            .args(["-c", command])
            .current_dir(self.root())
            .envs(git.map(|name| (name, "test@example.org")))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        output.status.success()
    }

    /// Returns every line of the ledger of hooks.
    ///
    /// # Panics
    /// When a line is not JSON.
    #[must_use]
    pub fn ledger(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.root().join(".throughline/hooks.jsonl"))
            .unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).expect("a line of JSON"))
            .collect()
    }
}

/// A session of an agent host in a project.
#[derive(Clone, Debug)]
pub struct Session<'p> {
    project: &'p Project,
    host: String,
    id: String,
    /// Fields that every payload carries besides.
    more: Map<String, Value>,
    environment: Vec<(String, String)>,
    calls: Cell<u32>,
}

impl Session<'_> {
    /// Puts a field into every payload: `agent_id`, another `cwd` …
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.more.insert(field.to_owned(), value.into());
        self
    }

    /// Sets a variable for every hook.
    #[must_use]
    pub fn with_environment(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends an event with these fields.
    #[must_use]
    pub fn event(&self, name: &str, fields: Value) -> Answer {
        let payload = self.payload(name, fields);
        let arguments = [self.host.as_str(), name];
        // Only Copilot does not name the event in its payload.
        let arguments = if self.host == "copilot" {
            &arguments[..]
        } else {
            &arguments[..1]
        };
        let environment: Vec<(&str, &str)> = self
            .environment
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.project
            .hook_bytes(arguments, payload.to_string().as_bytes(), &environment)
    }

    /// Returns the payload of an event.
    #[must_use]
    pub fn payload(&self, name: &str, fields: Value) -> Value {
        let root = self
            .project
            .root()
            .to_str()
            .expect("a Unicode path")
            .to_owned();
        let mut payload = match self.host.as_str() {
            "copilot" => {
                json!({ "sessionId": self.id, "timestamp": 1_767_225_600_000_u64, "cwd": root })
            }
            "cursor" => json!({
                "conversation_id": self.id, "generation_id": "g", "model": "default", "hook_event_name": name,
                "cursor_version": "3.9.16", "workspace_roots": [root], "user_email": null, "session_id": self.id,
                "cwd": "",
            }),
            "opencode" => json!({ "hook_event_name": name, "directory": root, "worktree": root }),
            _ => json!({
                "session_id": self.id, "transcript_path": "/home/user/transcript.jsonl", "cwd": root,
                "prompt_id": "p-1", "permission_mode": "acceptEdits", "hook_event_name": name,
            }),
        };
        let all = payload.as_object_mut().expect("an object");
        for given in [&fields, &Value::Object(self.more.clone())] {
            all.extend(given.as_object().expect("an object").clone());
        }
        payload
    }

    /// A tool is about to run.
    #[must_use]
    pub fn before(&self, tool: &str, input: &Value) -> Answer {
        self.calls.set(self.calls.get() + 1);
        let (name, fields) = self.call(true, tool, input);
        self.event(name, fields)
    }

    /// The tool of the last [`Session::before`] has run.
    #[must_use]
    pub fn after(&self, tool: &str, input: &Value) -> Answer {
        let (name, fields) = self.call(false, tool, input);
        self.event(name, fields)
    }

    /// Returns the event of a tool call in the host's words.
    #[must_use]
    pub fn call(&self, before: bool, tool: &str, input: &Value) -> (&'static str, Value) {
        let id = format!("{}-call-{}", self.id, self.calls.get());
        let mut fields = match self.host.as_str() {
            "copilot" => json!({ "toolName": tool, "toolArgs": input }),
            "gemini" => {
                json!({ "tool_name": tool, "tool_input": input, "timestamp": "2026-01-01T00:00:00.000Z" })
            }
            "opencode" if before => {
                json!({ "input": { "tool": tool, "sessionID": self.id, "callID": id }, "output": { "args": input } })
            }
            "opencode" => json!({
                "input": { "tool": tool, "sessionID": self.id, "callID": id, "args": input },
                "output": { "title": "", "metadata": {}, "output": "done" },
            }),
            _ => json!({ "tool_name": tool, "tool_input": input, "tool_use_id": id }),
        };
        if !before {
            match self.host.as_str() {
                "opencode" => {}
                "copilot" => {
                    fields["toolResult"] =
                        json!({ "resultType": "success", "textResultForLlm": "done" })
                }
                _ => fields["tool_response"] = json!({ "stdout": "", "stderr": "" }),
            }
        }
        let name = match (self.host.as_str(), before) {
            ("copilot" | "cursor", true) => "preToolUse",
            ("copilot" | "cursor", false) => "postToolUse",
            ("gemini", true) => "BeforeTool",
            ("gemini", false) => "AfterTool",
            ("opencode", true) => "tool.execute.before",
            ("opencode", false) => "tool.execute.after",
            (_, true) => "PreToolUse",
            (_, false) => "PostToolUse",
        };
        (name, fields)
    }

    /// Claude Code's session starts: `startup`, `resume`, `clear` or `compact`.
    #[must_use]
    pub fn start(&self, source: &str) -> Answer {
        self.event("SessionStart", json!({ "source": source }))
    }

    /// A person sends a prompt to Claude Code.
    #[must_use]
    pub fn prompt(&self, text: &str) -> Answer {
        self.event("UserPromptSubmit", json!({ "prompt": text }))
    }

    /// Claude Code's agent wants to end its turn.
    #[must_use]
    pub fn stop(&self) -> Answer {
        self.event(
            "Stop",
            json!({ "stop_hook_active": false, "last_assistant_message": "Done." }),
        )
    }

    /// Writes a whole file of the project with Claude Code's tool, if the hook lets it; returns what was
    /// answered before and after.
    #[must_use]
    pub fn write(&self, path: &str, text: &str) -> (Answer, Option<Answer>) {
        let input = json!({ "file_path": self.project.root().join(path), "content": text });
        let before = self.before("Write", &input);
        if before.block().is_some() {
            return (before, None);
        }
        self.project.write(path, text);
        (before, Some(self.after("Write", &input)))
    }

    /// Runs a command line with Claude Code's tool; returns what was answered after it.
    ///
    /// # Panics
    /// When the hook blocks it, or it fails.
    #[must_use]
    pub fn shell(&self, command: &str) -> Answer {
        let input = json!({ "command": command, "description": "run a command" });
        let before = self.before("Bash", &input);
        assert!(before.block().is_none(), "{command}: {before:?}");
        self.shell_unasked(command)
    }

    /// Runs a command line without the hook before it; returns what was answered after it.
    ///
    /// # Panics
    /// When it fails.
    #[must_use]
    pub fn shell_unasked(&self, command: &str) -> Answer {
        let input = json!({ "command": command, "description": "run a command" });
        let succeeded = self.project.shell(command);
        assert!(succeeded, "{command}");
        self.after("Bash", &input)
    }

    /// Reads a file of the project with Claude Code's tool.
    #[must_use]
    pub fn read(&self, path: &str) -> Answer {
        let input = json!({ "file_path": self.project.root().join(path) });
        let before = self.before("Read", &input);
        assert!(before.is_silent(), "reading is free: {before:?}");
        self.after("Read", &input)
    }
}
