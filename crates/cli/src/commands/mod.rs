//! Commands, one file each: clap arguments, the call of the use case, and the output of its
//! outcome.

mod adopt;
mod anchor;
mod approve;
mod backup;
mod brief;
mod check;
mod children;
mod claim;
mod comment;
mod compact;
mod completions;
mod demo;
mod diff;
mod doc;
mod doctor;
mod drift;
mod evidence;
mod flow;
mod focus;
mod gate;
mod generation;
mod hook;
mod host_choice;
mod host_files;
mod init;
mod intent;
mod invalidate;
mod join;
mod leave;
mod llm;
mod log;
mod man;
mod map;
mod mcp;
mod mem;
mod memory;
mod migrate;
mod move_state;
mod next;
mod novel;
mod plan;
mod policy;
mod progress;
mod prune;
mod rate;
mod rebuild;
mod reconcile;
mod reference;
mod release;
mod repair;
mod replay;
mod restore;
mod restore_backup;
mod revalidate;
mod review;
mod scan;
mod scenario;
mod secret;
mod serve;
mod session;
mod show;
mod status;
mod sync_hashes;
mod think_back;
mod tick;
mod ticket;
mod token;
mod trace;
mod tree;
mod undo;
mod uninstall;
mod versions;
mod wait;
mod where_am_i;
mod why;
mod write;

pub(crate) use self::doctor::{HookLatency, compute_latencies as hook_latencies};
use application::Failure;
use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use domain::expected_version::{ExpectedVersion, ExpectedVersions};

use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Positional argument for a node, as one word or two.
#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    /// The node: `chapter-02`, `act-1/chapter-02` or `chapter 2`
    #[arg(required = true, num_args = 1..=2, value_name = "NODE")]
    pub(crate) node: Vec<String>,
}

/// Precondition of a decision: the versions that were shown to the caller before it.
#[derive(Debug, Args)]
pub(crate) struct ShownArgs {
    /// Fail unless the plan is still this version (at least 8 digits of its hash)
    #[arg(long, value_name = "HASH")]
    version: Option<ExpectedVersion>,

    /// Fail unless the parent's plan is still this version
    #[arg(long, value_name = "HASH", requires = "version")]
    parent_version: Option<ExpectedVersion>,
}

impl ShownArgs {
    pub(crate) fn shown_versions(&self) -> Option<ExpectedVersions> {
        let version = self.version.clone()?;
        Some(ExpectedVersions {
            version,
            parent: self.parent_version.clone(),
        })
    }
}

/// Declares every command once: variant, name, and arguments type.
// A macro, because three places need the same list: the enum for clap's help, the dispatch, and the
// parser of a single command. Written by hand, a command missing in one of them would only be found
// by running it.
macro_rules! commands {
    ($($variant:ident $name:literal => $module:ident::$args:ident),+ $(,)?) => {
        /// The subcommand to run.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $(#[command(name = $name)] $variant($module::$args)),+
        }

        impl Command {
            /// Runs the command.
            pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
                match self {
                    $(Self::$variant(args) => args.run(app)),+
                }
            }

            /// Returns the parser of one command alone: building those of all commands takes longer
            /// than many a command does.
            pub(crate) fn parser_of(name: &str) -> Option<clap::Command> {
                match name {
                    $($name => Some($module::$args::augment_args(clap::Command::new($name))),)+
                    _ => None,
                }
            }

            /// Converts the matches of one command's parser.
            pub(crate) fn from_matches(name: &str, matches: &ArgMatches) -> Result<Self, clap::Error> {
                match name {
                    $($name => $module::$args::from_arg_matches(matches).map(Self::$variant),)+
                    _ => Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand)),
                }
            }
        }
    };
}

// In the order of `tl --help`: first steps, looking, planning, sessions, story, versions, care of
// the state, documents, hosts and servers.
commands! {
    Init "init" => init::InitArgs,
    Demo "demo" => demo::DemoArgs,
    Status "status" => status::StatusArgs,
    Tree "tree" => tree::TreeArgs,
    Show "show" => show::ShowArgs,
    Children "children" => children::ChildrenArgs,
    Next "next" => next::NextArgs,
    Where "where" => where_am_i::WhereArgs,
    Focus "focus" => focus::FocusArgs,
    Ticket "ticket" => ticket::TicketArgs,
    Scenario "scenario" => scenario::ScenarioArgs,
    Claim "claim" => claim::ClaimArgs,
    Release "release" => release::ReleaseArgs,
    Evidence "evidence" => evidence::EvidenceArgs,
    Plan "plan" => plan::PlanArgs,
    Approve "approve" => approve::ApproveArgs,
    Revalidate "revalidate" => revalidate::RevalidateArgs,
    Invalidate "invalidate" => invalidate::InvalidateArgs,
    Why "why" => why::WhyArgs,
    Wait "wait" => wait::WaitArgs,
    Comment "comment" => comment::CommentArgs,
    Progress "progress" => progress::ProgressArgs,
    Intent "intent" => intent::IntentArgs,
    Map "map" => map::MapArgs,
    Scan "scan" => scan::ScanArgs,
    ThinkBack "think-back" => think_back::ThinkBackArgs,
    Drift "drift" => drift::DriftArgs,
    Rate "rate" => rate::RateArgs,
    Compact "compact" => compact::CompactArgs,
    Prune "prune" => prune::PruneArgs,
    Migrate "migrate" => migrate::MigrateArgs,
    Session "session" => session::SessionArgs,
    Trace "trace" => trace::TraceArgs,
    Brief "brief" => brief::BriefArgs,
    Mem "mem" => mem::MemArgs,
    Anchor "anchor" => anchor::AnchorArgs,
    Memory "memory" => memory::MemoryArgs,
    Tick "tick" => tick::TickArgs,
    Write "write" => write::WriteArgs,
    Generation "generation" => generation::GenerationArgs,
    Novel "novel" => novel::NovelArgs,
    Llm "llm" => llm::LlmArgs,
    Versions "versions" => versions::VersionsArgs,
    Diff "diff" => diff::DiffArgs,
    Restore "restore" => restore::RestoreArgs,
    Log "log" => log::LogArgs,
    Undo "undo" => undo::UndoArgs,
    Check "check" => check::CheckArgs,
    Repair "repair" => repair::RepairArgs,
    Rebuild "rebuild" => rebuild::RebuildArgs,
    SyncHashes "sync-hashes" => sync_hashes::SyncHashesArgs,
    Adopt "adopt" => adopt::AdoptArgs,
    Backup "backup" => backup::BackupArgs,
    RestoreBackup "restore-backup" => restore_backup::RestoreBackupArgs,
    Move "move" => move_state::MoveArgs,
    Join "join" => join::JoinArgs,
    Leave "leave" => leave::LeaveArgs,
    Doc "doc" => doc::DocArgs,
    Flow "flow" => flow::FlowArgs,
    Review "review" => review::ReviewArgs,
    Reconcile "reconcile" => reconcile::ReconcileArgs,
    Gate "gate" => gate::GateArgs,
    Hook "hook" => hook::HookArgs,
    Replay "replay" => replay::ReplayArgs,
    Mcp "mcp" => mcp::McpArgs,
    Serve "serve" => serve::ServeArgs,
    Token "token" => token::TokenArgs,
    Policy "policy" => policy::PolicyArgs,
    Secret "secret" => secret::SecretArgs,
    Doctor "doctor" => doctor::DoctorArgs,
    Uninstall "uninstall" => uninstall::UninstallArgs,
    Completions "completions" => completions::CompletionsArgs,
    Man "man" => man::ManArgs,
    Reference "reference" => reference::ReferenceArgs,
}
