//! SSH signatures of decisions: finds the user's key, signs with it, verifies signatures.
//!
//! In-process, with the `ssh-key` crate and the SSH agent's socket: no program is started, so none
//! that a repository brings. Ed25519 keys only, also on security keys (through the agent). Encrypted
//! key files are not decrypted: the agent has them.

mod agent;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use domain::decision::{SIGNATURE_NAMESPACE, SignerKey};
use domain::ports::{SignatureTool, SigningFault};
use ssh_key::{Algorithm, HashAlg, LineEnding, PrivateKey, PublicKey, SshSig};

use self::agent::{list_agent_keys, sign_with_agent};
use crate::git::read_signing_key_setting;

/// Maximum size of a key file; those of `ssh-keygen` have a few kilobytes.
const MAX_KEY_FILE_BYTES: u64 = 64 * 1024;

/// What the environment says about the user's keys.
#[derive(Clone, Debug, Default)]
pub struct SigningEnvironment {
    /// A key as git's `user.signingkey` names it, used where git's configuration names none.
    pub signing_key: Option<String>,
    /// Socket of the SSH agent.
    pub agent_socket: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

/// Signs with the user's SSH key, and verifies signatures.
#[derive(Debug)]
pub struct SshSignatures {
    root: PathBuf,
    environment: SigningEnvironment,
}

/// The key that signs, and where its private part is.
enum SigningKey {
    File(Box<PrivateKey>),
    Agent(PublicKey, PathBuf),
}

impl SigningKey {
    fn public_key(&self) -> &PublicKey {
        match self {
            Self::File(key) => key.public_key(),
            Self::Agent(key, _) => key,
        }
    }
}

impl SshSignatures {
    /// Returns the signatures for the project at `root`; nothing is read until one is made.
    #[must_use]
    pub fn new(root: &Path, environment: SigningEnvironment) -> Self {
        Self {
            root: root.to_owned(),
            environment,
        }
    }

    fn choose_key(&self) -> Result<SigningKey, SigningFault> {
        let named =
            read_signing_key_setting(&self.root).or_else(|| self.environment.signing_key.clone());
        let key = match named {
            Some(named) => self.find_named_key(&named)?,
            None => self.find_default_key()?,
        };
        match key.public_key().algorithm() {
            Algorithm::Ed25519 | Algorithm::SkEd25519 => Ok(key),
            other => Err(signing_fault(format!(
                "the signing key has the algorithm `{other}`, and only ed25519 is supported"
            ))),
        }
    }

    /// Finds the key that git's `user.signingkey` names: a literal one, or the path of its public or
    /// private file.
    fn find_named_key(&self, named: &str) -> Result<SigningKey, SigningFault> {
        let literal = named.strip_prefix("key::").or_else(|| {
            let is_key = ["ssh-", "ecdsa-", "sk-"]
                .iter()
                .any(|start| named.starts_with(start));
            is_key.then_some(named)
        });
        if let Some(literal) = literal {
            let key = PublicKey::from_openssh(literal).map_err(|error| {
                signing_fault(format!("`{named}` is not a public key: {error}"))
            })?;
            return self.find_in_agent(&key).ok_or_else(|| {
                signing_fault(format!("the SSH agent does not have the key `{named}`"))
                    .with_step("ssh-add   # the private file of that key")
            });
        }
        let path = self.expand_home(named);
        let text = read_key_file(&path).map_err(|error| {
            signing_fault(format!("cannot read the signing key `{named}`: {error}"))
        })?;
        if text.contains("PRIVATE KEY-----") {
            return self.use_private_file(&path, &text);
        }
        let key = PublicKey::from_openssh(&text)
            .map_err(|error| signing_fault(format!("`{named}` is not an SSH key: {error}")))?;
        if let Some(found) = self.find_in_agent(&key) {
            return Ok(found);
        }
        let private = path.with_extension("");
        match read_key_file(&private) {
            Ok(text) if private != path => self.use_private_file(&private, &text),
            _ => Err(signing_fault(format!(
                "neither the SSH agent nor a file beside `{named}` has its private key"
            ))
            .with_step("ssh-add   # the private file of that key")),
        }
    }

    /// Finds the only key of the agent, or `~/.ssh/id_ed25519`.
    fn find_default_key(&self) -> Result<SigningKey, SigningFault> {
        let socket = self.environment.agent_socket.as_ref();
        let mut keys = socket
            .and_then(|socket| list_agent_keys(socket).ok())
            .unwrap_or_default();
        if let (1, Some(socket), Some(key)) = (keys.len(), socket, keys.pop()) {
            return Ok(SigningKey::Agent(key, socket.clone()));
        }
        let path = self.expand_home("~/.ssh/id_ed25519");
        match read_key_file(&path) {
            Ok(text) => self.use_private_file(&path, &text),
            Err(_) => Err(signing_fault(
                "there is no signing key: git names none, the SSH agent has not exactly one, and \
                 ~/.ssh/id_ed25519 does not exist"
                    .to_owned(),
            )
            .with_step("ssh-keygen -t ed25519   # makes one")
            .with_step("git config --global gpg.format ssh")
            .with_step("git config --global user.signingkey ~/.ssh/id_ed25519.pub")),
        }
    }

    fn use_private_file(&self, path: &Path, text: &str) -> Result<SigningKey, SigningFault> {
        let shown = path.display();
        let key = PrivateKey::from_openssh(text).map_err(|error| {
            signing_fault(format!("`{shown}` is not an OpenSSH private key: {error}"))
        })?;
        if !key.is_encrypted() {
            return Ok(SigningKey::File(Box::new(key)));
        }
        // The public part of an encrypted file is readable.
        self.find_in_agent(key.public_key()).ok_or_else(|| {
            signing_fault(format!(
                "`{shown}` is encrypted, and the SSH agent does not have it"
            ))
            .with_step(format!("ssh-add {shown}"))
        })
    }

    fn find_in_agent(&self, key: &PublicKey) -> Option<SigningKey> {
        let socket = self.environment.agent_socket.as_ref()?;
        let keys = list_agent_keys(socket).ok()?;
        let found = keys
            .into_iter()
            .find(|found| found.key_data() == key.key_data())?;
        Some(SigningKey::Agent(found, socket.clone()))
    }

    fn expand_home(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), &self.environment.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.root.join(path),
        }
    }
}

impl SignatureTool for SshSignatures {
    fn find_signing_key(&self) -> Result<SignerKey, SigningFault> {
        to_signer_key(self.choose_key()?.public_key()).map_err(signing_fault)
    }

    fn sign_content(&self, content: &[u8]) -> Result<String, SigningFault> {
        let make = |key: &SigningKey| -> Result<SshSig, String> {
            match key {
                SigningKey::File(key) => key
                    .sign(SIGNATURE_NAMESPACE, HashAlg::Sha512, content)
                    .map_err(|error| error.to_string()),
                SigningKey::Agent(key, socket) => {
                    let hash = HashAlg::Sha512;
                    let data = SshSig::signed_data(SIGNATURE_NAMESPACE, hash, content)
                        .map_err(|error| error.to_string())?;
                    let signature = sign_with_agent(socket, key, &data)
                        .map_err(|error| format!("the SSH agent: {error}"))?;
                    SshSig::new(key.key_data().clone(), SIGNATURE_NAMESPACE, hash, signature)
                        .map_err(|error| error.to_string())
                }
            }
        };
        make(&self.choose_key()?)
            .and_then(|made| {
                made.to_pem(LineEnding::LF)
                    .map_err(|error| error.to_string())
            })
            .map_err(|why| signing_fault(format!("the decision was not signed: {why}")))
    }

    fn verify_signature(&self, signature: &str, content: &[u8]) -> Result<SignerKey, String> {
        let signature = SshSig::from_pem(signature).map_err(|error| error.to_string())?;
        let key = PublicKey::from(signature.public_key().clone());
        key.verify(SIGNATURE_NAMESPACE, content, &signature)
            .map_err(|error| error.to_string())?;
        to_signer_key(&key)
    }
}

fn to_signer_key(key: &PublicKey) -> Result<SignerKey, String> {
    let text = key.to_openssh().map_err(|error| error.to_string())?;
    let mut words = text.split_whitespace().map(str::to_owned);
    match (words.next(), words.next()) {
        (Some(algorithm), Some(data)) => Ok(SignerKey { algorithm, data }),
        _ => Err("the public key has no text form".to_owned()),
    }
}

fn signing_fault(why: String) -> SigningFault {
    SigningFault {
        why,
        steps: Vec::new(),
    }
}

fn read_key_file(path: &Path) -> io::Result<String> {
    // A pipe would block for ever.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is not a file"));
    }
    let mut text = String::new();
    File::open(path)?
        .take(MAX_KEY_FILE_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use ssh_key::private::Ed25519Keypair;

    use super::*;

    fn private_key() -> PrivateKey {
        PrivateKey::from(Ed25519Keypair::from_seed(&[7; 32]))
    }

    #[expect(clippy::disallowed_methods, reason = "a test writes a key of its own")]
    fn open_tool(folder: &Path) -> SshSignatures {
        let home = folder.to_owned();
        std::fs::create_dir_all(home.join(".ssh")).expect("a folder");
        let text = private_key().to_openssh(LineEnding::LF).expect("a key");
        std::fs::write(home.join(".ssh/id_ed25519"), text.as_bytes()).expect("a key");
        let environment = SigningEnvironment {
            home: Some(home),
            ..SigningEnvironment::default()
        };
        SshSignatures::new(folder, environment)
    }

    #[test]
    fn a_signature_is_of_its_content_and_of_our_namespace() {
        let folder = tempfile::tempdir().expect("a folder");
        let tool = open_tool(folder.path());
        let key = tool.find_signing_key().expect("a key");
        let signature = tool.sign_content(b"approved").expect("a signature");
        assert_eq!(tool.verify_signature(&signature, b"approved"), Ok(key));
        assert!(tool.verify_signature(&signature, b"rejected").is_err());
        assert!(tool.verify_signature("no signature", b"approved").is_err());
        let other = private_key()
            .sign("git", HashAlg::Sha512, b"approved")
            .and_then(|made| made.to_pem(LineEnding::LF))
            .expect("a signature of a commit");
        assert!(tool.verify_signature(&other, b"approved").is_err());
    }

    #[test]
    fn a_missing_key_says_how_to_make_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let tool = SshSignatures::new(folder.path(), SigningEnvironment::default());
        let fault = tool.find_signing_key().expect_err("no key");
        assert!(fault.steps[0].starts_with("ssh-keygen"), "{fault:?}");
    }
}
