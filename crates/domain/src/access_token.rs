//! Access tokens of an OAuth issuer: which claims admit a client, as whom, and with which scope.
//!
//! Pure. The server verifies the signature and passes the claims and the time; nothing here checks a
//! key.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::authorization::{AuthenticatedPrincipal, CredentialKind, Scope};
use crate::ids::Principal;
use crate::time::Timestamp;
use crate::token::parse_principal;

/// Difference between the issuer's clock and ours that is tolerated.
const MAX_CLOCK_SKEW_SECONDS: i64 = 60;

/// Claim that names the person, unless the rules say another.
pub const DEFAULT_PRINCIPAL_CLAIM: &str = "sub";

/// A name of the issuer's for one of our scopes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeName {
    pub name: String,
    pub scope: Scope,
}

/// Which tokens of an issuer are accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessTokenRules {
    /// The issuer, exactly as its tokens name it (`iss`).
    pub issuer: String,
    /// Who a token has to be for (`aud`): one of these, or a path below one.
    #[serde(default)]
    pub audiences: Vec<String>,
    /// The claim that names the person.
    pub principal_claim: String,
    /// The issuer's names of our scopes.
    pub scopes: Vec<ScopeName>,
}

impl AccessTokenRules {
    /// Returns the rules for an issuer that uses our own names of scopes.
    #[must_use]
    pub fn for_issuer(issuer: &str) -> Self {
        let own_name = |scope: Scope| ScopeName {
            name: scope.as_str().to_owned(),
            scope,
        };
        Self {
            issuer: issuer.to_owned(),
            audiences: Vec::new(),
            principal_claim: DEFAULT_PRINCIPAL_CLAIM.to_owned(),
            scopes: Scope::ALL.map(own_name).to_vec(),
        }
    }

    fn accepts_audience(&self, claims: &Value) -> bool {
        let is_ours = |audience: &str| {
            self.audiences.iter().any(|own| {
                // Only at a `/`: `https://a.example.evil` begins with `https://a.example`, too.
                let rest = audience.strip_prefix(own.trim_end_matches('/'));
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        words_of_claim(claims, "aud").any(is_ours)
    }

    /// Returns the widest scope that a token grants.
    fn granted_scope(&self, claims: &Value) -> Option<Scope> {
        // `scope` is RFC 9068's, one string; `scp` is what two large issuers write instead.
        let granted = ["scope", "scp"]
            .into_iter()
            .flat_map(|claim| words_of_claim(claims, claim).flat_map(str::split_ascii_whitespace));
        granted
            .filter_map(|word| self.scopes.iter().find(|known| known.name == word))
            .map(|known| known.scope)
            .max()
    }

    fn find_principal(&self, claims: &Value) -> Result<Principal, AccessTokenProblem> {
        let name = |claim: &str| claims[claim].as_str().filter(|name| !name.is_empty());
        // Required by RFC 9068, and what tells a program's token from a person's.
        let subject = name("sub").ok_or(AccessTokenProblem::Subject)?;
        if is_program(claims, subject) {
            let agent = format!("agent:{subject}/oauth");
            return parse_principal(&agent).ok_or(AccessTokenProblem::Name);
        }
        // Anybody can register another's address with some issuers; the claim says who proved it.
        if self.principal_claim == "email" && claims["email_verified"] != true {
            return Err(AccessTokenProblem::UnverifiedEmail);
        }
        let person = name(&self.principal_claim).ok_or(AccessTokenProblem::Name)?;
        parse_principal(&format!("human:{person}")).ok_or(AccessTokenProblem::Name)
    }
}

/// Whether a token was given to a program in its own name (client credentials), not to a person.
fn is_program(claims: &Value, subject: &str) -> bool {
    let is_subject = |claim: &str| claims[claim].as_str() == Some(subject);
    is_subject("client_id")
        || is_subject("azp")
        || claims["gty"] == "client-credentials"
        || claims["idtyp"] == "app"
}

/// Returns the words of a claim that is a string or a list of strings.
fn words_of_claim<'c>(claims: &'c Value, claim: &str) -> impl Iterator<Item = &'c str> {
    let items = match &claims[claim] {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    items.iter().filter_map(Value::as_str)
}

/// Why an access token is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessTokenProblem {
    #[error("it is not a signed token (JWT)")]
    Malformed,
    #[error("it is not an access token, or has an extension that is not supported")]
    Kind,
    #[error("the issuer has no key for it")]
    UnknownKey,
    #[error("its signature is wrong")]
    Signature,
    #[error("it is of another issuer")]
    Issuer,
    #[error("it was issued for another server")]
    Audience,
    #[error("it does not say until when it is valid")]
    NoExpiry,
    #[error("it has expired")]
    Expired,
    #[error("it is not valid yet")]
    NotYetValid,
    #[error("it has no subject")]
    Subject,
    #[error("the claim that names its owner is missing or cannot be a name")]
    Name,
    #[error("the issuer has not verified its owner's e-mail address")]
    UnverifiedEmail,
    #[error("it grants no scope of this server")]
    Scope,
}

/// Returns the client that the claims of a verified token admit.
///
/// # Errors
/// [`AccessTokenProblem`].
pub fn judge_claims(
    claims: &Value,
    rules: &AccessTokenRules,
    now: Timestamp,
) -> Result<AuthenticatedPrincipal, AccessTokenProblem> {
    // Compared as it is, without normalising: two spellings may be two tenants of one provider.
    if claims["iss"] != rules.issuer.as_str() {
        return Err(AccessTokenProblem::Issuer);
    }
    if !rules.accepts_audience(claims) {
        return Err(AccessTokenProblem::Audience);
    }
    let now_seconds = now.as_millis().div_euclid(1000);
    // Some issuers write fractions of a second.
    let seconds = |claim: &str| claims[claim].as_f64().map(|value| value as i64);
    // A token without an end could never be revoked by waiting.
    let end = seconds("exp").ok_or(AccessTokenProblem::NoExpiry)?;
    if end.saturating_add(MAX_CLOCK_SKEW_SECONDS) <= now_seconds {
        return Err(AccessTokenProblem::Expired);
    }
    let is_future = |at: i64| at.saturating_sub(MAX_CLOCK_SKEW_SECONDS) > now_seconds;
    // A claim that is there and no number is refused, not skipped.
    for claim in ["nbf", "iat"] {
        match (&claims[claim], seconds(claim)) {
            (Value::Null, _) => {}
            (_, Some(at)) if !is_future(at) => {}
            _ => return Err(AccessTokenProblem::NotYetValid),
        }
    }
    let principal = rules.find_principal(claims)?;
    let granted = rules
        .granted_scope(claims)
        .ok_or(AccessTokenProblem::Scope)?;
    let scope = match principal.is_human() {
        true => granted,
        // What a program does is never a person's decision, whatever its issuer grants.
        false => granted.min(Scope::Agent),
    };
    Ok(AuthenticatedPrincipal {
        principal,
        scope,
        credential: CredentialKind::AccessToken {
            expires_at: Timestamp::from_millis(
                // The same tolerance as above, or a request admitted here would be refused further
                // on.
                end.saturating_add(MAX_CLOCK_SKEW_SECONDS)
                    .saturating_mul(1000),
            ),
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn rules() -> AccessTokenRules {
        AccessTokenRules {
            audiences: vec!["https://plans.example.org".to_owned()],
            ..AccessTokenRules::for_issuer("https://id.example.org")
        }
    }

    fn claims() -> Value {
        json!({
            "iss": "https://id.example.org", "aud": "https://plans.example.org/mcp", "sub": "anna",
            "exp": NOW + 300, "nbf": NOW - 5, "iat": NOW - 5, "scope": "openid agent read",
        })
    }

    fn judge(
        rules: &AccessTokenRules,
        changes: Value,
    ) -> Result<(String, Scope), AccessTokenProblem> {
        let mut claims = claims();
        for (name, value) in changes.as_object().expect("claims") {
            claims[name] = value.clone();
        }
        let admitted = judge_claims(&claims, rules, Timestamp::from_millis(NOW * 1000))?;
        Ok((admitted.principal.to_string(), admitted.scope))
    }

    #[test]
    fn a_person_gets_the_widest_granted_scope() {
        let rules = rules();
        let anna = |scope| Ok(("human:anna".to_owned(), scope));
        assert_eq!(judge(&rules, json!({})), anna(Scope::Agent));
        let list = json!({ "scope": null, "scp": ["read", "approve"] });
        assert_eq!(judge(&rules, list), anna(Scope::Approve));
        let several = json!({ "aud": ["other", "https://plans.example.org"] });
        assert_eq!(judge(&rules, several), anna(Scope::Agent));
        let mut named = rules.clone();
        named.scopes = vec![ScopeName {
            name: "plans.write".to_owned(),
            scope: Scope::Agent,
        }];
        assert_eq!(judge(&named, json!({})), Err(AccessTokenProblem::Scope));
        let theirs = json!({ "scope": "plans.write" });
        assert_eq!(judge(&named, theirs), anna(Scope::Agent));
    }

    #[test]
    fn claims_that_do_not_fit_are_refused() {
        use AccessTokenProblem as Problem;
        let rules = rules();
        for (changes, problem) in [
            (json!({ "iss": "https://evil.example" }), Problem::Issuer),
            (json!({ "iss": "https://id.example.org/" }), Problem::Issuer),
            (json!({ "iss": null }), Problem::Issuer),
            (json!({ "aud": "https://other.example" }), Problem::Audience),
            (
                json!({ "aud": "https://plans.example.org.evil" }),
                Problem::Audience,
            ),
            (json!({ "aud": null }), Problem::Audience),
            (json!({ "exp": NOW - 61 }), Problem::Expired),
            (json!({ "exp": null }), Problem::NoExpiry),
            (json!({ "exp": "never" }), Problem::NoExpiry),
            (json!({ "nbf": NOW + 61 }), Problem::NotYetValid),
            (json!({ "nbf": "later" }), Problem::NotYetValid),
            (json!({ "iat": NOW + 61 }), Problem::NotYetValid),
            (json!({ "sub": null }), Problem::Subject),
            (json!({ "sub": "a/b" }), Problem::Name),
            (json!({ "sub": "a\nb" }), Problem::Name),
            (json!({ "scope": "openid" }), Problem::Scope),
            (json!({ "scope": null }), Problem::Scope),
        ] {
            assert_eq!(judge(&rules, changes.clone()), Err(problem), "{changes}");
        }
        assert!(
            judge(&rules, json!({ "exp": NOW - 59 })).is_ok(),
            "clocks differ"
        );
    }

    #[test]
    fn an_address_counts_only_when_the_issuer_verified_it() {
        let mut rules = rules();
        rules.principal_claim = "email".to_owned();
        let said =
            |verified: Value| json!({ "email": "anna@example.org", "email_verified": verified });
        assert_eq!(
            judge(&rules, said(json!(true))),
            Ok(("human:anna@example.org".to_owned(), Scope::Agent))
        );
        for unverified in [json!(false), json!(null), json!("true")] {
            assert_eq!(
                judge(&rules, said(unverified)),
                Err(AccessTokenProblem::UnverifiedEmail)
            );
        }
    }

    /// A program that was granted `approve` by a careless issuer still decides nothing.
    #[test]
    fn a_program_is_an_agent() {
        for changes in [
            json!({ "client_id": "ci", "sub": "ci" }),
            json!({ "azp": "ci", "sub": "ci" }),
            json!({ "gty": "client-credentials", "sub": "ci" }),
            json!({ "idtyp": "app", "sub": "ci" }),
        ] {
            let mut changes = changes;
            changes["scope"] = json!("admin");
            assert_eq!(
                judge(&rules(), changes),
                Ok(("agent:ci/oauth".to_owned(), Scope::Agent))
            );
        }
    }
}
