//! Compact form of a signed token (JWS, RFC 7515): parsed, not yet verified.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use domain::access_token::AccessTokenProblem;
use serde_json::Value;

/// Maximum length of a token.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// A token whose signature has not been verified yet.
#[derive(Debug)]
pub(super) struct SignedToken<'t> {
    /// What the signature is about: header and claims, as they were sent.
    pub(super) signed: &'t [u8],
    pub(super) signature: Vec<u8>,
    /// The algorithm that the token names; the key decides which one is used.
    pub(super) algorithm: String,
    pub(super) key_id: Option<String>,
    pub(super) claims: Value,
}

impl<'t> SignedToken<'t> {
    /// Parses a token.
    ///
    /// # Errors
    /// When it is malformed, or of a kind that is not an access token.
    pub(super) fn parse_compact(token: &'t str) -> Result<Self, AccessTokenProblem> {
        let malformed = AccessTokenProblem::Malformed;
        if token.len() > MAX_TOKEN_BYTES {
            return Err(malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(malformed)?;
        let header = decode_object(header).ok_or(malformed)?;
        let claims = decode_object(claims).ok_or(malformed)?;
        let signature = decode_bytes(signature).ok_or(malformed)?;
        // `crit` lists extensions that have to be understood, and none is.
        if !header["crit"].is_null() || !is_access_token_type(&header["typ"]) {
            return Err(AccessTokenProblem::Kind);
        }
        Ok(Self {
            signed: signed.as_bytes(),
            signature,
            algorithm: header["alg"].as_str().ok_or(malformed)?.to_owned(),
            key_id: header["kid"].as_str().map(str::to_owned),
            claims,
        })
    }
}

/// Whether the type is that of an access token, or none: other signed tokens of the issuer, such as
/// those that end a session, are no credential.
fn is_access_token_type(kind: &Value) -> bool {
    const TYPES: [&str; 3] = ["jwt", "at+jwt", "application/at+jwt"];
    match kind {
        Value::Null => true,
        Value::String(kind) => TYPES.contains(&kind.to_ascii_lowercase().as_str()),
        _ => false,
    }
}

/// Decodes the base64url form of bytes.
pub(super) fn decode_bytes(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

fn decode_object(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_slice(&decode_bytes(text)?).ok()?;
    value.is_object().then_some(value)
}
