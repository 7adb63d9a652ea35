//! A small OAuth issuer on this machine: its metadata and keys over HTTP, and tokens it signs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

/// An issuer that serves until the test ends.
pub struct Issuer {
    pub url: String,
    shared: Arc<Shared>,
}

struct Shared {
    keys: Mutex<IssuerKeys>,
    /// Whether it responds at all.
    is_down: Mutex<bool>,
    reads: AtomicU64,
}

/// One key of each algorithm, and the number in their ids.
struct IssuerKeys {
    edwards: Ed25519KeyPair,
    point: EcdsaKeyPair,
    number: u64,
}

impl IssuerKeys {
    fn generate(number: u64) -> Self {
        let random = SystemRandom::new();
        let edwards = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let point = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
        Self {
            edwards: Ed25519KeyPair::from_pkcs8(edwards.as_ref()).expect("a key"),
            point: EcdsaKeyPair::from_pkcs8(algorithm, point.as_ref(), &random).expect("a key"),
            number,
        }
    }

    fn key_id(&self, algorithm: &str) -> String {
        format!("{algorithm}-{}", self.number)
    }

    fn public_keys(&self) -> Value {
        let point = self.point.public_key().as_ref();
        let (x, y) = point.get(1..).expect("a point").split_at(32);
        json!({ "keys": [
            {
                "kty": "OKP", "crv": "Ed25519", "use": "sig", "alg": "EdDSA",
                "kid": self.key_id("EdDSA"), "x": encode(self.edwards.public_key().as_ref()),
            },
            {
                "kty": "EC", "crv": "P-256", "kid": self.key_id("ES256"),
                "x": encode(x), "y": encode(y),
            },
        ] })
    }

    fn sign(&self, algorithm: &str, text: &[u8]) -> Vec<u8> {
        match algorithm {
            "EdDSA" => self.edwards.sign(text).as_ref().to_vec(),
            "ES256" => {
                let signed = self.point.sign(&SystemRandom::new(), text);
                signed.expect("a signature").as_ref().to_vec()
            }
            // The attack on verifiers that let the token choose: a public key used as a secret.
            "HS256" => {
                let public = self.edwards.public_key().as_ref();
                let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, public);
                ring::hmac::sign(&key, text).as_ref().to_vec()
            }
            _ => Vec::new(),
        }
    }
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Issuer {
    /// Starts an issuer.
    ///
    /// # Panics
    /// When the machine has no free port.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let shared = Arc::new(Shared {
            keys: Mutex::new(IssuerKeys::generate(1)),
            is_down: Mutex::new(false),
            reads: AtomicU64::new(0),
        });
        let (served, issuer) = (shared.clone(), url.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that went away is no failure of the test.
                let _ = served.answer(stream, &issuer);
            }
        });
        Self { url, shared }
    }

    /// Replaces the keys; the old ones are withdrawn.
    pub fn rotate_keys(&self) {
        let mut keys = self.lock_keys();
        *keys = IssuerKeys::generate(keys.number + 1);
    }

    /// Stops or starts responding.
    pub fn set_down(&self, is_down: bool) {
        let down = self.shared.is_down.lock();
        *down.unwrap_or_else(PoisonError::into_inner) = is_down;
    }

    /// Returns how often its documents were read.
    #[must_use]
    pub fn count_reads(&self) -> u64 {
        self.shared.reads.load(Ordering::Relaxed)
    }

    /// Signs claims with the present key of an algorithm.
    #[must_use]
    pub fn sign(&self, algorithm: &str, claims: &Value) -> String {
        let kid = match algorithm {
            // Attacks name a key that exists.
            "ES256" => self.lock_keys().key_id("ES256"),
            _ => self.lock_keys().key_id("EdDSA"),
        };
        self.sign_with(&json!({ "alg": algorithm, "kid": kid }), claims)
    }

    /// Signs claims under any header.
    #[must_use]
    pub fn sign_with(&self, header: &Value, claims: &Value) -> String {
        let signed = format!(
            "{}.{}",
            encode(header.to_string().as_bytes()),
            encode(claims.to_string().as_bytes())
        );
        let algorithm = header["alg"].as_str().unwrap_or_default();
        let signature = self.lock_keys().sign(algorithm, signed.as_bytes());
        format!("{signed}.{}", encode(&signature))
    }

    fn lock_keys(&self) -> std::sync::MutexGuard<'_, IssuerKeys> {
        let keys = self.shared.keys.lock();
        keys.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shared {
    fn answer(&self, mut stream: TcpStream, issuer: &str) -> std::io::Result<()> {
        let mut request = Vec::new();
        let mut buffer = [0; 1024];
        while !request.windows(4).any(|end| end == b"\r\n\r\n") {
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                count => request.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            }
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        let path = request.split(' ').nth(1).unwrap_or_default();
        self.reads.fetch_add(1, Ordering::Relaxed);
        let is_down = *self.is_down.lock().unwrap_or_else(PoisonError::into_inner);
        let body = match path {
            _ if is_down => None,
            "/.well-known/openid-configuration" => {
                Some(json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys") }))
            }
            "/keys" => {
                let keys = self.keys.lock();
                Some(keys.unwrap_or_else(PoisonError::into_inner).public_keys())
            }
            _ => None,
        };
        let (status, body) = match body {
            Some(body) => ("200 OK", body.to_string()),
            None => ("503 Service Unavailable", "{}".to_owned()),
        };
        write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    }
}
