//! Probe events: sends a harmless event, reading a file that is not a plan, through a configured
//! command line.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use hosts::install::HookEntry;
use hosts::{HostSpec, ToolCallSample};
use serde::Serialize;
use serde_json::{Value, json};

use crate::commands::host_choice::path_outside;

/// Session name of probe events.
pub(super) const PROBE_SESSION: &str = "throughline-doctor";

const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of an answer. A longer one is not a valid answer.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;

/// A successful probe.
#[derive(Debug, Serialize)]
pub(super) struct Probe {
    pub(super) what: String,
    pub(super) micros: u64,
}

/// Sends an event to the program of a host's hooks, with the arguments of our entries.
///
/// The program is the trusted one under its real path, without a shell. The line in the file may name
/// it by a link that means another program in another process, such as `/proc/self/exe`.
pub(super) fn probe_hook_command(
    spec: &HostSpec,
    entry: &HookEntry,
    program: &Path,
    root: &Path,
) -> Result<Probe, String> {
    let arguments = ["hook".to_owned(), spec.host.as_str().to_owned()];
    let what = match entry.event.as_str() {
        "" => "answered".to_owned(),
        event => format!("answered {event}"),
    };
    let ran = run(
        "the hook",
        &program.display().to_string(),
        &arguments,
        root,
        probe_payload(spec, root).to_string().as_bytes(),
    )?;
    let answer = ran.stdout.trim();
    // No output means "no objection". Anything else has to be JSON: hosts let the call pass if it
    // is not, so a stray line would switch the gates off.
    if !answer.is_empty() && serde_json::from_str::<Value>(answer).is_err() {
        return Err(format!(
            "the hook did not print JSON: {}",
            first_line_truncated(answer)
        ));
    }
    Ok(Probe {
        what,
        micros: ran.micros,
    })
}

/// Loads a plugin in node by the host's script, which calls its gate.
pub(super) fn probe_plugin(
    node: &Path,
    script: &str,
    plugin: &str,
    root: &Path,
) -> Result<Probe, String> {
    let arguments = [
        "--input-type=module".to_owned(),
        "-e".to_owned(),
        script.to_owned(),
    ];
    let ran = run(
        "the plugin",
        &node.display().to_string(),
        &arguments,
        root,
        plugin.as_bytes(),
    )?;
    Ok(Probe {
        what: "the plugin loads in node, and its gate answered".to_owned(),
        micros: ran.micros,
    })
}

/// Starts the MCP server as a host would, and requests its tools.
pub(super) fn probe_mcp_server(program: &Path, root: &Path) -> Result<Probe, String> {
    // The full handshake of a real client; a server that only starts could still fail there.
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": PROBE_SESSION, "version": "1" },
        },
    });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let ran = run(
        "the MCP server",
        &program.display().to_string(),
        &["mcp".to_owned()],
        root,
        format!("{hello}\n{ready}\n{list}\n").as_bytes(),
    )?;
    let answers = ran
        .stdout
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let tools = answers
        .filter(|answer| answer["id"] == 2)
        .find_map(|answer| answer["result"]["tools"].as_array().cloned());
    match tools {
        Some(tools) if !tools.is_empty() => Ok(Probe {
            what: format!("the MCP server offers {} tools", tools.len()),
            micros: ran.micros,
        }),
        _ => Err(format!(
            "the MCP server did not list its tools: {}",
            first_line_truncated(ran.stdout.trim())
        )),
    }
}

/// Returns a probe event in the host's own format.
fn probe_payload(spec: &HostSpec, root: &Path) -> Value {
    let directory = root.display().to_string();
    // A file that does not exist and matches no plan: the gates have nothing to object to.
    let file = format!("{directory}/throughline-doctor.txt");
    let (tool, path_field) = spec.read_tool;
    (spec.render_sample)(&ToolCallSample {
        session: PROBE_SESSION,
        directory: &directory,
        tool,
        input: &json!({ path_field: file }),
    })
}

struct ProgramOutput {
    stdout: String,
    micros: u64,
}

/// Runs a program to its end. Fails on a timeout, an exit code other than 0, or output on stderr,
/// which some hosts read as an answer. `what` names the program in messages.
fn run(
    what: &str,
    program: &str,
    arguments: &[String],
    directory: &Path,
    input: &[u8],
) -> Result<ProgramOutput, String> {
    let start = Instant::now();
    let mut child = new_command(program)
        .args(arguments)
        .current_dir(directory)
        // A plugin starts `tl` by its name, and its host is not asked to find it here.
        .env("PATH", path_outside(directory))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    let (sender, receiver) = mpsc::channel();
    let pipes: [Option<Box<dyn Read + Send>>; 2] = [
        child
            .stdout
            .take()
            .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
        child
            .stderr
            .take()
            .map(|pipe| Box::new(pipe) as Box<dyn Read + Send>),
    ];
    // Both pipes are drained in parallel: a program that fills the one we do not read would block
    // forever.
    for (index, pipe) in pipes.into_iter().enumerate() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(pipe) = pipe {
                let _ = pipe.take(MAX_ANSWER_BYTES).read_to_end(&mut bytes);
            }
            let _ = sender.send((index, bytes));
        });
    }
    if let Some(mut pipe) = child.stdin.take() {
        let input = input.to_vec();
        // On a thread: a program that does not read its input must not block us.
        std::thread::spawn(move || pipe.write_all(&input));
    }
    // Output first, exit code second: a process that has exited may have left children that keep
    // the pipes open, and a hook that does so hangs its host.
    let mut texts = [String::new(), String::new()];
    let mut status = None;
    let too_long = || format!("{what} did not end within {} s", PROBE_TIMEOUT.as_secs());
    for _ in 0..2 {
        let Ok((index, bytes)) =
            receiver.recv_timeout(PROBE_TIMEOUT.saturating_sub(start.elapsed()))
        else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(too_long());
        };
        if let Some(text) = texts.get_mut(index) {
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
    }
    while status.is_none() {
        status = child.try_wait().map_err(|error| error.to_string())?;
        if status.is_none() && start.elapsed() > PROBE_TIMEOUT {
            let _ = child.kill();
            let _ = child.wait();
            return Err(too_long());
        }
        if status.is_none() {
            // Polled, because `Child` has no wait with a timeout; the pipes are closed, so it is
            // about to exit.
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
    let [stdout, stderr] = texts;
    match status.and_then(|status| status.code()) {
        Some(0) if stderr.trim().is_empty() => Ok(ProgramOutput { stdout, micros }),
        Some(0) => Err(format!(
            "{what} wrote to stderr, which some hosts read as an answer: {}",
            first_line_truncated(&stderr)
        )),
        Some(code) => Err(format!(
            "{what} ended with exit code {code}: {}",
            first_line_truncated(&stderr)
        )),
        None => Err(format!("{what} was killed")),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the doctor starts what the hosts start, to prove that it answers"
)]
pub(super) fn new_command(program: &str) -> Command {
    Command::new(program)
}

fn first_line_truncated(text: &str) -> String {
    text.lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(200)
        .collect()
}
