//! Uncommitted lines of a session: which files count, whose they are, and the remembered count.
//!
//! The sums are in `domain::work::uncommitted`; this asks git and the notes for them. Counting
//! needs a `git` process (15 ms), so the `loc` gate uses the remembered count where it can.

use domain::gates::{has_work_gates, max_uncommitted_lines};
use domain::host_event::ToolCall;
use domain::ids::NodeId;
use domain::policy::GateMode;
use domain::ports::{ChangedLines, GitHead, Snapshot, Transaction};
use domain::record;
use domain::session_state::WorkState;
use domain::work::uncommitted::{
    AUTHORS_NOTE_KEY, Authors, Uncommitted, count_uncommitted_lines, is_excluded, is_exempt,
    replace_file_counts, with_other_halves,
};
use domain::work::work_level::Assessment;

use crate::claim_node;
use crate::context::Context;
use crate::failure::Failure;
use crate::session_position::{Ticket, find_session_ticket, head_commit};

/// Counts this session's uncommitted lines, or returns why they cannot be counted.
pub(crate) fn count_uncommitted(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
) -> (Option<Uncommitted>, Option<String>) {
    match list_changed_files(ctx) {
        Ok(changed) => (
            Some(count_session_lines(
                ctx,
                &load_authors(ctx, state),
                &changed,
            )),
            None,
        ),
        Err(why) => (None, Some(why)),
    }
}

/// Returns every uncommitted file, or why they cannot be listed.
pub(crate) fn list_changed_files(ctx: &Context<'_>) -> Result<Vec<ChangedLines>, String> {
    match ctx.git.read_head() {
        Ok(GitHead::NoRepository) => {
            return Err("there is no git repository: lines and commits are not counted".to_owned());
        }
        Err(fault) => return Err(fault.to_string()),
        // Before the first commit every file is uncommitted, and the gate applies as usual.
        Ok(GitHead::At(_) | GitHead::Unborn) => {}
    }
    // During a rebase or merge the working tree holds lines of other commits, which are not this
    // session's.
    if let Some(what) = ctx.git.operation_in_progress() {
        return Err(format!("a {what} is under way: lines are not counted"));
    }
    ctx.git
        .count_uncommitted_lines(&[])
        .map_err(|fault| fault.to_string())
}

/// Counts the lines of these files that belong to this session.
pub(crate) fn count_session_lines(
    ctx: &Context<'_>,
    authors: &Authors,
    changed: &[ChangedLines],
) -> Uncommitted {
    count_lines_of(ctx, &ctx.session, authors, changed)
}

/// Like [`count_session_lines`], of another session.
pub(crate) fn count_lines_of(
    ctx: &Context<'_>,
    session: &str,
    authors: &Authors,
    changed: &[ChangedLines],
) -> Uncommitted {
    count_uncommitted_lines(changed, authors, session, &|path| is_counted(ctx, path))
}

/// Returns the maximum number of uncommitted lines for work on a ticket, by its level.
pub(crate) fn load_line_limit(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    ticket: Option<&Ticket>,
) -> Result<u64, Failure> {
    let level = match ticket {
        Some(ticket) => Some(ticket.load_assessment(state)?.level),
        None => None,
    };
    Ok(max_uncommitted_lines(level, ctx.policy))
}

/// Returns the uncommitted line count: the noted one while HEAD is unchanged and it is below the
/// limit, else a fresh one.
pub(crate) fn load_uncommitted(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    work: &mut WorkState,
    head: Option<&str>,
    limit: u64,
) -> Option<Uncommitted> {
    if let Some(noted) = work
        .uncommitted
        .as_ref()
        .filter(|_| work.head.as_deref() == head && head.is_some())
    {
        let found = count_session_lines(ctx, &load_authors(ctx, state), noted);
        // A noted count above the limit is verified, because a block on outdated numbers cannot be
        // resolved by the agent. One below it may be stale as well, but is corrected after the
        // edit.
        if found.lines <= limit {
            return Some(found);
        }
    }
    let changed = list_changed_files(ctx).ok();
    let found = changed
        .as_ref()
        .map(|changed| count_session_lines(ctx, &load_authors(ctx, state), changed));
    work.uncommitted = changed;
    work.head = head.map(str::to_owned);
    found
}

/// Updates the remembered count after a call, and returns it: files the call named are counted again.
///
/// After a call that may have changed anything all of them are counted, in a large repository by the
/// next prompt. That count is not remembered: what the call started may go on writing, so the next
/// edit counts again.
pub(crate) fn recount_after_call(
    ctx: &Context<'_>,
    work: &mut WorkState,
    head: Option<String>,
    call: &ToolCall,
    files: &[String],
) -> Option<Vec<ChangedLines>> {
    let moved = work.head != head;
    // Unknown is better than a wrong number during a merge or rebase: the next edit counts again.
    let is_countable = ctx.git.operation_in_progress().is_none() && head.is_some();
    work.head = head;
    if call.may_change_anything() {
        work.uncommitted = None;
        work.uncounted = is_countable && ctx.git.is_large();
        let is_counted = is_countable && !work.uncounted;
        return is_counted.then(|| list_changed_files(ctx).ok()).flatten();
    }
    work.uncommitted = work.uncommitted.take().filter(|_| is_countable && !moved);
    if let Some(known) = &mut work.uncommitted
        && !files.is_empty()
    {
        let paths = with_other_halves(known, files);
        if let Ok(counted) = ctx.git.count_uncommitted_lines(&paths) {
            replace_file_counts(known, &paths, counted);
        }
    }
    work.uncommitted.clone()
}

/// Counts the lines that commands left uncounted, and returns the message about the limit.
pub(crate) fn count_overdue_lines(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    work: &mut WorkState,
) -> Result<Option<String>, Failure> {
    // After a commit outside of a call it is not known whose lines are left; the next call knows.
    if !work.uncounted || !has_work_gates(ctx.profiles) || head_commit(ctx) != work.head {
        return Ok(None);
    }
    work.uncounted = false;
    let Ok(changed) = list_changed_files(ctx) else {
        return Ok(None);
    };
    let ticket = find_session_ticket(ctx, state)?;
    tell_of_limit(ctx, state, work, ticket.map(|node| node.id), &changed)
}

/// Returns the message that the session's uncommitted lines are above the limit: once, until they
/// are below it again. The gate itself says it before every edit.
pub(crate) fn tell_of_limit(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    work: &mut WorkState,
    ticket: Option<NodeId>,
    changed: &[ChangedLines],
) -> Result<Option<String>, Failure> {
    let level = match ticket {
        Some(ticket) => record::read_record::<Assessment>(state, &ticket.0.to_string())?,
        None => None,
    };
    let limit = max_uncommitted_lines(level.map(|found| found.level), ctx.policy);
    let lines = count_session_lines(ctx, &load_authors(ctx, state), changed).lines;
    let is_above = lines > limit;
    let was_told = std::mem::replace(&mut work.told_of_limit, is_above);
    let is_news = is_above && !was_told && ctx.policy.gates.loc != GateMode::Off;
    Ok(is_news.then(|| {
        format!(
            "Throughline: {lines} uncommitted changed lines, the limit is {limit}: commit before the next edit."
        )
    }))
}

/// Whether the lines of a file count: not those of plans, tickets, our own files, or generated
/// ones.
pub(crate) fn is_counted(ctx: &Context<'_>, path: &str) -> bool {
    !is_exempt(ctx.profiles, path) && !is_excluded(path, &ctx.policy.gates.loc_exclude)
}

/// Loads which live session wrote which file, as far as hooks have seen it. Files of a session that
/// ended have no writer any more: its uncommitted lines count for the next session.
pub(crate) fn load_authors(ctx: &Context<'_>, state: &dyn Snapshot) -> Authors {
    let note = state.load_note(AUTHORS_NOTE_KEY).ok().flatten();
    let mut authors: Authors = note
        .and_then(|body| serde_json::from_str(&body).ok())
        .unwrap_or_default();
    authors.forget_writers(&|session| {
        session != ctx.session && !claim_node::is_session_live(ctx, state, session)
    });
    authors
}

/// Forgets the files of a session that ends now.
pub(crate) fn release_uncommitted_files(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
) -> Result<(), Failure> {
    let mut authors = load_authors(ctx, &*tx);
    match authors.forget_writers(&|session| session == ctx.session) {
        true => save_authors(ctx, tx, &authors),
        false => Ok(()),
    }
}

/// Saves which session wrote which file.
pub(crate) fn save_authors(
    ctx: &Context<'_>,
    tx: &mut dyn Transaction,
    authors: &Authors,
) -> Result<(), Failure> {
    let body = serde_json::to_string(authors).unwrap_or_default();
    Ok(tx.save_note(AUTHORS_NOTE_KEY, Some(&body), ctx.clock.now())?)
}

/// Returns whether this session committed since HEAD was at `then`; a checkout or reset does not
/// count.
pub(crate) fn has_committed_since(
    ctx: &Context<'_>,
    state: &dyn Snapshot,
    then: Option<&str>,
    now: Option<&str>,
) -> Result<bool, Failure> {
    let (Some(then), Some(now)) = (then, now) else {
        return Ok(then.is_none() && now.is_some());
    };
    if then == now {
        return Ok(false);
    }
    let authors = load_authors(ctx, state);
    let moves = ctx.git.head_moves_since(then)?.unwrap_or_default();
    Ok(moves
        .iter()
        .any(|one| one.kind.commits_work() && !authors.is_by_another(&ctx.session, &one.to)))
}
