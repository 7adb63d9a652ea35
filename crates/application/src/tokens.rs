//! API tokens: create, list and revoke them, and read the audit log, on the machine with the
//! database.
//!
//! The edge generates the secret and shows it once; only its hash is stored.

use domain::authorization::Scope;
use domain::ids::Principal;
use domain::ports::{TokenEntry, TokenStore};
use domain::time::Timestamp;
use domain::token::{AuditEntry, NewToken, Token, TokenState, cookie_value, secret_hash};
use serde::Serialize;

use crate::context::{Context, Notice};
use crate::failure::Failure;
use crate::move_focus::is_agent_host;

/// Request of [`create_token`].
#[derive(Clone, Debug)]
pub struct CreateTokenRequest {
    pub name: String,
    /// `human:anna` or `agent:ci/1`.
    pub principal: String,
    pub scope: Scope,
    /// Lifetime in milliseconds; without it the token is valid until it is revoked.
    pub lasts: Option<i64>,
    /// 256 random bits after [`domain::token::SECRET_PREFIX`].
    pub secret: String,
    /// The user of this machine, in whose name a script of theirs acts.
    pub user: Principal,
}

/// A token, without its secret.
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

impl TokenView {
    /// Builds the view of a token at a point in time.
    fn from_token(token: Token, now: Timestamp) -> Self {
        let state = token.state_at(now);
        let scope = token.scope.as_str();
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

/// Opens the token store of the database.
fn open_token_store<'c>(ctx: &'c Context<'_>) -> Result<Box<dyn TokenStore + 'c>, Failure> {
    // Neither a `json` store nor a replica has tokens: they belong to the database that the servers
    // use.
    ctx.store.token_store().ok_or_else(|| {
        Failure::refused(
            "there is no token store here: tokens are in the database, on the machine that has it",
        )
        .with_step("tl state move --to sqlite        # from storage = \"json\"")
        .with_step("tl state move --to postgres://…  # for several machines")
    })
}

/// Returns the person who creates or revokes a token, themselves or by a script. Refuses agents: one
/// could issue itself a person's token.
fn require_person(ctx: &Context<'_>, user: &Principal) -> Result<Principal, Failure> {
    if is_agent_host(&ctx.actor) {
        return Err(Failure::refused(
            "tokens are created and revoked by a person, not by an agent",
        )
        .with_step("ask the person who works with you"));
    }
    Ok(match ctx.actor.is_human() {
        true => ctx.actor.clone(),
        // Nobody is at a terminal, and no agent is known: a script of the user's.
        false => user.clone(),
    })
}

/// Returns the database's clock, by which tokens expire, or the local one.
fn token_store_time(ctx: &Context<'_>, book: &dyn TokenStore) -> Result<Timestamp, Failure> {
    Ok(book.store_time()?.unwrap_or_else(|| ctx.clock.now()))
}

/// Writes a line to the audit log. The change is made already: a line that cannot be written is a
/// notice, not a failure.
fn write_audit_line(
    ctx: &Context<'_>,
    book: &dyn TokenStore,
    (at, by): (Timestamp, Principal),
    action: &str,
    token: &Token,
) {
    let line = AuditEntry {
        at,
        principal: Some(by),
        token: None,
        action: action.to_owned(),
        outcome: "done".to_owned(),
        detail: format!(
            "{} `{}` of {}, {}",
            token.id, token.name, token.principal, token.scope
        ),
        // The log also holds requests from other addresses; local commands have none.
        from: "this machine".to_owned(),
        trace: None,
        times: 1,
    };
    if let Err(fault) = book.append_audit_log(&[line], &[]) {
        ctx.push_notice(Notice::NotWritten {
            path: "the audit log".to_owned(),
            why: Failure::from(fault).message,
        });
    }
}

/// Creates a token.
///
/// # Errors
/// When the request is invalid, an agent asks, or the token store cannot be written.
pub fn create_token(ctx: &Context<'_>, request: &CreateTokenRequest) -> Result<TokenView, Failure> {
    let by = require_person(ctx, &request.user)?;
    // Validated before the database is opened for it: a refused request leaves no trace in the
    // token store.
    let new = NewToken::try_new(&request.name, &request.principal, request.scope)?;
    let book = open_token_store(ctx)?;
    // By the database's clock, because servers on other machines compare the expiry with it.
    let at = token_store_time(ctx, &*book)?;
    let entry = TokenEntry {
        new,
        hash: secret_hash(&request.secret),
        // The browser's cookie is derived from the secret and hashed as well: neither a stolen
        // cookie nor read access to the database reveals the token.
        cookie: secret_hash(&cookie_value(&request.secret)),
        at,
        by: by.clone(),
        expires_at: request
            .lasts
            .map(|millis| Timestamp::from_millis(at.as_millis().saturating_add(millis))),
    };
    let token = book.add_token(&entry)?;
    write_audit_line(ctx, &*book, (at, by), "token create", &token);
    Ok(TokenView::from_token(token, at))
}

/// Lists the tokens, including expired and revoked ones.
///
/// # Errors
/// When there is no token store, or it cannot be read.
pub fn list_tokens(ctx: &Context<'_>) -> Result<Vec<TokenView>, Failure> {
    let book = open_token_store(ctx)?;
    let at = token_store_time(ctx, &*book)?;
    Ok(book
        .list_tokens()?
        .into_iter()
        .map(|token| TokenView::from_token(token, at))
        .collect())
}

/// Revokes a token. Every server rejects it within two seconds.
///
/// # Errors
/// When there is no such token, an agent asks, or the token store cannot be written.
pub fn revoke_token(ctx: &Context<'_>, id: u64, user: &Principal) -> Result<TokenView, Failure> {
    let by = require_person(ctx, user)?;
    let book = open_token_store(ctx)?;
    let at = token_store_time(ctx, &*book)?;
    let token = book.revoke_token(id, at)?.ok_or_else(|| {
        Failure::not_found(format!("there is no token `{id}`")).with_step("tl team token list")
    })?;
    // Revoking is idempotent; only the first time is an event for the audit log.
    if token.revoked_at == Some(at) {
        write_audit_line(ctx, &*book, (at, by), "token revoke", &token);
    }
    Ok(TokenView::from_token(token, at))
}

/// Returns the last lines of the audit log, newest first.
///
/// # Errors
/// When there is no token store, or it cannot be read.
pub fn list_audit_log(ctx: &Context<'_>, most: usize) -> Result<Vec<AuditEntry>, Failure> {
    Ok(open_token_store(ctx)?.read_audit_log(most)?)
}
