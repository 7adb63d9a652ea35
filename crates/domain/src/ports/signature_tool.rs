//! SSH signatures: makes them with the user's key, and verifies those of others.

use crate::decision::SignerKey;

/// Makes and verifies SSH signatures of decisions.
///
/// Knows keys, not people: whose key counts is decided by [`crate::decision::check_signer`].
pub trait SignatureTool {
    /// Returns the public part of the key this user signs with.
    ///
    /// # Errors
    /// Why there is none, and what to do.
    fn find_signing_key(&self) -> Result<SignerKey, SigningFault>;

    /// Signs with the key of [`Self::find_signing_key`]; returns the armored signature.
    ///
    /// # Errors
    /// Why it was not signed, and what to do.
    fn sign_content(&self, content: &[u8]) -> Result<String, SigningFault>;

    /// Verifies an armored signature and returns the key that made it.
    ///
    /// # Errors
    /// Why it is not a signature of this content.
    fn verify_signature(&self, signature: &str, content: &[u8]) -> Result<SignerKey, String>;
}

/// Why nothing could be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SigningFault {
    pub why: String,
    /// The next steps of the user.
    pub steps: Vec<String>,
}

impl SigningFault {
    /// Adds a next step.
    #[must_use]
    pub fn with_step(mut self, step: impl Into<String>) -> Self {
        self.steps.push(step.into());
        self
    }
}

/// Null implementation, for callers that neither decide nor receive decisions.
#[derive(Clone, Copy, Debug)]
pub struct NoSignatures;

impl SignatureTool for NoSignatures {
    fn find_signing_key(&self) -> Result<SignerKey, SigningFault> {
        Err(SigningFault {
            why: "there is no signing key here".to_owned(),
            steps: Vec::new(),
        })
    }

    fn sign_content(&self, _content: &[u8]) -> Result<String, SigningFault> {
        self.find_signing_key().map(|key| key.to_string())
    }

    fn verify_signature(&self, _signature: &str, _content: &[u8]) -> Result<SignerKey, String> {
        Err("signatures cannot be verified here".to_owned())
    }
}
