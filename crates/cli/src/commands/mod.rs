//! Commands, one file each: clap arguments, the call of the use case, and the output of its
//! outcome.

mod add;
mod adopt;
mod approve;
mod backup;
mod brief;
mod check;
mod check_ci;
mod children;
mod claim;
mod comment;
mod compact;
mod completions;
mod config;
mod conflicts;
mod decisions;
mod demo;
mod diff;
mod doc;
mod doctor;
mod drift;
mod evidence;
mod flow;
mod focus;
mod follow;
mod gate;
mod generation;
mod groups;
mod hook;
mod host_choice;
mod host_files;
mod import;
mod init;
mod insert;
mod install;
mod intent;
mod invalidate;
mod issuer;
mod join;
mod leave;
mod llm;
mod log;
mod man;
mod map;
mod mcp;
#[cfg(test)]
mod mcp_coverage;
mod memory;
mod memory_reread;
mod merge;
mod migrate;
mod move_plan;
mod move_state;
mod next;
mod note;
mod notify;
mod novel;
mod outline;
mod overlap;
pub(crate) mod overview;
mod plan;
mod plans_args;
mod policy;
mod progress;
mod prune;
mod rate;
mod rebuild;
mod reconcile;
mod reference;
mod release;
mod remove;
mod rename;
mod renumber;
mod repair;
mod replay;
mod request_changes;
mod restore;
mod restore_backup;
mod revalidate;
mod review;
mod run_story;
mod scan;
mod scenario;
mod search;
mod secret;
mod serve;
mod session;
mod shape_outcome;
mod show;
mod split;
mod stats;
mod status;
mod statusline;
mod submit;
mod sync_hashes;
mod think_back;
mod tick;
mod ticket;
mod token;
mod trace;
mod tree;
mod ui;
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

use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::wiring::App;

/// Positional argument for a node, as one word or two.
#[derive(Debug, Args)]
pub(crate) struct NodeArgs {
    /// The node: `chapter-02`, `act-1/chapter-02` or `chapter 2`
    #[arg(required = true, num_args = 1..=2, value_name = "NODE", add = node_completer())]
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

/// Declares every command once: variant, name, and arguments type; and the groups likewise.
// A macro, because three places need the same list: the enum for clap's help, the dispatch, and the
// parser of a single command. Written by hand, a command missing in one of them would only be found
// by running it.
macro_rules! commands {
    (
        { $($variant:ident $name:literal => $module:ident::$args:ident),+ $(,)? }
        groups { $($group:ident $group_name:literal => $group_args:ident),+ $(,)? }
    ) => {
        /// The subcommand to run.
        #[derive(Debug, Subcommand)]
        pub(crate) enum Command {
            $(#[command(name = $name)] $variant($module::$args),)+
            $(#[command(name = $group_name)] $group(groups::$group_args),)+
        }

        impl Command {
            /// Runs the command.
            pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
                match self {
                    $(Self::$variant(args) => args.run(app),)+
                    $(Self::$group(args) => args.run(app),)+
                }
            }

            /// Returns the parser of one command alone: building those of all commands takes longer
            /// than many a command does. `member` is the word after the name, for groups.
            pub(crate) fn parser_of(name: &str, member: Option<&str>) -> Option<clap::Command> {
                match name {
                    $($name => Some($module::$args::augment_args(clap::Command::new($name))),)+
                    $($group_name => groups::$group_args::parser_of(member?),)+
                    _ => None,
                }
            }

            /// Converts the matches of one command's parser.
            pub(crate) fn from_matches(name: &str, matches: &ArgMatches) -> Result<Self, clap::Error> {
                match name {
                    $($name => $module::$args::from_arg_matches(matches).map(Self::$variant),)+
                    $($group_name => {
                        groups::$group_args::from_arg_matches(matches).map(Self::$group)
                    })+
                    _ => Err(clap::Error::new(clap::error::ErrorKind::InvalidSubcommand)),
                }
            }
        }
    };
}

// In the order of the reference page, which is that of the sections in `help.rs`.
commands! {
    {
        Init "init" => init::InitArgs,
        Demo "demo" => demo::DemoArgs,
        Import "import" => import::ImportArgs,
        Completions "completions" => completions::CompletionsArgs,
        Man "man" => man::ManArgs,
        Status "status" => status::StatusArgs,
        Tree "tree" => tree::TreeArgs,
        Show "show" => show::ShowArgs,
        Plan "plan" => plan::PlanArgs,
        Approve "approve" => approve::ApproveArgs,
        Revalidate "revalidate" => revalidate::RevalidateArgs,
        Why "why" => why::WhyArgs,
        RequestChanges "request-changes" => request_changes::RequestChangesArgs,
        Children "children" => children::ChildrenArgs,
        Outline "outline" => outline::OutlineArgs,
        Stats "stats" => stats::StatsArgs,
        Invalidate "invalidate" => invalidate::InvalidateArgs,
        Ui "ui" => ui::UiArgs,
        Insert "insert" => insert::InsertArgs,
        Move "move" => move_plan::MovePlanArgs,
        Add "add" => add::AddArgs,
        Rename "rename" => rename::RenameArgs,
        Split "split" => split::SplitArgs,
        Merge "merge" => merge::MergeArgs,
        Remove "remove" => remove::RemoveArgs,
        Renumber "renumber" => renumber::RenumberArgs,
        Next "next" => next::NextArgs,
        Focus "focus" => focus::FocusArgs,
        Claim "claim" => claim::ClaimArgs,
        Ticket "ticket" => ticket::TicketArgs,
        Evidence "evidence" => evidence::EvidenceArgs,
        Note "note" => note::NoteArgs,
        Search "search" => search::SearchArgs,
        Where "where" => where_am_i::WhereArgs,
        Release "release" => release::ReleaseArgs,
        Overlap "overlap" => overlap::OverlapArgs,
        Progress "progress" => progress::ProgressArgs,
        Brief "brief" => brief::BriefArgs,
        Comment "comment" => comment::CommentArgs,
        Review "review" => review::ReviewArgs,
        Diff "diff" => diff::DiffArgs,
        Log "log" => log::LogArgs,
        Undo "undo" => undo::UndoArgs,
        Restore "restore" => restore::RestoreArgs,
        Versions "versions" => versions::VersionsArgs,
        Wait "wait" => wait::WaitArgs,
        Flow "flow" => flow::FlowArgs,
        Doc "doc" => doc::DocArgs,
        Gate "gate" => gate::GateArgs,
        Mcp "mcp" => mcp::McpArgs,
        Hook "hook" => hook::HookArgs,
        Statusline "statusline" => statusline::StatuslineArgs,
        Decisions "decisions" => decisions::DecisionsArgs,
        Serve "serve" => serve::ServeArgs,
        Submit "submit" => submit::SubmitArgs,
        Conflicts "conflicts" => conflicts::ConflictsArgs,
        Check "check" => check::CheckArgs,
        Config "config" => config::ConfigArgs,
        Policy "policy" => policy::PolicyArgs,
        Reference "reference" => reference::ReferenceArgs,
    }
    groups {
        Host "host" => HostArgs,
        Trail "trail" => TrailArgs,
        Story "story" => StoryArgs,
        Team "team" => TeamArgs,
        State "state" => StateArgs,
    }
}
