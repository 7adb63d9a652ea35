//! `tl tree`: prints the tree of plans.

use application::Failure;
use application::show_tree::show_tree;
use application::views::TreeView;
use clap::Args;
use domain::duplicate_ids::DUPLICATE_MARK;
use domain::node::{Progress, Status};
use domain::profile::Profile;

use super::status::first_step_hint;
use crate::completion::node_completer;
use crate::exit_code::ExitCode;
use crate::ui::{BOLD, DIM, Styled, Ui, WARN, render_node_status, styled, title_suffix};
use crate::wiring::App;

/// Show the tree, or a subtree
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tl tree\n  tl tree act 1\n  tl tree act-1/chapter-02 --json")]
pub(crate) struct TreeArgs {
    /// Root of the subtree [default: the whole tree]
    #[arg(num_args = 0..=2, value_name = "NODE", add = node_completer())]
    node: Vec<String>,
}

impl TreeArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        let (forest, has_tickets) = app.run(|ctx| {
            let is_tickets = |profile: &Profile| profile.name == "tickets";
            Ok((
                show_tree(ctx, &self.node)?,
                ctx.profiles.iter().any(is_tickets),
            ))
        })?;
        if app.ui.json {
            match (self.node.is_empty(), forest.first()) {
                // A named node is one object, the whole project a list, so that neither needs
                // unwrapping.
                (false, Some(tree)) => app.ui.print_json(tree),
                _ => app.ui.print_json(&forest),
            }
        } else if forest.is_empty() {
            app.ui.print_line(first_step_hint(has_tickets));
        } else {
            forest
                .iter()
                .for_each(|tree| print_subtree(app.ui, tree, "", ""));
        }
        Ok(ExitCode::Done)
    }
}

fn print_subtree(ui: Ui, node: &TreeView, branch: &str, indent: &str) {
    let title = title_suffix(node.title.as_deref());
    let progress = match node.progress {
        // Pending is the default of every node and would only add noise.
        Progress::Pending => Styled::default(),
        progress => styled(DIM, format!("  [{progress}]")),
    };
    let mark = match node.duplicate {
        true => styled(WARN, format!("  {DUPLICATE_MARK}")),
        false => Styled::default(),
    };
    // A draft that nobody has to approve is only a node.
    let (gap, status) = match node.status == Status::Draft && !node.asks_approval {
        true => ("", Styled::default()),
        false => ("  ", render_node_status(node.status)),
    };
    ui.print_line(format_args!(
        "{}{}{mark}{gap}{status}{title}{progress}",
        styled(DIM, branch),
        styled(BOLD, &node.entity_id),
    ));
    let last = node.children.len().saturating_sub(1);
    for (index, child) in node.children.iter().enumerate() {
        let (branch, more) = if index == last {
            ("└─ ", "   ")
        } else {
            ("├─ ", "│  ")
        };
        print_subtree(
            ui,
            child,
            &format!("{indent}{branch}"),
            &format!("{indent}{more}"),
        );
    }
}
