//! The tool `plan_reshape`.

use application::shape::{ChangeShapeRequest, MoveTarget, ShapeChange, change_shape};
use application::{Context, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::tools::arguments::AnyObject;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// close-gaps numbers its children without gaps; without a node, the plans at the top
    action: Action,
    /// the plan; insert: the place of the new one; add: not used
    #[serde(default)]
    node: Option<String>,
    /// add: the level of the new plan
    #[serde(default)]
    level: Option<String>,
    /// add, insert, move: the parent
    #[serde(default)]
    under: Option<String>,
    /// move: right before this plan
    #[serde(default)]
    before: Option<String>,
    /// move: right after this plan
    #[serde(default)]
    after: Option<String>,
    /// add: instead of a number; rename, renumber: the new name, number or id
    #[serde(default)]
    name: Option<String>,
    /// add, insert, split: of the new plan
    #[serde(default)]
    title: Option<String>,
    /// split: the heading or line where the second part begins
    #[serde(default)]
    at: Option<String>,
    /// split: the first child that goes to the second part
    #[serde(default)]
    children_from: Option<String>,
    /// merge: the plan that stays
    #[serde(default)]
    into: Option<String>,
    /// only list the files and statuses that would change
    #[serde(default)]
    dry_run: bool,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Action {
    Add,
    Insert,
    Move,
    Rename,
    Renumber,
    // A doc comment here would take the word out of the list of the schema.
    CloseGaps,
    Split,
    Merge,
    Remove,
}

pub(super) fn run(ctx: &Context<'_>, arguments: Arguments) -> Result<AnyObject, Failure> {
    let dry_run = arguments.dry_run;
    let change = arguments.into_change()?;
    AnyObject::new(&change_shape(ctx, &ChangeShapeRequest { change, dry_run })?)
}

impl Arguments {
    fn into_change(self) -> Result<ShapeChange, Failure> {
        // The arguments of all actions are one flat object, because clients reject unions. What an
        // action needs is therefore checked here and not by the schema.
        let required = |value: Option<String>, name: &str| {
            value.ok_or_else(|| Failure::invalid(format!("`{name}` is missing for this action")))
        };
        let words = |name: String| name.split_whitespace().map(str::to_owned).collect();
        let node = |value| required(value, "node").map(words);
        Ok(match self.action {
            Action::Add => ShapeChange::Add {
                level: required(self.level, "level")?,
                under: self.under,
                name: self.name,
                title: self.title,
            },
            Action::Insert => ShapeChange::Insert {
                place: node(self.node)?,
                under: self.under,
                after: false,
                title: self.title,
            },
            Action::Move => ShapeChange::Move {
                node: node(self.node)?,
                target: match (self.before, self.after, self.under) {
                    (Some(before), _, _) => MoveTarget::Before(before),
                    (_, Some(after), _) => MoveTarget::After(after),
                    (_, _, under) => MoveTarget::Under(Some(required(under, "under")?)),
                },
            },
            Action::Rename => ShapeChange::Renumber {
                node: node(self.node)?,
                id: Some(required(self.name, "name")?),
            },
            Action::Renumber => ShapeChange::Renumber {
                node: node(self.node)?,
                id: self.name,
            },
            Action::CloseGaps => ShapeChange::CloseGaps {
                node: self.node.map_or_else(Vec::new, words),
            },
            Action::Split => ShapeChange::Split {
                node: node(self.node)?,
                at: required(self.at, "at")?,
                title: self.title,
                children_from: self.children_from,
            },
            Action::Merge => ShapeChange::Merge {
                node: node(self.node)?,
                into: required(self.into, "into").map(words)?,
            },
            Action::Remove => ShapeChange::Remove {
                node: node(self.node)?,
            },
        })
    }
}
