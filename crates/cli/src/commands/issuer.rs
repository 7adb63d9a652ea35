//! `tl team issuer`: the OAuth issuer whose access tokens the server of a project accepts.

use std::io;
use std::path::Path;

use application::Failure;
use clap::{Args, Subcommand};
use domain::access_token::{AccessTokenRules, DEFAULT_PRINCIPAL_CLAIM, ScopeName};
use domain::authorization::Scope;
use domain::settings::is_confidential_url;
use serde_json::json;
use store::TrustedIssuers;

use crate::caller::find_calling_host;
use crate::exit_code::ExitCode;
use crate::settings;
use crate::ui::{BOLD, DIM, styled};
use crate::wiring::App;

/// Sign-in through an OAuth issuer: trust one, show it, remove it
///
/// `tl serve` then accepts the access tokens (JWT) of the issuer besides its own, and names the
/// issuer to clients that have none (RFC 9728). A token has to be for this server (`aud`), and its
/// scopes decide how far its owner gets: `read`, `agent`, `approve`, `admin`. A program that signed
/// in for itself is an agent. The choice is kept in your own directory: a repository cannot say who
/// may sign in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tl team issuer trust https://id.example.org
  tl team issuer trust https://id.example.org --principal email --scope plans.read=read --scope plans.write=agent
  tl team issuer show
  tl serve --public-url https://plans.example.org
  tl team issuer remove")]
pub(crate) struct IssuerArgs {
    #[command(subcommand)]
    what: IssuerCommand,
}

#[derive(Debug, Subcommand)]
enum IssuerCommand {
    /// Accept the access tokens of an issuer, from the next start of the server on
    Trust {
        /// URL of the issuer, exactly as its tokens name it (`iss`)
        #[arg(value_name = "URL", value_parser = parse_issuer)]
        issuer: String,
        /// Audience of the tokens (`aud`) [default: the public URL of the server]
        #[arg(long = "audience", value_name = "URI")]
        audiences: Vec<String>,
        /// Claim that names the person; `email` counts only if the issuer verified it
        #[arg(long, value_name = "CLAIM", default_value = DEFAULT_PRINCIPAL_CLAIM)]
        principal: String,
        /// The issuer's name of a scope, in place of our names
        #[arg(long = "scope", value_name = "NAME=SCOPE", value_parser = parse_scope_name)]
        scopes: Vec<ScopeName>,
    },
    /// Show the trusted issuer
    Show,
    /// Accept no access tokens any more, from the next start of the server on
    Remove,
}

fn parse_issuer(text: &str) -> Result<String, String> {
    // An issuer's URL has neither query nor fragment (RFC 8414).
    match is_confidential_url(text) && !text.contains('?') {
        true => Ok(text.to_owned()),
        false => Err("expected a URL like https://id.example.org, without a query".to_owned()),
    }
}

fn parse_scope_name(text: &str) -> Result<ScopeName, String> {
    let expected = || {
        let words = Scope::ALL.map(Scope::as_str).join(", ");
        format!("`{text}` is not NAME=SCOPE with a scope of {words}")
    };
    let (name, scope) = text.rsplit_once('=').ok_or_else(expected)?;
    // The characters of a scope in RFC 6749; it is quoted in a header.
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'));
    match Scope::from_word(scope) {
        Some(scope) if is_name => Ok(ScopeName {
            name: name.to_owned(),
            scope,
        }),
        _ => Err(expected()),
    }
}

/// Returns the rules for access tokens of the project at `root`.
pub(crate) fn load_token_rules(root: &Path) -> Result<Option<AccessTokenRules>, Failure> {
    let issuers = TrustedIssuers::in_state_directory(&settings::user_state_directory()?);
    issuers.load_rules(root).map_err(|error| {
        Failure::unavailable(format!("the choice of an issuer cannot be read: {error}"))
            .with_step("tl team issuer remove")
            .with_step("tl team issuer trust URL")
    })
}

impl IssuerArgs {
    pub(crate) fn run(&self, app: &App) -> Result<ExitCode, Failure> {
        match &self.what {
            IssuerCommand::Trust {
                issuer,
                audiences,
                principal,
                scopes,
            } => {
                let mut rules = AccessTokenRules::for_issuer(issuer);
                rules.audiences.clone_from(audiences);
                rules.principal_claim.clone_from(principal);
                if !scopes.is_empty() {
                    rules.scopes.clone_from(scopes);
                }
                store_rules(app, Some(&rules))?;
                print_rules(app, Some(&rules));
                app.ui
                    .print_note("it counts from the next start of `tl serve`");
            }
            IssuerCommand::Show => {
                print_rules(app, load_token_rules(&app.find_project_root()?)?.as_ref());
            }
            IssuerCommand::Remove => {
                store_rules(app, None)?;
                print_rules(app, None);
            }
        }
        Ok(ExitCode::Done)
    }
}

/// Keeps a person's choice. An agent that could name an issuer could be anybody.
fn store_rules(app: &App, rules: Option<&AccessTokenRules>) -> Result<(), Failure> {
    let project = app.find_project()?;
    let step = "ask the person to run `tl team issuer` in their own terminal";
    project.refuse_non_persons("choosing who may sign in", &[step])?;
    // Checked besides the policy: also where agents may approve, one must not choose who signs in.
    if let Some(host) = find_calling_host(&project) {
        return Err(Failure::refused(format!(
            "an issuer is chosen by a person, not by an agent ({host})"
        ))
        .with_step(step));
    }
    let directory = settings::user_state_directory()?;
    let failed = |error: io::Error| {
        Failure::unavailable(format!(
            "cannot write in `{}`: {error}",
            directory.display()
        ))
    };
    TrustedIssuers::in_state_directory(&directory)
        .set_rules(&project.root, rules)
        .map_err(failed)
}

fn print_rules(app: &App, rules: Option<&AccessTokenRules>) {
    if app.ui.try_print_json(&json!({ "issuer": rules })) {
        return;
    }
    let Some(rules) = rules else {
        app.ui
            .print_message("no issuer is trusted; next: tl team issuer trust URL");
        return;
    };
    app.ui.print_line(styled(BOLD, &rules.issuer));
    let audiences = match rules.audiences.as_slice() {
        [] => "the public URL of the server".to_owned(),
        audiences => audiences.join(", "),
    };
    let scopes = rules.scopes.iter();
    let scopes: Vec<String> = scopes
        .map(|known| match known.name == known.scope.as_str() {
            true => known.name.clone(),
            false => format!("{} = {}", known.name, known.scope),
        })
        .collect();
    for (name, value) in [
        ("audience", audiences.as_str()),
        ("person", rules.principal_claim.as_str()),
        ("scopes", &scopes.join(", ")),
    ] {
        app.ui
            .print_line(format_args!("{} {value}", styled(DIM, name)));
    }
}
