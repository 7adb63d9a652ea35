//! `tl hook HOST [EVENT]`: the hot path, run before and after every tool call of an agent.
//!
//! Reached before the command line parser exists: no logger, no async runtime, one short
//! transaction. Nothing goes to stderr, because some hosts read it as an answer. On an internal
//! error the agent may go on (fail-open), unless the gate that could not be evaluated is configured
//! fail-closed; the error is recorded in the ledger and reported in the next reply.

use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use application::handle_host_event::{
    EventContext, EventOutcome, ObservedCall, UnrecordedCall, handle_host_event, identifies_session,
};
use application::{Failure, run_for_value};
use domain::host_event::{Happening, Host, HostEvent, Reply, ToolCall, ToolKind};
use domain::ids::Principal;
use domain::operation::Channel;
use domain::policy::Policy;
use domain::ports::StoreFault;
use domain::profile::{BUILT_IN_PROFILES, Profile, built_in_profile};
use domain::typed_command::{self, TypedCommand};
use store::{DiskFiles, EngineSettings};

use crate::caller::{self, Caller};
use crate::hook_adoption::{add_adoption_notice, reply_for_unadopted};
use crate::hook_fault::HookFault;
use crate::hook_input::{self, Payload};
use crate::hook_ledger::{HookLedgerEntry, HookOutcome, LedgerFile};
use crate::hook_missed_calls::MissedCallNotes;
use crate::hook_news_mark::NewsMark;
use crate::last_good_settings::add_settings_problem;
use crate::settings;
use crate::use_case_runner::{CallerRule, UseCaseRunner};
use crate::weakened_gates::report_weakened_gates;
use crate::wiring::{Project, open_project_files};

/// Kill switch: turns every hook into a no-op.
const HOOKS_VARIABLE: &str = "THROUGHLINE_HOOKS";

/// Maximum number of mirror files written per commit, so that a large cascade does not delay the
/// agent. The next command writes the rest.
const MAX_MIRROR_FILES: usize = 8;

/// Runs one hook and prints its reply. `arguments` are those after `tl hook`.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    let start = Instant::now();
    let Some(host) = arguments
        .first()
        .and_then(|word| Host::from_word(word.to_str()?))
    else {
        let known = Host::ALL.map(Host::as_str).join(", ");
        let _ = writeln!(
            std::io::stderr(),
            "error: expected `tl hook HOST [EVENT]` with HOST one of {known}"
        );
        // Not 2, which blocks on every host: a wrong entry in its settings must not stop the agent.
        return ExitCode::from(1);
    };
    let host = caller::find_running_host(host);
    // A panic is recorded in the ledger. The default hook would print it to stderr, which a host
    // may take for an answer.
    std::panic::set_hook(Box::new(|_| {}));
    let event = arguments.get(1).and_then(|word| word.to_str());
    let outcome = catch_unwind(AssertUnwindSafe(|| handle_hook_event(host, event, start)));
    let printed = match outcome {
        Ok(printed) => printed,
        Err(_) => render_fault_reply(&HookFault::internal("it failed with a bug of its own")),
    };
    print_reply(&printed);
    // Also for a block, which is in the JSON: with another code Copilot drops the reason, and Codex
    // ignores the answer.
    ExitCode::SUCCESS
}

/// Writes the reply to stdout.
fn print_reply(text: &str) {
    if !text.is_empty() {
        // A host that closed the pipe has timed out and gone on; there is nobody to report to.
        let _ = std::io::stdout().write_all(text.as_bytes());
    }
}

/// Handles one event in every project it concerns, and returns the text to print.
fn handle_hook_event(host: Host, event: Option<&str>, start: Instant) -> String {
    // Started before stdin is read: a host that never closes the pipe would hang us there.
    start_watchdog_thread(host, event, start);
    let event = match parse_event_payload(host, event, hook_input::read_payload()) {
        Ok(Some(event)) => event,
        Ok(None) => return String::new(),
        Err(unread) => match claim_right_to_answer() {
            Some(_) => return unread.render_fallback_reply(start),
            None => park_forever(),
        },
    };
    let roots = find_project_roots(&event);
    let Some(first) = roots.first() else {
        return String::new();
    };
    let ledger = LedgerFile::in_project(first);
    if is_switched_off() {
        // Recorded all the same: later the ledger shows which calls passed without gates.
        ledger.append_entry(HookLedgerEntry::from_event(&event, start), HookOutcome::Off);
        return String::new();
    }
    enter_running_phase(RunningHook {
        event: event.clone(),
        ledger,
        start,
        fallback: Reply::default(),
        unrecorded: None,
    });
    let mut all = EventOutcome::default();
    // One failing project decides the whole reply: a write that touches two projects must not
    // pass because the other one's gates were content.
    for root in &roots {
        match handle_in_project(&event, root) {
            Ok(handled) => all = all.merge(handled),
            Err(failure) => return render_fault_reply(&failure.into()),
        }
    }
    render_and_record_reply(all)
}

/// An event whose payload could not be parsed completely: the parsed part and the error.
struct UnreadEvent {
    host: Host,
    event: Option<Box<HostEvent>>,
    why: String,
}

/// Parses the event of a payload; `None` for events that we do not handle.
fn parse_event_payload(
    host: Host,
    name: Option<&str>,
    payload: Payload,
) -> Result<Option<HostEvent>, UnreadEvent> {
    // Salvage gets tool name and path out of a truncated payload. That is enough for fail-closed
    // gates to refuse the write, which otherwise would pass unchecked.
    let salvaged = |bytes: &[u8]| {
        hosts::wire::read_event(host, name, bytes)
            .ok()
            .flatten()
            .map(Box::new)
    };
    match payload {
        Payload::Whole(bytes) => {
            hosts::wire::read_event(host, name, &bytes).map_err(|error| UnreadEvent {
                host,
                event: salvaged(&hosts::wire::salvage_payload(&bytes)),
                why: format!("its payload could not be read: {error}"),
            })
        }
        Payload::Partial { bytes, why } => Err(UnreadEvent {
            host,
            event: salvaged(&bytes),
            why,
        }),
    }
}

impl UnreadEvent {
    /// Records the fault and renders the fallback reply, for as much as is known of the event.
    fn render_fallback_reply(self, start: Instant) -> String {
        if is_switched_off() {
            return String::new();
        }
        let Self { host, event, why } = self;
        // Not even the tool is known, so no gate can apply; the fault is all that is left to
        // record.
        let Some(event) = event else {
            if let Some(root) = std::env::current_dir()
                .ok()
                .and_then(|here| store::Layout::find_project_root(&here))
            {
                LedgerFile::in_project(&root)
                    .record_fault(HookLedgerEntry::without_event(host, "?", start), &why);
            }
            return String::new();
        };
        let roots = find_project_roots(&event);
        let Some(first) = roots.first() else {
            return String::new();
        };
        // Before the settings are read: they may be on the disk that hangs.
        LedgerFile::in_project(first)
            .record_fault(HookLedgerEntry::from_event(&event, start), &why);
        let block = roots
            .iter()
            .find_map(|root| fallback_for_project(&event, root).block);
        let block = block.map(|text| text.replace("@WHY@", &why));
        hosts::wire::render_reply(
            &event,
            &Reply {
                block,
                ..Reply::default()
            },
        )
    }
}

/// Returns the reply for a project whose gates could not be evaluated.
fn fallback_for_project(event: &HostEvent, root: &Path) -> Reply {
    let Ok(files) = DiskFiles::open(root) else {
        return Reply::default();
    };
    // Settings that are broken and were never good must not switch the gates off: then the defaults
    // decide.
    let (profiles, policy) = match Project::load_for_hook_or_last_good(root) {
        Ok((project, _)) => (project.profiles, project.settings.policy),
        Err(_) => (built_in_profiles(), Policy::default()),
    };
    let call = ObservedCall::from_event(&files, &profiles, event);
    let reply = fallback_reply(event, &call, &files, &policy);
    match &event.happening {
        // A write to an unknown path may be a write to a plan.
        Happening::ToolAboutToRun(call)
            if reply.block.is_none() && call.touches.is_empty() && is_file_write(call) =>
        {
            Reply {
                block: policy
                    .gates
                    .fail_closed
                    .first()
                    .map(|gate| unchecked_message(gate, "a write to an unknown file")),
                ..reply
            }
        }
        _ => reply,
    }
}

fn is_file_write(call: &ToolCall) -> bool {
    matches!(
        call.kind,
        ToolKind::Write | ToolKind::Edit | ToolKind::Delete
    )
}

fn built_in_profiles() -> Vec<Profile> {
    BUILT_IN_PROFILES
        .iter()
        .filter_map(|(name, _)| built_in_profile(name))
        .collect()
}

fn is_switched_off() -> bool {
    settings::environment_variable(HOOKS_VARIABLE)
        .is_some_and(|word| matches!(word.as_str(), "off" | "0" | "false"))
}

/// Returns the roots of the projects an event concerns, mostly one: those of the host's working
/// directory, of our own, and of the files of the tool call, because a session in one project can
/// write into another.
fn find_project_roots(event: &HostEvent) -> Vec<PathBuf> {
    let here = std::env::current_dir().ok();
    let said = event
        .directory
        .as_deref()
        .map(PathBuf::from)
        .filter(|directory| directory.is_absolute());
    let base = said.clone().or_else(|| here.clone()).unwrap_or_default();
    let touched = event
        .happening
        .tool_call()
        .into_iter()
        .flat_map(|call| &call.touches);
    // Symbolic links are resolved: a link into another project's plans is a write there.
    let folders = touched.filter_map(|touch| {
        store::resolve_links(&base.join(&touch.path))?
            .parent()
            .map(Path::to_owned)
    });
    let mut asked: Vec<PathBuf> = Vec::new();
    let mut roots: Vec<PathBuf> = Vec::new();
    for folder in said.into_iter().chain(here).chain(folders) {
        // Mostly they are the same, and each search is one `stat` per directory upwards.
        if asked.contains(&folder) {
            continue;
        }
        roots
            .extend(store::Layout::find_project_root(&folder).filter(|root| !roots.contains(root)));
        asked.push(folder);
    }
    roots
}

/// Evaluates the event in one project.
fn handle_in_project(event: &HostEvent, root: &Path) -> Result<EventOutcome, Failure> {
    let files = open_project_files(root)?;
    let loaded = Project::load_for_hook_or_last_good(root);
    let (project, settings_problem) = loaded.inspect_err(|_| {
        // Without settings, plans are looked for by the built-in profiles and the default gates
        // apply. Failing open here would let an agent disable the gates by breaking the file.
        let profiles = built_in_profiles();
        let call = ObservedCall::from_event(&files, &profiles, event);
        set_fallback_reply(fallback_reply(event, &call, &files, &Policy::default()));
    })?;
    let policy = &project.settings.policy;
    let ledger = LedgerFile::in_project(root);
    let call = ObservedCall::from_event(&files, &project.profiles, event);
    // Before the state is opened: these gates must hold when it cannot be.
    if let Some(refused) = call.refuse_without_state(event, policy) {
        return Ok(refused);
    }
    let mark = NewsMark::of_event(&project, event);
    let may_have_news = mark.as_ref().is_some_and(NewsMark::is_outdated);
    // Opening the store takes about 1 ms of CPU; most calls do not need it.
    if !call.concerns_state(event, policy) && !may_have_news {
        return Ok(match settings_problem {
            Some(problem) => {
                add_settings_problem(EventOutcome::default(), event, &problem, &ledger)
            }
            None => report_weakened_gates(EventOutcome::default(), event, &project),
        });
    }
    set_fallback_reply(fallback_reply(event, &call, &files, policy));
    let missed = MissedCallNotes::of_session(root, &event.session);
    set_unrecorded_call(
        call.unrecorded_call(event)
            .map(|call| (missed.clone(), call)),
    );
    DEADLINE_MS.store(policy.hook_deadline_ms, Ordering::Relaxed);
    let handled = evaluate_on_state(event, &project, &files, &call, &missed, may_have_news)?;
    if let Some(mark) = mark {
        mark.save();
    }
    // It is recorded now; a fault from here on must not leave a note that records it again.
    set_unrecorded_call(None);
    match settings_problem {
        Some(problem) => Ok(add_settings_problem(handled, event, &problem, &ledger)),
        None => Ok(report_weakened_gates(handled, event, &project)),
    }
}

/// Opens the store and evaluates the event on the state.
fn evaluate_on_state(
    event: &HostEvent,
    project: &Project,
    files: &DiskFiles,
    call: &ObservedCall<'_>,
    missed: &MissedCallNotes,
    may_have_news: bool,
) -> Result<EventOutcome, Failure> {
    let policy = &project.settings.policy;
    let (missed_calls, missed_bytes) = missed.read_calls();
    // A quarter for the lock and half for retries leave time to answer before the watchdog does.
    let deadline = Duration::from_millis(policy.hook_deadline_ms);
    let engine = EngineSettings {
        patience: deadline / 4,
        mirror_files: MAX_MIRROR_FILES,
        ..project.store_engine_settings()
    };
    let ledger = LedgerFile::in_project(&project.root);
    let faults = ledger.render_pending_faults();
    // Walking /proc costs a file per ancestor, so only events that name a session do it.
    let host_process = identifies_session(event)
        .then(caller::find_host_process)
        .flatten();
    let store = match project.open_store_quietly(&engine, None) {
        Err(StoreFault::Foreign { .. }) => {
            let rules = (project.profiles.as_slice(), policy);
            return Ok(reply_for_unadopted(event, &call.plans, rules, &ledger));
        }
        opened => opened?,
    };
    let warnings = RefCell::new(Vec::new());
    let runner = UseCaseRunner {
        project,
        files,
        caller: CallerRule::Known(&Caller::from_host_session(
            event.host.as_str(),
            &event.session,
        )),
        channel: Channel::Hook,
        commands: None,
        policy: None,
        retry_time: deadline / 2,
        report: &|report| {
            for recovery in &report.recoveries {
                project.append_log_message(&recovery.message);
            }
            // Those of the last attempt: an earlier one was not recorded.
            warnings.replace(report.warnings);
        },
    };
    let reopen = |damage: &str| project.open_store_quietly(&engine, Some(damage));
    let mut handled = run_for_value(
        |use_case| runner.run_with_repair(store, &reopen, use_case),
        &mut |ctx| {
            let person = Principal::Human(settings::local_user_name());
            let person =
                settings::effective_principal(ctx.store.remote_principal(), person, ctx.policy);
            let surroundings = EventContext {
                person: &person,
                plans: &call.plans,
                files: &call.files,
                faults: faults.as_deref(),
                missed: &missed_calls,
                host_process: host_process.as_ref(),
                may_have_news,
            };
            let handled = handle_host_event(ctx, event, &surroundings)?;
            Ok(add_adoption_notice(
                handled,
                event,
                ctx.unadopted_decisions(),
                &ledger,
            ))
        },
    )?;
    append_masked_notices(&mut handled, warnings.take());
    if handled.missed_recorded && !missed_calls.is_empty() {
        missed.remove_recorded(missed_bytes);
    }
    // Only now: a reply that was never produced must not swallow the report.
    if handled.faults_told {
        ledger.clear_faults();
    }
    Ok(handled)
}

/// Appends notices about masked secrets to the reply. Other store warnings are for people and are
/// printed by the next command.
fn append_masked_notices(handled: &mut EventOutcome, warnings: Vec<String>) {
    for warning in warnings
        .into_iter()
        .filter(|warning| warning.starts_with("masked "))
    {
        let context = handled.reply.context.take();
        let line = format!("Throughline {warning}.");
        handled.reply.context =
            Some(context.map_or_else(|| line.clone(), |context| format!("{context}\n{line}")));
    }
}

/// Returns the reply for the case that the gates cannot be evaluated: blocks what a fail-closed
/// gate would have had to check.
fn fallback_reply(
    event: &HostEvent,
    call: &ObservedCall<'_>,
    files: &DiskFiles,
    policy: &Policy,
) -> Reply {
    let unasked = match &event.happening {
        Happening::ToolAboutToRun(_) => call
            .find_unchecked(files, policy)
            .map(|(gate, subject)| (gate, format!("`{subject}`"))),
        // Typed commands are carried out by us alone; passing them on would make the agent try.
        Happening::PromptSubmitted { prompt } => match typed_command::parse_typed_command(prompt) {
            Some(TypedCommand::Plan { level, id }) => {
                Some(("hierarchy", format!("planning {level} {id}")))
            }
            Some(TypedCommand::Approve { node }) => {
                Some(("hierarchy", format!("approving {}", node.join(" "))))
            }
            // Not a decision: without the state, the agent reads the word and can ask.
            Some(TypedCommand::AcceptTicket) | None => None,
        },
        _ => None,
    };
    let block = unasked.map(|(gate, what)| unchecked_message(gate, &what));
    Reply {
        block,
        ..Reply::default()
    }
}

/// Renders the refusal of a fail-closed gate that could not be evaluated. `@WHY@` is replaced when
/// the cause is known: the watchdog uses a text that was prepared before anything went wrong.
fn unchecked_message(gate: &str, what: &str) -> String {
    format!(
        "Throughline could not check this step ({gate} gate, {what}): @WHY@. This is an error in Throughline, not a rule.\n  \
         next: try again in a moment\n  next: tl host doctor   # what is wrong?"
    )
}

/// What the watchdog and the panic handler need for replying instead of the hook.
struct RunningHook {
    event: HostEvent,
    ledger: LedgerFile,
    start: Instant,
    fallback: Reply,
    /// A finished call that is not recorded yet, and where to note it.
    unrecorded: Option<(MissedCallNotes, UnrecordedCall)>,
}

/// State machine of the reply: exactly one thread, hook or watchdog, moves it to `Answered` and
/// prints. Two replies would be invalid JSON for the host.
enum HookPhase {
    /// The event is not parsed yet.
    Reading,
    Running(Box<RunningHook>),
    Answered,
}

static PHASE: Mutex<HookPhase> = Mutex::new(HookPhase::Reading);

/// Runs a closure on the phase. Poisoning is ignored: the panic handler needs the phase to reply.
fn with_phase<T>(use_it: impl FnOnce(&mut HookPhase) -> T) -> T {
    use_it(
        &mut PHASE
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner),
    )
}

/// Enters `Running`, unless the watchdog has answered already.
fn enter_running_phase(running: RunningHook) {
    let is_late = with_phase(|phase| match phase {
        HookPhase::Answered => true,
        HookPhase::Reading | HookPhase::Running(_) => {
            *phase = HookPhase::Running(Box::new(running));
            false
        }
    });
    if is_late {
        park_forever();
    }
}

/// Blocks this thread forever. The watchdog replies and exits the process; returning would let
/// `main` exit before it has printed.
fn park_forever() -> ! {
    loop {
        std::thread::park();
    }
}

fn set_fallback_reply(fallback: Reply) {
    with_phase(|phase| {
        if let HookPhase::Running(running) = phase {
            running.fallback = fallback;
        }
    });
}

fn set_unrecorded_call(unrecorded: Option<(MissedCallNotes, UnrecordedCall)>) {
    with_phase(|phase| {
        if let HookPhase::Running(running) = phase {
            running.unrecorded = unrecorded;
        }
    });
}

/// Claims the right to answer; `None` if it is taken.
fn claim_right_to_answer() -> Option<HookPhase> {
    match with_phase(|phase| std::mem::replace(phase, HookPhase::Answered)) {
        HookPhase::Answered => None,
        phase => Some(phase),
    }
}

/// Claims the right to answer a parsed event.
fn take_running_hook() -> Option<Box<RunningHook>> {
    match claim_right_to_answer() {
        Some(HookPhase::Running(running)) => Some(running),
        Some(HookPhase::Reading) => None,
        Some(HookPhase::Answered) | None => park_forever(),
    }
}

/// Renders the reply and records the event in the ledger.
fn render_and_record_reply(handled: EventOutcome) -> String {
    let Some(running) = take_running_hook() else {
        return String::new();
    };
    let printed = hosts::wire::render_reply(&running.event, &handled.reply);
    let outcome = match (&handled.reply.block, printed.is_empty()) {
        (Some(_), _) => HookOutcome::Block,
        (None, false) => HookOutcome::Context,
        (None, true) => HookOutcome::Pass,
    };
    let mut entry = HookLedgerEntry::from_event(&running.event, running.start);
    entry.gate = handled
        .blocked
        .first()
        .or(handled.warned.first())
        .map(|fired| fired.gate);
    entry.plan = handled
        .blocked
        .first()
        .or(handled.warned.first())
        .map(|fired| fired.subject.clone());
    running.ledger.append_entry(entry, outcome);
    printed
}

/// Returns the fallback reply after a failure or panic of the hook.
fn render_fault_reply(fault: &HookFault) -> String {
    take_running_hook().map_or_else(String::new, |running| {
        record_and_render_fault(*running, fault)
    })
}

/// Records the fault and renders the prepared fallback, with a notice where it is read.
fn record_and_render_fault(running: RunningHook, fault: &HookFault) -> String {
    running.ledger.record_fault(
        HookLedgerEntry::from_event(&running.event, running.start),
        &fault.why,
    );
    if let Some((missed, call)) = running.unrecorded {
        missed.append_call(call);
    }
    let mut reply = running.fallback;
    reply.block = reply.block.map(|text| text.replace("@WHY@", &fault.why));
    let reply = fault.add_notice(reply, &running.event);
    hosts::wire::render_reply(&running.event, &reply)
}

/// Deadline of the watchdog: the environment's or the default, until the settings are read.
static DEADLINE_MS: AtomicU64 = AtomicU64::new(0);

/// Starts the watchdog, which replies with the fallback at the deadline: neither a hung disk nor a
/// host that does not close its end of the pipe may hang the agent.
#[expect(clippy::exit, reason = "the thread that hangs cannot be asked to end")]
fn start_watchdog_thread(host: Host, name: Option<&str>, start: Instant) {
    let name = name.map(str::to_owned);
    let said = settings::environment_variable("THROUGHLINE_HOOK_DEADLINE_MS")
        .and_then(|text| text.parse().ok());
    DEADLINE_MS.store(
        said.unwrap_or_else(|| Policy::default().hook_deadline_ms),
        Ordering::Relaxed,
    );
    let watchdog = move || {
        let deadline = || Duration::from_millis(DEADLINE_MS.load(Ordering::Relaxed));
        // Read again after each sleep: the settings may have moved the deadline meanwhile.
        while let Some(left) = deadline()
            .checked_sub(start.elapsed())
            .filter(|left| !left.is_zero())
        {
            std::thread::sleep(left);
        }
        let late = format!("it took longer than {} ms", deadline().as_millis());
        let printed = match claim_right_to_answer() {
            Some(HookPhase::Running(running)) => {
                record_and_render_fault(*running, &HookFault::internal(&late))
            }
            Some(HookPhase::Reading) => {
                let arrived = Payload::Partial {
                    bytes: hook_input::salvage_received_bytes(),
                    why: late,
                };
                let (answer, answered) = std::sync::mpsc::channel();
                // On a thread of its own, because it reads the settings, which may hang too. Then
                // the host gets an empty reply one deadline later.
                let _ = std::thread::Builder::new().spawn(move || {
                    let unread = parse_event_payload(host, name.as_deref(), arrived).err();
                    let _ = answer
                        .send(unread.map_or_else(String::new, |unread| {
                            unread.render_fallback_reply(start)
                        }));
                });
                answered.recv_timeout(deadline()).unwrap_or_default()
            }
            // The hook is about to print its reply; if writing it hangs as well, we exit without.
            Some(HookPhase::Answered) | None => {
                std::thread::sleep(deadline());
                String::new()
            }
        };
        print_reply(&printed);
        std::process::exit(0);
    };
    // A small stack, because it is mapped for every hook. If no thread can be started, the host's
    // own timeout is the only one left.
    let _ = std::thread::Builder::new()
        .stack_size(64 * 1024)
        .spawn(watchdog);
}
