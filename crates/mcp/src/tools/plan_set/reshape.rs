//! The tool `plan_reshape`.

use application::place_file::{find_misplaced_file, place_file};
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
    /// add, insert, move: the parent; move: empty for the top
    #[serde(default)]
    under: Option<String>,
    /// insert, move: right before this plan
    #[serde(default)]
    before: Option<String>,
    /// insert, move: right after this plan
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
    if let Some(file) = arguments.bare_move()
        && find_misplaced_file(ctx, file).is_some()
    {
        return AnyObject::new(&place_file(ctx, file, dry_run)?);
    }
    let change = arguments.into_change()?;
    AnyObject::new(&change_shape(ctx, &ChangeShapeRequest { change, dry_run })?)
}

impl Arguments {
    /// Returns what is moved without a place: a misplaced file, whose place is known, needs none.
    fn bare_move(&self) -> Option<&str> {
        let is_move = matches!(self.action, Action::Move);
        let places = [&self.before, &self.after, &self.under];
        let is_bare = is_move && places.iter().all(|place| place.is_none());
        self.node.as_deref().filter(|_| is_bare)
    }

    /// Returns the plan beside which a new one is inserted.
    fn insertion_place(&self) -> Result<String, Failure> {
        let mut places = [&self.node, &self.before, &self.after]
            .into_iter()
            .flatten();
        let place = places.next().ok_or_else(|| {
            Failure::invalid("an insertion needs a place: `node`, `before` or `after`")
                .with_step("tl insert NODE")
                .with_step("tl insert NODE --after")
        })?;
        match places.find(|other| *other != place) {
            Some(other) => Err(Failure::invalid(format!(
                "`{place}` and `{other}` are two places; name one"
            ))),
            None => Ok(place.clone()),
        }
    }

    fn move_target(self) -> Result<MoveTarget, Failure> {
        match (self.before, self.after, self.under) {
            (Some(before), None, None) => Ok(MoveTarget::Before(before)),
            (None, Some(after), None) => Ok(MoveTarget::After(after)),
            (None, None, Some(under)) => {
                let under = Some(under).filter(|name| !name.trim().is_empty());
                Ok(MoveTarget::Under(under))
            }
            _ => {
                let node = self.node.unwrap_or_else(|| "NODE".to_owned());
                Err(
                    Failure::invalid("a move needs one place: `before`, `after` or `under`")
                        .with_step(format!("tl move {node} --before NODE"))
                        .with_step(format!("tl move {node} --under NODE")),
                )
            }
        }
    }

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
                place: words(self.insertion_place()?),
                after: self.after.is_some(),
                under: self.under,
                title: self.title,
            },
            Action::Move => ShapeChange::Move {
                node: node(self.node.clone())?,
                target: self.move_target()?,
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
