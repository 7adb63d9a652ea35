//! Signed decisions: with `policy.signatures = "required"` an approval counts only with the SSH
//! signature of a person in `.throughline/allowed_signers`.
//!
//! Keys are made, kept and checked by OpenSSH itself: `ssh-keygen`, `ssh-agent`, `ssh-add`.

#![expect(
    clippy::disallowed_methods,
    reason = "a test makes keys with OpenSSH and starts an agent"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{Output, Project};

use crate::git_decisions::{Copy, adopted_clone, shared_story};
use crate::{finished, run_with, story};

const AGENT: &[(&str, &str)] = &[("CLAUDECODE", "1")];
const SIGNERS: &str = ".throughline/allowed_signers";

/// A key pair of a person.
struct KeyPair {
    private: PathBuf,
    /// Algorithm and key, without a comment.
    public: String,
}

impl KeyPair {
    fn new(folder: &Path, name: &str, passphrase: &str) -> Self {
        let private = folder.join(name);
        let mut command = Command::new("ssh-keygen");
        command
            .args(["-q", "-t", "ed25519", "-C", name, "-N", passphrase, "-f"])
            .arg(&private);
        assert_eq!(finished(&mut command).code, 0, "`ssh-keygen` of OpenSSH");
        let text = std::fs::read_to_string(private.with_extension("pub")).expect("a public key");
        let words: Vec<&str> = text.split_whitespace().take(2).collect();
        Self {
            private,
            public: words.join(" "),
        }
    }

    fn used_by(&self, project: Project) -> Project {
        project.with_environment(
            "THROUGHLINE_SIGNING_KEY",
            self.private.to_str().expect("Unicode"),
        )
    }
}

fn approve_as(project: &Project, name: &str, node: &str) -> Output {
    project.run_as_person(name, "y\n", &["approve", node])
}

/// Requires signatures, and lists these people.
fn require_signatures(project: &Project, signers: &[(&str, &KeyPair)]) {
    let lines: Vec<String> = signers
        .iter()
        .map(|(name, key)| format!("{name} {}\n", key.public))
        .collect();
    project.write(SIGNERS, lines.concat());
    project.configure("policy.signatures", "\"required\"");
}

fn signed_files(root: &Path) -> Vec<Value> {
    let mut found = Vec::new();
    for folder in std::fs::read_dir(root.join(".throughline/decisions")).expect("a folder") {
        for file in std::fs::read_dir(folder.expect("an entry").path()).expect("a folder") {
            let text = std::fs::read_to_string(file.expect("an entry").path()).expect("a file");
            let value: Value = serde_json::from_str(&text).expect("JSON");
            found.extend(value.get("signature").is_some().then_some(value));
        }
    }
    found
}

#[test]
fn only_signed_approvals_count_in_every_clone() {
    let (folder, ann) = shared_story();
    let keys = folder.path();
    let (of_ann, of_bob) = (KeyPair::new(keys, "ann", ""), KeyPair::new(keys, "bob", ""));
    let ann = Copy {
        project: of_ann.used_by(ann.project),
    };
    require_signatures(&ann.project, &[("ann", &of_ann)]);

    // The approval from before is not signed.
    assert_eq!(ann.project.status("act-1"), "draft");
    let why = ann.project.ok(&["why", "act-1"]).stdout;
    assert!(why.contains("does not count: it is not signed"), "{why}");
    let listed = ann.project.ok(&["decisions", "act-1"]).stdout;
    assert!(listed.contains("not counted: it is not signed"), "{listed}");
    let status = ann.project.json(&["status"]);
    assert!(
        status["attention"][0]["reason"]
            .as_str()
            .is_some_and(|reason| reason.contains("it is not signed")),
        "{status}"
    );

    let approved = approve_as(&ann.project, "ann", "act-1");
    assert_eq!(approved.code, 0, "{}", approved.stdout);
    assert_eq!(ann.project.status("act-1"), "approved");
    let listed = ann.project.ok(&["decisions", "act-1"]).stdout;
    assert!(listed.contains(" · signed"), "{listed}");
    ann.commit_all("ann signs");
    ann.push();

    let bob = adopted_clone(folder.path());
    assert_eq!(bob.project.status("act-1"), "approved");
    let bob = Copy {
        project: of_bob.used_by(bob.project),
    };
    // Neither under his own name, which is not listed, nor under that of another.
    for name in ["bob", "ann"] {
        let refused = approve_as(&bob.project, name, "act-1/chapter-01");
        assert_eq!(refused.code, 1, "{}", refused.stdout);
        assert!(
            refused.stdout.contains("its key is not listed for human:"),
            "{}",
            refused.stdout
        );
        assert!(refused.stdout.contains(SIGNERS), "{}", refused.stdout);
    }
    // An approval made where nothing is required travels and does not count.
    bob.project.configure("policy.signatures", "\"off\"");
    bob.project.ok(&["approve", "act-1/chapter-01"]);
    assert_eq!(bob.project.status("act-1/chapter-01"), "approved");
    bob.git(&["checkout", "-q", "--", ".throughline/config.toml"]);
    assert_eq!(bob.project.status("act-1/chapter-01"), "draft");
    bob.commit_all("bob approves unsigned");
    bob.push();
    ann.pull();
    let noticed = ann.project.ok(&["status"]).stderr;
    assert!(
        noticed.contains("not counted: it is not signed"),
        "{noticed}"
    );
    assert_eq!(ann.project.status("act-1/chapter-01"), "draft");
    // With the rule switched off it counts, without a new decision.
    ann.project.configure("policy.signatures", "\"off\"");
    assert_eq!(ann.project.status("act-1/chapter-01"), "approved");
}

#[test]
fn openssh_verifies_our_signature_and_a_changed_decision_does_not_count() {
    let (folder, ann) = shared_story();
    let of_ann = KeyPair::new(folder.path(), "ann", "");
    let project = of_ann.used_by(ann.project);
    require_signatures(&project, &[("ann", &of_ann)]);
    assert_eq!(approve_as(&project, "ann", "act-1").code, 0);
    let files = signed_files(&project.root());
    let [decision] = files.as_slice() else {
        panic!("one signed decision: {files:?}");
    };
    let signature = decision["signature"].as_str().expect("a signature");
    let signature_file = folder.path().join("decision.sig");
    std::fs::write(&signature_file, signature).expect("a file");
    // The content of the file without id, checksum and signature, keys in order.
    let content: BTreeMap<&String, &Value> = decision
        .as_object()
        .expect("an object")
        .iter()
        .filter(|(key, _)| !["id", "checksum", "signature"].contains(&key.as_str()))
        .collect();
    let content = serde_json::to_string(&content).expect("JSON");
    let verify = |content: &str| {
        let file = folder.path().join("content");
        std::fs::write(&file, content).expect("a file");
        let mut command = Command::new("ssh-keygen");
        command
            .args(["-Y", "verify", "-I", "ann", "-n", "throughline", "-f"])
            .arg(project.root().join(SIGNERS))
            .arg("-s")
            .arg(&signature_file)
            .stdin(std::fs::File::open(file).expect("a file"));
        finished(&mut command).code
    };
    assert_eq!(verify(&content), 0);
    assert_ne!(verify(&content.replace("approved", "rejected")), 0);
    // Undone by the same person: the withdrawal is signed too.
    let undone = project.run_as_person("ann", "y\n", &["undo"]);
    assert_eq!(undone.code, 0, "{}", undone.stdout);
    assert_eq!(project.status("act-1"), "draft");
    assert_eq!(signed_files(&project.root()).len(), 2);
    // A rejection: signed as well, although it would count without.
    let rejected =
        project.run_as_person("ann", "y\n", &["invalidate", "act-1", "--reason", "weak"]);
    assert_eq!(rejected.code, 0, "{}", rejected.stdout);
    assert_eq!(signed_files(&project.root()).len(), 3);
}

/// A running `ssh-agent`, ended with the test.
struct RunningAgent {
    child: Child,
    socket: PathBuf,
}

impl RunningAgent {
    fn start(folder: &Path) -> Self {
        let socket = folder.join("agent.sock");
        let child = Command::new("ssh-agent")
            .args(["-D", "-a"])
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .expect("`ssh-agent` of OpenSSH");
        let start = Instant::now();
        while !socket.exists() && start.elapsed() < Duration::from_secs(30) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Self { child, socket }
    }

    fn add(&self, key: &KeyPair) {
        let mut command = Command::new("ssh-add");
        command.arg("-q").arg(&key.private);
        command.env("SSH_AUTH_SOCK", &self.socket);
        assert_eq!(finished(&mut command).code, 0, "`ssh-add` of OpenSSH");
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_agent_signs_with_the_key_git_names() {
    let (folder, ann) = shared_story();
    let agent = RunningAgent::start(folder.path());
    let (of_ann, other) = (
        KeyPair::new(folder.path(), "ann", ""),
        KeyPair::new(folder.path(), "other", ""),
    );
    agent.add(&other);
    agent.add(&of_ann);
    // The private part is in the agent alone.
    std::fs::remove_file(&of_ann.private).expect("the key is there");
    let socket = agent.socket.to_str().expect("Unicode");
    let ann = Copy {
        project: ann.project.with_environment("SSH_AUTH_SOCK", socket),
    };
    require_signatures(&ann.project, &[("ann", &of_ann)]);
    // The agent has two keys, and nothing says which.
    let refused = approve_as(&ann.project, "ann", "act-1");
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(
        refused.stdout.contains("there is no signing key"),
        "{}",
        refused.stdout
    );
    ann.git(&["config", "gpg.format", "ssh"]);
    let literal = format!("key::{}", of_ann.public);
    for named in [
        literal.as_str(),
        of_ann
            .private
            .with_extension("pub")
            .to_str()
            .expect("Unicode"),
    ] {
        ann.git(&["config", "user.signingkey", named]);
        let approved = approve_as(&ann.project, "ann", "act-1");
        assert_eq!(approved.code, 0, "{named}: {}", approved.stdout);
        assert_eq!(ann.project.status("act-1"), "approved");
        assert_eq!(ann.project.run_as_person("ann", "y\n", &["undo"]).code, 0);
        assert_eq!(ann.project.status("act-1"), "draft");
    }
}

#[test]
fn an_encrypted_key_file_says_to_use_the_agent() {
    let (folder, ann) = shared_story();
    let of_ann = KeyPair::new(folder.path(), "ann", "correct horse");
    let project = of_ann.used_by(ann.project);
    require_signatures(&project, &[("ann", &of_ann)]);
    let refused = approve_as(&project, "ann", "act-1");
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(
        refused.stdout.contains("is encrypted"),
        "{}",
        refused.stdout
    );
    assert!(refused.stdout.contains("ssh-add"), "{}", refused.stdout);
}

#[test]
fn under_human_an_agent_cannot_add_a_signer_or_switch_signatures_off() {
    let (folder, ann) = shared_story();
    let keys = folder.path();
    let (of_ann, of_agent) = (
        KeyPair::new(keys, "ann", ""),
        KeyPair::new(keys, "agent", ""),
    );
    let project = of_agent.used_by(ann.project);
    require_signatures(&project, &[("ann", &of_ann)]);
    project.configure("policy.approval", "\"human\"");
    project.ok(&["status"]);

    project.write(
        SIGNERS,
        format!("ann {}\nann {}\n", of_ann.public, of_agent.public),
    );
    let refused = approve_as(&project, "ann", "act-1");
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(
        refused.stdout.contains("is not listed"),
        "{}",
        refused.stdout
    );
    project.configure("policy.signatures", "\"off\"");
    let refused = approve_as(&project, "ann", "act-1");
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    let waiting = project.json(&["policy"])["waiting"].to_string();
    assert!(waiting.contains("policy.signatures"), "{waiting}");
    assert!(waiting.contains(&of_agent.public), "{waiting}");
    assert_eq!(run_with(&project, AGENT, &["policy", "accept"]).code, 1);
    assert_eq!(project.status("act-1"), "draft");

    // A person accepts the other key; the rule stays.
    project.configure("policy.signatures", "\"required\"");
    let accepted = project.run_as_person("ann", "y\n", &["policy", "accept"]);
    assert_eq!(accepted.code, 0, "{}", accepted.stdout);
    let approved = approve_as(&project, "ann", "act-1");
    assert_eq!(approved.code, 0, "{}", approved.stdout);
    assert_eq!(project.status("act-1"), "approved");
    // A line that is removed is out at once.
    project.write(SIGNERS, format!("ann {}\n", of_ann.public));
    assert_eq!(project.status("act-1"), "draft");
}

#[test]
fn without_files_nothing_can_be_signed_and_nothing_is_approved() {
    let project = story();
    project.write(Project::ACT, crate::ACT_TEXT);
    project.configure("policy.signatures", "\"required\"");
    let refused = approve_as(&project, "ann", "act-1");
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(
        refused.stdout.contains("decisions are not files here"),
        "{}",
        refused.stdout
    );
    assert_eq!(project.status("act-1"), "draft");
}
