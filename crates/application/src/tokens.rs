//! Tokens of people and agents who work through a server: given, listed and taken back where the database is.
//!
//! The secret is made by the edge and shown once; what is kept here is its hash.

use domain::access::Scope;
use domain::ids::Principal;
use domain::ports::{AccessBook, TokenEntry};
use domain::time::Timestamp;
use domain::token::{Audited, NewToken, Token, TokenState, cookie_of, secret_hash};
use serde::Serialize;

use crate::context::{Context, Noticed};
use crate::failure::{Failure, FailureKind};
use crate::move_focus::is_a_host;

/// What is asked.
#[derive(Clone, Debug)]
pub struct CreateTokenRequest {
    pub name: String,
    /// `human:anna` or `agent:ci/1`.
    pub principal: String,
    pub scope: Scope,
    /// For how long it is good, in milliseconds; without it until it is taken back.
    pub lasts: Option<i64>,
    /// 256 bits nobody can guess, after [`domain::token::SECRET_PREFIX`].
    pub secret: String,
}

/// A token, as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TokenView {
    pub id: u64,
    pub name: String,
    pub principal: Principal,
    pub scope: &'static str,
    pub state: TokenState,
    pub created_at: Timestamp,
    pub created_by: Principal,
    pub expires_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
    pub last_used_at: Option<Timestamp>,
}

/// A line of the audit log, as shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditView {
    pub at: Timestamp,
    pub principal: Option<Principal>,
    pub token: Option<u64>,
    pub action: String,
    pub outcome: String,
    pub detail: String,
    pub from: String,
    pub trace: Option<String>,
    pub times: u64,
}

impl TokenView {
    fn of(token: Token, now: Timestamp) -> Self {
        let state = token.state(now);
        let scope = token.scope.word();
        let Token {
            id,
            name,
            principal,
            created_at,
            created_by,
            expires_at,
            revoked_at,
            last_used_at,
            ..
        } = token;
        Self {
            id,
            name,
            principal,
            scope,
            state,
            created_at,
            created_by,
            expires_at,
            revoked_at,
            last_used_at,
        }
    }
}

/// Returns the book, where there is one.
fn book<'c>(ctx: &'c Context<'_>) -> Result<Box<dyn AccessBook + 'c>, Failure> {
    ctx.store.access().ok_or_else(|| {
        Failure::new(
            FailureKind::Refused,
            "no tokens are kept here: they are in a database, on the machine that has it",
        )
        .step("tl move --to sqlite        # from storage = \"json\"")
        .step("tl move --to postgres://…  # for several machines")
    })
}

/// Who comes in is decided by a person, or by a script of theirs: an agent could make itself a person's token.
fn by_a_person(ctx: &Context<'_>) -> Result<(), Failure> {
    if !is_a_host(&ctx.actor) {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::Refused,
        "tokens are given and taken back by a person, not by an agent",
    )
    .step("ask the person who works with you"))
}

fn now(ctx: &Context<'_>, book: &dyn AccessBook) -> Result<Timestamp, Failure> {
    Ok(book.now()?.unwrap_or_else(|| ctx.clock.now()))
}

/// Notes what was done to a token, in the same log as what is done with it.
/// Writes a line of the audit log. What was done is done: a line that cannot be written is reported, not a failure.
fn note(ctx: &Context<'_>, book: &dyn AccessBook, at: Timestamp, action: &str, token: &Token) {
    let line = Audited {
        at,
        principal: Some(ctx.actor.clone()),
        token: None,
        action: action.to_owned(),
        outcome: "done".to_owned(),
        detail: format!(
            "{} `{}` of {}, {}",
            token.id, token.name, token.principal, token.scope
        ),
        from: "this machine".to_owned(),
        trace: None,
        times: 1,
    };
    if let Err(fault) = book.note(&[line], &[]) {
        ctx.notice(Noticed::NotWritten {
            path: "the audit log".to_owned(),
            why: Failure::from(fault).message,
        });
    }
}

/// Gives a token.
///
/// # Errors
/// When there may be no such token, it is an agent who asks, or the book cannot be written.
pub fn create_token(ctx: &Context<'_>, request: &CreateTokenRequest) -> Result<TokenView, Failure> {
    by_a_person(ctx)?;
    let new = NewToken::decide(&request.name, &request.principal, request.scope)?;
    let book = book(ctx)?;
    let at = now(ctx, &*book)?;
    let entry = TokenEntry {
        new,
        hash: secret_hash(&request.secret),
        cookie: secret_hash(&cookie_of(&request.secret)),
        at,
        by: ctx.actor.clone(),
        expires_at: request
            .lasts
            .map(|millis| Timestamp::from_millis(at.as_millis().saturating_add(millis))),
    };
    let token = book.add_token(&entry)?;
    note(ctx, &*book, at, "token create", &token);
    Ok(TokenView::of(token, at))
}

/// Lists the tokens, also those that are over.
///
/// # Errors
/// When there is no book, or it cannot be read.
pub fn list_tokens(ctx: &Context<'_>) -> Result<Vec<TokenView>, Failure> {
    let book = book(ctx)?;
    let at = now(ctx, &*book)?;
    Ok(book
        .tokens()?
        .into_iter()
        .map(|token| TokenView::of(token, at))
        .collect())
}

/// Takes a token back. Every server turns it away within two seconds.
///
/// # Errors
/// When there is no such token, it is an agent who asks, or the book cannot be written.
pub fn revoke_token(ctx: &Context<'_>, id: u64) -> Result<TokenView, Failure> {
    by_a_person(ctx)?;
    let book = book(ctx)?;
    let at = now(ctx, &*book)?;
    let token = book.revoke_token(id, at)?.ok_or_else(|| {
        Failure::new(FailureKind::NotFound, format!("there is no token `{id}`"))
            .step("tl token list")
    })?;
    // A second time nothing happens, and nothing is noted.
    if token.revoked_at == Some(at) {
        note(ctx, &*book, at, "token revoke", &token);
    }
    Ok(TokenView::of(token, at))
}

/// Returns the last lines of the audit log, newest first.
///
/// # Errors
/// When there is no book, or it cannot be read.
pub fn list_audit(ctx: &Context<'_>, most: usize) -> Result<Vec<AuditView>, Failure> {
    let lines = book(ctx)?.audited(most)?;
    let view = |line: Audited| {
        let Audited {
            at,
            principal,
            token,
            action,
            outcome,
            detail,
            from,
            trace,
            times,
        } = line;
        AuditView {
            at,
            principal,
            token,
            action,
            outcome,
            detail,
            from,
            trace,
            times,
        }
    };
    Ok(lines.into_iter().map(view).collect())
}
