//! `tl team token`: creates, lists and revokes API tokens, and prints the audit log.

use application::Failure;
use application::tokens::{
    CreateTokenRequest, TokenView, create_token, list_audit_log, list_tokens, revoke_token,
};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use domain::authorization::Scope;
use domain::ids::Principal;
use domain::token::{AuditEntry, SECRET_PREFIX, TokenState};
use serde::Serialize;
use server::generate_secret;

use crate::exit_code::ExitCode;
use crate::settings::local_user_name;
use crate::ui::{BOLD, DIM, GOOD, StyledLine, WARN, styled, styled_line};
use crate::wiring::App;

/// API tokens for `tl serve`: create, list, revoke, audit
///
/// Operations with a token are recorded under its principal and limited to its scope: `read` reads,
/// `agent` also does what agents do and comments, `approve` also decides, `admin` is for the
/// server's administrator. Each includes those before it. Tokens are created on the machine that
/// has the database.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl team token create \"Anna's laptop\" --as human:anna --scope approve --expires 90d
  tl team token create nightly --as agent:ci/1 --scope agent
  tl team token list
  tl team token revoke 3
  tl team token audit --limit 50")]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    what: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Create a token; its secret is printed once and not stored
    Create {
        /// Name of the token, shown in the list
        name: String,
        /// Principal it acts as: `human:anna` or `agent:ci/1`
        #[arg(long = "as", value_name = "PRINCIPAL")]
        principal: String,
        /// Scope; `read` or `agent` for an agent
        #[arg(long, value_parser = PossibleValuesParser::new(Scope::ALL.map(Scope::as_str)))]
        scope: String,
        /// Lifetime: `12h`, `90d`, `8w` [default: until it is revoked]
        #[arg(long, value_name = "TIME", value_parser = parse_lifetime)]
        expires: Option<i64>,
    },
    /// List all tokens, including expired and revoked ones
    List,
    /// Revoke a token; every server rejects it within two seconds
    Revoke {
        /// Number in the list
        id: u64,
    },
    /// Show the audit log: changes and rejected requests of servers, latest first
    Audit {
        /// Maximum number of lines
        #[arg(long, default_value_t = 50)]
        limit: usize,
    },
}

/// A token just created.
#[derive(Serialize)]
struct CreatedToken {
    #[serde(flatten)]
    token: TokenView,
    /// Printed this once.
    secret: String,
}

/// Parses a duration such as `90d` into milliseconds.
fn parse_lifetime(text: &str) -> Result<i64, String> {
    let expected =
        || format!("`{text}` is not a duration: expected a number with m, h, d or w, as in 90d");
    // No combined durations such as `1d12h`: the expiry of a token needs no such precision.
    let unit = text.chars().last().ok_or_else(expected)?;
    let minutes: i64 = match unit {
        'm' => 1,
        'h' => 60,
        'd' => 24 * 60,
        'w' => 7 * 24 * 60,
        _ => return Err(expected()),
    };
    let number: u32 = text
        .strip_suffix(unit)
        .unwrap_or_default()
        .parse()
        .map_err(|_| expected())?;
    // A limit, so that the expiry is always a date that can be stored and printed.
    if number == 0 || number > 100_000 {
        return Err(expected());
    }
    Ok(i64::from(number) * minutes * 60_000)
}

impl TokenArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            TokenCommand::Create {
                name,
                principal,
                scope,
                expires,
            } => {
                // A token can have the scope `approve`: an agent that creates one could approve its
                // own plans.
                app.find_project()?.refuse_non_persons(
                    "creating a token",
                    &["ask the person to run `tl team token create` in their own terminal"],
                )?;
                let request = CreateTokenRequest {
                    name: name.clone(),
                    principal: principal.clone(),
                    // clap accepts no other word; `Read` is the safe fallback.
                    scope: Scope::from_word(scope).unwrap_or(Scope::Read),
                    lasts: *expires,
                    secret: format!("{SECRET_PREFIX}{}", generate_secret()),
                    user: local_user(),
                };
                let token = app.run(|ctx| create_token(ctx, &request))?;
                print_created(
                    app,
                    CreatedToken {
                        token,
                        secret: request.secret,
                    },
                );
            }
            TokenCommand::List => {
                let tokens = app.run(list_tokens)?;
                if !app.ui.try_print_json(&tokens) {
                    tokens
                        .iter()
                        .for_each(|token| app.ui.print_line(render_token(token)));
                    if tokens.is_empty() {
                        app.ui
                            .print_message("no tokens; next: tl team token create");
                    }
                }
            }
            TokenCommand::Revoke { id } => {
                let token = app.run(|ctx| revoke_token(ctx, *id, &local_user()))?;
                if !app.ui.try_print_json(&token) {
                    app.ui.print_line(render_token(&token));
                }
            }
            TokenCommand::Audit { limit } => {
                let lines = app.run(|ctx| list_audit_log(ctx, *limit))?;
                if !app.ui.try_print_json(&lines) {
                    lines
                        .iter()
                        .for_each(|line| app.ui.print_line(render_audit_line(line)));
                }
            }
        }
        Ok(ExitCode::Done)
    }
}

/// Returns the user of this machine, in whose name their scripts create tokens.
fn local_user() -> Principal {
    Principal::Human(local_user_name())
}

fn print_created(app: &App, given: CreatedToken) {
    if app.ui.try_print_json(&given) {
        return;
    }
    // Only the secret on stdout, so that it can be piped into a password manager.
    app.ui.print_message(render_token(&given.token));
    app.ui.print_line(&given.secret);
    app.ui
        .print_message(styled(DIM, "save it now: it is not shown again"));
}

/// Renders a token as one line.
fn render_token(token: &TokenView) -> StyledLine {
    let (style, until) = match (token.state, token.expires_at) {
        (TokenState::Valid, None) => (GOOD, "valid".to_owned()),
        (TokenState::Valid, Some(end)) => {
            (GOOD, format!("valid until {}", end.format_local_minute()))
        }
        (TokenState::Expired, _) => (WARN, "expired".to_owned()),
        (TokenState::Revoked, _) => (WARN, "revoked".to_owned()),
    };
    // Shown, because unused tokens are the ones to revoke.
    let used = token.last_used_at.map_or_else(
        || "never used".to_owned(),
        |at| format!("used {}", at.format_local_minute()),
    );
    styled_line!(
        "{} {}  {} · {} · {} · {}",
        styled(BOLD, token.id),
        token.name,
        token.principal,
        token.scope,
        styled(style, &until),
        styled(DIM, &used)
    )
}

/// Renders a line of the audit log.
fn render_audit_line(line: &AuditEntry) -> StyledLine {
    // Requests with an unknown token are logged too, and have no principal.
    let who = line
        .principal
        .as_ref()
        .map_or_else(|| "unauthenticated".to_owned(), ToString::to_string);
    let token = line
        .token
        .map(|id| format!(" (token {id})"))
        .unwrap_or_default();
    // Repeated refusals of one kind are counted in one line, so that an attack cannot flood the
    // log.
    let times = if line.times > 1 {
        format!(" × {}", line.times)
    } else {
        String::new()
    };
    let trace = line
        .trace
        .as_ref()
        .map(|trace| format!(" · trace {trace}"))
        .unwrap_or_default();
    let detail = if line.detail.is_empty() {
        String::new()
    } else {
        format!(": {}", line.detail)
    };
    let rest = format!(" · {}{trace}", line.from);
    styled_line!(
        "{} {}{token} {} → {}{}{times}{}",
        styled(DIM, line.at.format_local_minute()),
        who,
        styled(BOLD, &line.action),
        line.outcome,
        detail,
        styled(DIM, &rest)
    )
}

#[cfg(test)]
mod tests {
    use super::parse_lifetime;

    #[test]
    fn times_are_read() {
        assert_eq!(parse_lifetime("90d"), Ok(90 * 24 * 60 * 60_000));
        assert_eq!(parse_lifetime("1w"), parse_lifetime("7d"));
        assert_eq!(parse_lifetime("1h"), parse_lifetime("60m"));
        for wrong in ["", "d", "0d", "90", "-1d", "9x", "1dd", "1.5h", "99999999d"] {
            assert!(parse_lifetime(wrong).is_err(), "{wrong}");
        }
    }
}
