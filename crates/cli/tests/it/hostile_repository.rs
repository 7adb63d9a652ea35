//! A repository that names programs wherever git reads such a name, and programs called `git` that lie in the project.
//!
//! Every command that may look at git and every kind of hook event runs in it. None of the programs may run, and the count
//! of lines proves that git itself did.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a failing test may panic"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use testkit::Project;

use crate::{finished, tickets};

/// Keys of git's settings whose value is a program, or is run by a shell.
const KEYS: &[&str] = &[
    "core.fsmonitor",
    "core.hooksPath",
    "core.pager",
    "core.editor",
    "core.askPass",
    "core.sshCommand",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "sequence.editor",
    "pager.status",
    "pager.log",
    "pager.diff",
    "pager.config",
    "alias.status",
    "alias.diff-index",
    "alias.ls-files",
    "alias.log",
    "diff.external",
    "diff.planted.textconv",
    "diff.planted.command",
    "filter.planted.clean",
    "filter.planted.smudge",
    "filter.planted.process",
    "merge.planted.driver",
    "mergetool.planted.cmd",
    "difftool.planted.cmd",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.ssh.defaultKeyCommand",
    "credential.helper",
    "interactive.diffFilter",
    "trailer.planted.command",
    "trailer.planted.cmd",
    "uploadpack.packObjectsHook",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "remote.origin.vcs",
    "submodule.planted.update",
    "submodule.recurse",
    "status.submoduleSummary",
    "log.showSignature",
    "browser.planted.cmd",
    "man.planted.cmd",
    "sendemail.smtpServer",
    "web.browser",
    "init.templateDir",
    "instaweb.httpd",
];

/// Variables that name a program, or lead git to another repository or other settings.
const VARIABLES: &[&str] = &[
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "SSH_ASKPASS",
];

/// The places that are searched for programs: none may run.
struct Trap {
    project: Project,
    ran: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let project = tickets();
        let ran = project.user_directory().join("ran");
        std::fs::create_dir_all(project.user_directory()).unwrap();
        Self { project, ran }
    }

    /// Makes a program that notes that it ran, and under which name.
    fn plant(&self, path: &Path, name: &str) -> String {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = format!(
            "#!/bin/sh\necho '{name}' \"$@\" >> '{}'\ncat 2>/dev/null\nexit 0\n",
            self.ran.display()
        );
        std::fs::write(path, text).unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Plants everything; returns how many lines are not committed. The settings that make it dangerous are written last.
    fn set(&self) -> u64 {
        let root = self.project.root();
        let outside = self.project.user_directory();
        self.project
            .write("src/main.rs", "fn main() {}\nfn more() {}\n");
        self.project.write("src/new.rs", "one\ntwo\nthree\n");
        self.project.write(
            ".gitattributes",
            "* filter=planted diff=planted merge=planted\n",
        );
        self.project
            .write("src/.gitattributes", "*.rs filter=included\n");
        self.project
            .write(".git/info/attributes", "* filter=info diff=planted\n");
        std::fs::write(outside.join("attributes"), "* filter=own\n").unwrap();
        for name in std::fs::read_dir(root.join(".git/hooks"))
            .unwrap()
            .filter_map(Result::ok)
            .map(|entry| entry.path())
        {
            let name = name.file_stem().unwrap().to_str().unwrap().to_owned();
            self.plant(
                &root.join(".git/hooks").join(&name),
                &format!("hook {name}"),
            );
        }
        for name in [
            "post-index-change",
            "reference-transaction",
            "fsmonitor-watchman",
            "post-checkout",
        ] {
            self.plant(&root.join(".git/hooks").join(name), &format!("hook {name}"));
            self.plant(&root.join("hooks").join(name), &format!("hooksPath {name}"));
        }
        for place in ["bin/git", "git", "tools/git"] {
            self.plant(&root.join(place), &format!("program {place}"));
        }
        std::os::unix::fs::symlink(root.join("tools"), outside.join("link")).unwrap();
        std::fs::create_dir_all(outside.join("links")).unwrap();
        std::os::unix::fs::symlink(root.join("git"), outside.join("links/git")).unwrap();
        let program =
            |name: &str| self.plant(&root.join("tools").join(name), &format!("setting {name}"));
        let driver = |name: &str, key: &str| {
            format!(
                "[filter \"{name}\"]\n\t{key} = {}\n\trequired = true\n",
                program(key)
            )
        };
        std::fs::write(
            outside.join("included"),
            driver("included", "process") + &driver("info", "clean"),
        )
        .unwrap();
        let mut settings = std::fs::read_to_string(root.join(".git/config")).unwrap();
        settings.push_str("[extensions]\n\tworktreeConfig = true\n");
        settings.push_str(&format!(
            "[core]\n\tattributesFile = {}\n",
            outside.join("attributes").display()
        ));
        settings.push_str(&driver("own", "clean"));
        for key in KEYS {
            let (section, name) = key.rsplit_once('.').unwrap();
            let section = match section.split_once('.') {
                Some((section, part)) => format!("{section} \"{part}\""),
                None => section.to_owned(),
            };
            let value = match *key {
                "core.hooksPath" => root.join("hooks").display().to_string(),
                "submodule.recurse" | "status.submoduleSummary" | "log.showSignature" => {
                    "true".to_owned()
                }
                "alias.status"
                | "alias.diff-index"
                | "alias.ls-files"
                | "alias.log"
                | "submodule.planted.update" => {
                    format!("!{}", program(name))
                }
                _ => program(name),
            };
            settings.push_str(&format!("[{section}]\n\t{name} = {value}\n"));
        }
        let included = outside.join("included").display().to_string();
        settings.push_str(&format!("[include]\n\tpath = {included}\n"));
        settings.push_str(&format!(
            "[includeIf \"gitdir:{}/\"]\n\tpath = {included}\n",
            root.display()
        ));
        let worktree = format!("[core]\n\tfsmonitor = {}\n", program("worktree"))
            + &driver("planted", "process");
        self.plant(&root.join("tools/variable"), "variable");
        let lines = self.count(&[]);
        std::fs::write(root.join(".git/config"), settings).unwrap();
        std::fs::write(root.join(".git/config.worktree"), worktree).unwrap();
        lines
    }

    fn count(&self, environment: &[(String, String)]) -> u64 {
        let output = self.run(environment, &["--json", "where"]);
        let place: serde_json::Value =
            serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        place["locSinceCommit"]
            .as_u64()
            .unwrap_or_else(|| panic!("git did not count: {output:?}"))
    }

    /// An unsafe environment: PATH begins with the project.
    fn environment(&self, real_git: &str) -> Vec<(String, String)> {
        let (root, outside) = (self.project.root(), self.project.user_directory());
        let folders = [
            ".".to_owned(),
            "bin".to_owned(),
            String::new(),
            root.join("bin").display().to_string(),
            outside.join("link").display().to_string(),
            outside.join("links").display().to_string(),
            real_git.to_owned(),
            "/usr/bin".to_owned(),
            "/bin".to_owned(),
        ];
        let planted = root.join("tools/variable").display().to_string();
        let mut environment = vec![("PATH".to_owned(), folders.join(":"))];
        environment.extend(
            VARIABLES
                .iter()
                .map(|name| ((*name).to_owned(), planted.clone())),
        );
        environment.push((
            "GIT_EXEC_PATH".to_owned(),
            root.join("tools").display().to_string(),
        ));
        environment.push(("GIT_CONFIG_COUNT".to_owned(), "1".to_owned()));
        environment.push(("GIT_CONFIG_KEY_0".to_owned(), "core.fsmonitor".to_owned()));
        environment.push(("GIT_CONFIG_VALUE_0".to_owned(), planted));
        environment
    }

    #[track_caller]
    fn nothing_ran(&self, after: &str) {
        let ran = std::fs::read_to_string(&self.ran).unwrap_or_default();
        assert_eq!(ran, "", "after {after}");
    }

    /// The next look has to count: what was counted before is forgotten.
    fn forget_counts(&self) {
        let _ = std::fs::remove_file(self.project.root().join(".throughline/counted.bin"));
    }

    fn run(&self, environment: &[(String, String)], arguments: &[&str]) -> testkit::Output {
        self.forget_counts();
        let mut command = self.project.command(arguments);
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        finished(&mut command)
    }
}

/// Commands that look at the repository, and others that might.
const COMMANDS: &[&[&str]] = &[
    &["focus", "enter", "017a"],
    &["where"],
    &["where", "--flat"],
    &["status"],
    &["tree"],
    &["show", "017a"],
    &["next"],
    &["overlap"],
    &["claim", "017a"],
    &["log"],
    &["check"],
    &["brief"],
    &["ticket", "scenario", "list"],
    &["evidence", "list"],
    &["gate", "list"],
    &["trail", "trace", "017a"],
    &["doc", "reconcile"],
    &["host", "doctor"],
    &["diff", "017a"],
    &["state", "repair"],
    &["release", "017a"],
    &["focus", "exit"],
    &["ticket", "new", "Another"],
    &["renumber", "017a", "--dry-run"],
];

fn hook_events(trap: &Trap) -> Vec<(&'static str, serde_json::Value)> {
    let root = trap.project.root();
    let call = |tool: &str, input: serde_json::Value| json!({ "tool_name": tool, "tool_input": input, "tool_use_id": "t" });
    let write = || {
        call(
            "Write",
            json!({ "file_path": root.join("src/other.rs"), "content": "x\n" }),
        )
    };
    let edit = || {
        call(
            "Edit",
            json!({ "file_path": root.join("src/main.rs"), "old_string": "a", "new_string": "b" }),
        )
    };
    let shell = || call("Bash", json!({ "command": "git commit -am x && make" }));
    let done = |mut call: serde_json::Value| {
        call["tool_response"] = json!({ "stdout": "", "stderr": "" });
        call
    };
    vec![
        ("SessionStart", json!({ "source": "startup" })),
        ("UserPromptSubmit", json!({ "prompt": "go on" })),
        ("PreToolUse", write()),
        ("PreToolUse", edit()),
        ("PreToolUse", shell()),
        ("PostToolUse", done(write())),
        ("PostToolUse", done(edit())),
        ("PostToolUse", done(shell())),
        ("PreCompact", json!({ "trigger": "auto" })),
        ("Stop", json!({ "stop_hook_active": false })),
        ("SubagentStop", json!({})),
        ("SessionEnd", json!({ "reason": "other" })),
    ]
}

fn spring(trap: &Trap, environment: &[(String, String)], lines: u64) {
    assert!(
        lines > 4,
        "one line is added to a file that git follows, and three in a new one"
    );
    for arguments in COMMANDS {
        let output = trap.run(environment, arguments);
        trap.nothing_ran(&format!("tl {arguments:?}: {output:?}"));
    }
    // Before the hooks: afterwards the lines that the session wrote are not ours.
    assert_eq!(trap.count(environment), lines, "git counts the same lines");
    trap.nothing_ran("the count");
    let variables: Vec<(&str, &str)> = environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let session = trap.project.session("s1");
    for (name, fields) in hook_events(trap) {
        trap.forget_counts();
        let payload = session.payload(name, fields);
        let answer =
            trap.project
                .hook_bytes(&["claude-code"], payload.to_string().as_bytes(), &variables);
        assert_eq!(
            (answer.code, answer.stderr.as_str()),
            (0, ""),
            "{name}: {answer:?}"
        );
        trap.nothing_ran(name);
    }
}

#[test]
fn nothing_that_a_repository_names_runs_in_any_command_or_hook() {
    let trap = Trap::new();
    let lines = trap.set();
    spring(&trap, &trap.environment("/usr/bin"), lines);
    // The trap works: a plain `git` call runs the program.
    assert!(trap.project.shell("git status > /dev/null 2>&1; true"));
    assert!(trap.ran.exists(), "the programs are planted well");
}

/// Before 2.41 git knows no `--attr-source`: each filter that is configured is overridden instead.
#[test]
fn nothing_that_a_repository_names_runs_under_an_older_git() {
    let trap = Trap::new();
    let old = trap.project.user_directory().join("old");
    std::fs::create_dir_all(&old).unwrap();
    let asked = trap.project.user_directory().join("asked");
    let text = format!(
        "#!/bin/sh\nfor word; do case \"$word\" in --attr-source*) echo 'unknown option: --attr-source' >&2; exit 129;; \
         esac; done\necho \"$@\" >> '{}'\nexec /usr/bin/git \"$@\"\n",
        asked.display()
    );
    std::fs::write(old.join("git"), text).unwrap();
    std::fs::set_permissions(old.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let lines = trap.set();
    spring(&trap, &trap.environment(old.to_str().unwrap()), lines);
    let asked = std::fs::read_to_string(asked).unwrap();
    assert!(
        asked.contains("filter.planted.clean=") && asked.contains("filter.included.process="),
        "{asked}"
    );
}
