//! Identity and authorization of a request: the principal it acts as, and the scope its tool needs.

use application::Failure;
use domain::authorization::{AuthenticatedPrincipal, CredentialKind, Scope};
use domain::ids::{Digest32, Principal};
use domain::text::clean_line;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use server::RequestSource;
use server::routing::http::request::Parts;

use super::server::{Server, internal_error};
use super::{SESSION_NAME_DIGITS, connection_name, convert};
use crate::surface::{Called, failure_value};

/// Returns the principal that the server authenticated; none over stdio.
pub(super) fn authenticated(ctx: &RequestContext<RoleServer>) -> Option<&AuthenticatedPrincipal> {
    ctx.extensions.get::<Parts>()?.extensions.get()
}

/// Whether a request is of the newest era, in which each request carries its client's data.
pub(super) fn is_modern(ctx: &RequestContext<RoleServer>) -> bool {
    ctx.protocol_version()
        .is_some_and(|version| !version.has_initialize())
}

/// Derives the session name of requests without a session: the same for every request of a client
/// with one credential, and another for each other credential, client or process. Trail, focus and
/// claims are kept by it, so two persons' agents must not share one.
fn derive_session_name(
    process: &str,
    credential: Option<&AuthenticatedPrincipal>,
    client: &str,
) -> String {
    // An access token is renewed while its client works on, so it counts by its owner.
    let owner = credential.map(|who| (&who.principal, who.token_id()));
    // Quoted, so that no part can run into the next.
    let parts = format!("{:?}", (process, owner, client));
    Digest32::of_bytes(parts.as_bytes())
        .to_string()
        .chars()
        .take(SESSION_NAME_DIGITS)
        .collect()
}

impl Server {
    /// Returns the principal of a request, which is always an agent: behind an MCP client there is a
    /// model, whichever token it carries. An agent's token names the agent; with a person's token,
    /// or without one, it is named after the client.
    pub(super) fn acting_principal(&self, ctx: &RequestContext<RoleServer>) -> Principal {
        // The start-up secret is the local user's own and says nothing about the client
        // that shows it.
        if let Some(who) = authenticated(ctx)
            && self.is_named_by_token(ctx)
        {
            return who.principal.clone();
        }
        // Self-reported, so it is only a label; what an agent may do does not depend on it.
        let host = ctx.client_info().map_or_else(
            || "mcp".to_owned(),
            |client| convert::host_name(&client.name),
        );
        let session = match ctx.extensions.get::<Parts>() {
            // The newest era has no sessions: every request gets a server of its own, and a session
            // name per request would make each call another agent in the history.
            Some(_) if is_modern(ctx) => {
                derive_session_name(self.process_name(), authenticated(ctx), &host)
            }
            _ => self.connection_name().to_owned(),
        };
        Principal::Agent { host, session }
    }

    /// Returns the person in whose name the answer to a question counts: the token's, if its scope
    /// allows decisions, or the user who started the server. `None` where an agent would answer its
    /// own question.
    pub(super) fn deciding_person(&self, ctx: &RequestContext<RoleServer>) -> Option<Principal> {
        match authenticated(ctx) {
            Some(AuthenticatedPrincipal {
                principal, scope, ..
            }) => Some(principal)
                .filter(|who| who.is_human() && scope.is_sufficient_for(Scope::Approve))
                .cloned(),
            // Every HTTP request has a principal. Without one the check has failed, and the local
            // user must not be assumed.
            None if self.audit_log().is_some() => None,
            None => Some(self.surface().workspace().local_person()),
        }
    }

    /// Returns the scope of a request: that of its token, for an agent. Requests of the local user,
    /// over stdio or with the server's own secret, are limited by the policy alone.
    pub(super) fn call_scope(&self, ctx: &RequestContext<RoleServer>, actor: &Principal) -> Scope {
        match authenticated(ctx) {
            Some(who) if !who.is_local_user() => who.scope_acting_as(actor).unwrap_or(Scope::Read),
            Some(who) => who.scope,
            // Over stdio the user's own client started this process: it has no more
            // rights than a shell.
            None => Scope::Admin,
        }
    }

    /// Returns the session of a call, and takes the one a client names out of its arguments; `None` if
    /// the principal's own session tells its agent from others. Agents with one token are not told
    /// apart by their principal: each has the session of its connection or, where there are no
    /// connections, a new one for what it claims. So two never get the same milestone or node.
    pub(super) fn take_session(
        &self,
        tool: &str,
        arguments: &mut Value,
        ctx: &RequestContext<RoleServer>,
    ) -> Option<String> {
        let fields = arguments.as_object_mut()?;
        if let Some(Value::String(named)) = fields.get("session") {
            // The client's words, by which claims name their holder: cleaned like its name.
            let named = convert::host_name(named);
            fields.remove("session");
            return Some(named);
        }
        let takes = match tool {
            "flow_move" => fields.get("how").is_some_and(|how| how == "take"),
            tool => tool == "work_claim",
        };
        match ctx.extensions.get::<Parts>() {
            None => None,
            Some(_) if is_modern(ctx) => takes.then(connection_name),
            Some(_) => self
                .is_named_by_token(ctx)
                .then(|| self.connection_name().to_owned()),
        }
    }

    /// Whether a request acts as the agent that its token names.
    fn is_named_by_token(&self, ctx: &RequestContext<RoleServer>) -> bool {
        authenticated(ctx).is_some_and(|who| !who.is_local_user() && !who.principal.is_human())
    }

    /// Refuses a call that needs more than the scope of the request's token.
    pub(super) fn check_scope(
        &self,
        tool: &str,
        arguments: &Value,
        ctx: &RequestContext<RoleServer>,
    ) -> Result<(), Called> {
        let Some(who) = authenticated(ctx) else {
            // Only HTTP has an audit log. A request without a principal there means that the check
            // before it failed, which must not pass for the local user.
            return match self.audit_log() {
                Some(_) => Err(Called::Failed(failure_value(&internal_error()))),
                None => Ok(()),
            };
        };
        // An unknown tool needs no scope: the call fails with a suggestion anyway.
        let Some(needed) = self.surface().required_scope(tool, arguments) else {
            return Ok(());
        };
        let scope = self.call_scope(ctx, &self.acting_principal(ctx));
        if scope.is_sufficient_for(needed) {
            return Ok(());
        }
        let message = format!(
            "`{tool}` needs the scope `{needed}`, and an agent with this token has `{scope}`"
        );
        // A call is an agent's, whichever token it carries: no token makes it more.
        let caller = self.acting_principal(ctx);
        let step = match who.credential {
            _ if needed > Scope::Agent => needed.describe_access(&caller),
            CredentialKind::AccessToken { .. } => {
                format!("sign in again, and grant the scope `{needed}`")
            }
            _ => needed.describe_access(&who.principal),
        };
        let failure = Failure::refused(message).with_step(step);
        Err(Called::Failed(failure_value(&failure)))
    }

    /// Records a call that may have changed something in the audit log.
    pub(super) fn audit_call(
        &self,
        tool: &str,
        outcome: &str,
        arguments: &Value,
        ctx: &RequestContext<RoleServer>,
    ) {
        let Some(parts) = ctx.extensions.get::<Parts>() else {
            return;
        };
        // Put there by the server crate; over stdio there are neither.
        let known = (
            parts.extensions.get::<AuthenticatedPrincipal>(),
            parts.extensions.get::<RequestSource>(),
        );
        let (Some(audit_log), (Some(who), Some(source))) = (self.audit_log(), known) else {
            return;
        };
        if matches!(
            self.surface().required_scope(tool, arguments),
            None | Some(Scope::Read)
        ) {
            return;
        }
        // The other arguments may hold whole plans, which do not belong into the log.
        let about = ["entity_id", "node", "id"]
            .iter()
            .find_map(|key| arguments.get(key)?.as_str())
            .unwrap_or_default();
        // Arguments are the client's: cleaned and cut, so that a call cannot forge or flood lines.
        let about: String = clean_line(about).chars().take(100).collect();
        // The token's owner is the entry's principal; who acted is part of the detail.
        let detail = format!("{about} as {}", self.acting_principal(ctx));
        audit_log.record(who, source, &format!("mcp {tool}"), outcome, detail.trim());
    }
}
