//! The form of a change of shape: its fields, the change they ask for, and how they are rendered.

use application::Failure;
use application::inbox::PlanName;
use application::shape::{MoveTarget, ShapeChange, ShapeChoices};
use maud::{Markup, html};
use serde::Deserialize;

use crate::urls;

/// A kind of change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShapeKind {
    Insert,
    Move,
    Rename,
    Split,
    Merge,
    /// The children of the plan, without gaps.
    Renumber,
    Remove,
}

impl ShapeKind {
    /// Every kind, in the order of its links.
    pub(crate) const ALL: [Self; 7] = [
        Self::Insert,
        Self::Move,
        Self::Rename,
        Self::Split,
        Self::Merge,
        Self::Renumber,
        Self::Remove,
    ];

    /// Returns its word in addresses.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Move => "move",
            Self::Rename => "rename",
            Self::Split => "split",
            Self::Merge => "merge",
            Self::Renumber => "renumber",
            Self::Remove => "remove",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Returns the words before the plan's title.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Insert => "Insert beside",
            Self::Move => "Move",
            Self::Rename => "Rename",
            Self::Split => "Split",
            Self::Merge => "Merge",
            Self::Renumber => "Renumber below",
            Self::Remove => "Remove",
        }
    }

    /// Returns the words of the button that does it.
    pub(crate) fn button(self) -> &'static str {
        match self {
            Self::Insert => "Insert it",
            Self::Move => "Move it",
            Self::Rename => "Rename it",
            Self::Split => "Split it",
            Self::Merge => "Merge them",
            Self::Renumber => "Renumber them",
            Self::Remove => "Remove it",
        }
    }

    /// Says what it does.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Insert => {
                "A new plan comes before or after it; those that follow get the next number."
            }
            Self::Move => "It goes to another place, with its files and everything below it.",
            Self::Rename => {
                "It gets another name, number or id, and every reference to it follows. The title is in its text."
            }
            Self::Split => {
                "The text from a heading on becomes a new plan right after it. Both are drafts."
            }
            Self::Merge => {
                "Its text and prose go to the end of the other plan, with its children and open comments."
            }
            Self::Renumber => "The plans directly below it are numbered without gaps.",
            Self::Remove => "It goes, with everything below it. The other numbers stay.",
        }
    }

    /// Returns the key of the message about what was done.
    pub(crate) fn done_word(self) -> &'static str {
        match self {
            Self::Insert => "inserted",
            Self::Move => "moved",
            Self::Rename => "renamed",
            Self::Split => "split",
            Self::Merge => "merged",
            Self::Renumber => "renumbered",
            Self::Remove => "removed",
        }
    }
}

/// A change of a plan's shape, of which parts may be missing.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ShapeForm {
    /// A [`ShapeKind`].
    pub(crate) change: String,
    pub(crate) node: String,
    /// `before`, `after` or `under`.
    place: String,
    /// The plan beside or below which it goes, or into which it is merged.
    target: String,
    name: String,
    title: String,
    /// The heading or the line at which the text is split.
    at: String,
    /// The first child that goes to the second part.
    from: String,
    /// Whether the form was filled in.
    preview: String,
    /// Digest of the preview that was on the page.
    pub(crate) seen: String,
}

/// Returns a field that has a text.
fn given(text: &str) -> Option<String> {
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn require(text: &str, what: &str) -> Result<String, Failure> {
    given(text).ok_or_else(|| Failure::invalid(format!("{what} is missing")))
}

impl ShapeForm {
    /// Returns the fields that say what is asked for.
    pub(crate) fn list_fields(&self) -> [(&'static str, &str); 8] {
        [
            ("change", &self.change),
            ("node", &self.node),
            ("place", &self.place),
            ("target", &self.target),
            ("name", &self.name),
            ("title", &self.title),
            ("at", &self.at),
            ("from", &self.from),
        ]
    }

    /// Returns the plans that it names.
    pub(crate) fn list_named_plans(&self) -> impl Iterator<Item = &str> {
        [self.node.as_str(), self.target.as_str(), self.from.as_str()].into_iter()
    }

    /// Returns the address of the page with the preview of this form.
    pub(crate) fn preview_url(&self, kind: ShapeKind) -> String {
        let fields = self.list_fields().into_iter();
        let mut asked: Vec<(&str, &str)> = fields.filter(|(name, _)| *name != "change").collect();
        asked.push(("preview", "1"));
        urls::with_query(&format!("/shape/{}", kind.as_str()), &asked)
    }

    /// Whether it says enough to preview the change.
    pub(crate) fn wants_preview(&self, kind: ShapeKind) -> bool {
        match kind {
            ShapeKind::Remove | ShapeKind::Renumber => true,
            // A plan that was dragged in the tree comes without having filled in a form.
            ShapeKind::Move => !self.place.is_empty(),
            _ => !self.preview.is_empty(),
        }
    }

    /// Returns the change of shape that the form asks for.
    pub(crate) fn to_change(&self) -> Result<ShapeChange, Failure> {
        let node = vec![self.node.clone()];
        let unknown = || Failure::invalid(format!("there is no change `{}`", self.change));
        Ok(
            match ShapeKind::from_word(&self.change).ok_or_else(unknown)? {
                ShapeKind::Insert => ShapeChange::Insert {
                    place: node,
                    under: None,
                    after: self.place == "after",
                    title: given(&self.title),
                },
                ShapeKind::Move => ShapeChange::Move {
                    node,
                    target: self.to_target()?,
                },
                // Without a name it gets the next free id, where its level has ids.
                ShapeKind::Rename => ShapeChange::Renumber {
                    node,
                    id: given(&self.name),
                },
                ShapeKind::Split => ShapeChange::Split {
                    node,
                    at: require(&self.at, "the heading at which it is split")?,
                    title: given(&self.title),
                    children_from: given(&self.from),
                },
                ShapeKind::Merge => ShapeChange::Merge {
                    node,
                    into: vec![require(&self.target, "the plan it becomes a part of")?],
                },
                ShapeKind::Renumber => ShapeChange::CloseGaps { node },
                ShapeKind::Remove => ShapeChange::Remove { node },
            },
        )
    }

    fn to_target(&self) -> Result<MoveTarget, Failure> {
        let target = self.target.trim().to_owned();
        Ok(match self.place.as_str() {
            "before" => MoveTarget::Before(target),
            "after" => MoveTarget::After(target),
            // Without a target the plan becomes a root, which no name could say.
            "under" => MoveTarget::Under(given(&target)),
            other => return Err(Failure::invalid(format!("there is no place `{other}`"))),
        })
    }

    /// Renders the fields of a kind; `None` where there is nothing to choose.
    pub(crate) fn render_fields(&self, kind: ShapeKind, choices: &ShapeChoices) -> Option<Markup> {
        Some(match kind {
            ShapeKind::Insert => html! {
                (self.render_place(&[("before", "before it"), ("after", "after it")]))
                (render_text("Title of the new plan", "title", &self.title, "", false))
            },
            ShapeKind::Move => html! {
                (self.render_place(&[("before", "before"), ("after", "after"), ("under", "at the end below")]))
                label { "Plan" input type="search" name="target" value=(self.target) size="36" list="targets" autocomplete="off" placeholder="nothing: at the top"; }
                (render_plans("targets", choices.peers.iter().chain(&choices.parents)))
            },
            ShapeKind::Rename => html! {
                (render_text("New name, number or id", "name", &self.name, &choices.plan.entity_id, false))
            },
            ShapeKind::Split => self.render_split(choices),
            ShapeKind::Merge => html! {
                label { "Into" input type="search" name="target" value=(self.target) size="36" list="targets" autocomplete="off" required; }
                (render_plans("targets", &choices.peers))
            },
            ShapeKind::Renumber | ShapeKind::Remove => return None,
        })
    }

    fn render_split(&self, choices: &ShapeChoices) -> Markup {
        html! {
            label { "At the heading, or line number" input type="search" name="at" value=(self.at) size="36" list="headings" autocomplete="off" required; }
            datalist #headings { @for heading in &choices.headings { option value=(heading) {} } }
            (render_text("Title of the second part", "title", &self.title, "", false))
            @if !choices.children.is_empty() {
                label { "Plans below it" select name="from" {
                    option value="" { "all stay" }
                    @for child in &choices.children {
                        option value=(child.entity_id) selected[child.entity_id == self.from] { "from “" (child.display_name()) "” on to the second part" }
                    }
                } }
            }
        }
    }

    fn render_place(&self, places: &[(&str, &str)]) -> Markup {
        html! {
            label { "Place" select name="place" {
                @for (value, label) in places { option value=(value) selected[*value == self.place] { (label) } }
            } }
        }
    }
}

fn render_text(label: &str, name: &str, value: &str, placeholder: &str, required: bool) -> Markup {
    html! {
        label { (label) input type="text" name=(name) value=(value) size="36" placeholder=(placeholder) maxlength="200" dir="auto" autocomplete="off" required[required]; }
    }
}

/// Renders plans to choose from, by path, with their titles.
fn render_plans<'p>(id: &str, plans: impl IntoIterator<Item = &'p PlanName>) -> Markup {
    html! {
        datalist id=(id) { @for plan in plans { option value=(plan.path) { (plan.display_name()) } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_asks_for_the_change_of_its_kind() {
        let form = ShapeForm {
            node: "act-1/chapter-02".to_owned(),
            place: "after".to_owned(),
            target: " act-2 ".to_owned(),
            at: "## Storm".to_owned(),
            ..ShapeForm::default()
        };
        for kind in ShapeKind::ALL {
            let form = ShapeForm {
                change: kind.as_str().to_owned(),
                ..form.clone()
            };
            let change = form.to_change().expect("a change");
            let is_kind = match kind {
                ShapeKind::Insert => matches!(
                    change,
                    ShapeChange::Insert {
                        after: true,
                        title: None,
                        ..
                    }
                ),
                ShapeKind::Move => {
                    matches!(change, ShapeChange::Move { target: MoveTarget::After(to), .. } if to == "act-2")
                }
                ShapeKind::Rename => matches!(change, ShapeChange::Renumber { id: None, .. }),
                ShapeKind::Split => {
                    matches!(change, ShapeChange::Split { at, .. } if at == "## Storm")
                }
                ShapeKind::Merge => {
                    matches!(change, ShapeChange::Merge { into, .. } if into == ["act-2"])
                }
                ShapeKind::Renumber => matches!(change, ShapeChange::CloseGaps { .. }),
                ShapeKind::Remove => matches!(change, ShapeChange::Remove { .. }),
            };
            assert!(is_kind, "{kind:?}");
        }
        let empty = ShapeForm {
            change: "merge".to_owned(),
            ..ShapeForm::default()
        };
        assert!(empty.to_change().is_err(), "into which plan?");
        assert_eq!(
            form.preview_url(ShapeKind::Insert),
            "/shape/insert?node=act-1%2Fchapter-02&place=after&target=%20act-2%20&at=%23%23%20Storm&preview=1"
        );
    }
}
