//! Gathers the author's guidance for a scene: the files of the book, and those of its point of view.

use domain::generation::continuity::point_of_view_name;
use domain::generation::guidance::{
    AuthorGuidance, GUIDANCE_FOLDER, GuidanceFile, MAX_GUIDANCE_BYTES, POV_FOLDER,
};
use domain::memory::{EntryKind, StoryMemory};
use domain::node::Node;
use domain::ports::{FileReadResult, FolderEntryKind, Snapshot};
use domain::record;
use domain::tick::TickState;
use domain::tree::Tree;

use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::tick::story_state::find_named_point_of_view;

/// Returns the guidance for a scene. `memory` tells whose name a folder bears.
pub(super) fn gather_guidance(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    tree: &Tree,
    (node, blueprint): (&Node, &str),
    memory: &StoryMemory,
) -> Result<AuthorGuidance, Failure> {
    let mut guidance = AuthorGuidance::default();
    // The book's files first, so that those of the point of view are added to them.
    add_files(ctx, GUIDANCE_FOLDER, &mut guidance);
    let pov = match find_named_point_of_view(state, tree, node)? {
        Some(named) => Some(named),
        None => chosen_character(state, memory)?,
    };
    if let Some(folder) = pov.as_deref().and_then(|pov| find_folder(ctx, memory, pov)) {
        add_files(ctx, &folder, &mut guidance);
    }
    // Only where the blueprint does not name it: the prompt has the blueprint already.
    guidance.pov = pov.filter(|_| point_of_view_name(blueprint).is_none());
    Ok(guidance)
}

fn add_files(ctx: &Context<'_>, folder: &str, guidance: &mut AuthorGuidance) {
    for file in GuidanceFile::ALL {
        let path = format!("{folder}/{}", file.file_name());
        match ctx.files.read_file(&path, MAX_GUIDANCE_BYTES) {
            FileReadResult::Text { text, .. } => guidance.add_file(file, &text),
            FileReadResult::Missing => {}
            // Said, because a style guide that is silently ignored looks like a bad writer.
            FileReadResult::Unreadable { why, .. } => {
                let why = format!("it is not used: {why}");
                ctx.push_notice(Notice::Misplaced { path, why });
            }
        }
    }
}

/// Returns the name of the character the author chose to follow.
fn chosen_character(state: &dyn Snapshot, memory: &StoryMemory) -> Result<Option<String>, Failure> {
    let story = record::read_record::<TickState>(state, TickState::KEY)?;
    let id = story.filter(|story| story.is_chosen);
    let id = id.and_then(|story| story.active_character);
    Ok(id.map(|id| memory.display_name(&id)))
}

/// Returns the folder of a point of view: with its name, or another name of the same character.
fn find_folder(ctx: &Context<'_>, memory: &StoryMemory, pov: &str) -> Option<String> {
    let wanted = memory.resolve_id(EntryKind::Character, pov);
    let is_same = |name: &str| {
        name.to_lowercase() == pov.to_lowercase()
            || wanted.is_some() && memory.resolve_id(EntryKind::Character, name) == wanted
    };
    let entries = ctx.files.list_folder(POV_FOLDER).into_iter();
    let mut folders = entries.filter(|entry| entry.kind == FolderEntryKind::Folder);
    let found = folders.find(|entry| is_same(&entry.name))?;
    Some(format!("{POV_FOLDER}/{}", found.name))
}
