//! Key set of an issuer (JWKS, RFC 7517), and verification of signatures with it.
//!
//! The algorithm follows from the key, never from the token: a token that names `none`, or HMAC with
//! the public key as its secret, matches no key.

use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use serde_json::Value;

use super::signed_token::{SignedToken, decode_bytes};

/// Maximum number of keys that are used; issuers have two or three.
const MAX_KEYS: usize = 32;

/// The keys of an issuer.
#[derive(Debug)]
pub(super) struct KeySet {
    keys: Vec<VerifyingKey>,
}

/// Result of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verification {
    Valid,
    /// No key has the token's id and algorithm.
    UnknownKey,
    Invalid,
}

#[derive(Debug)]
struct VerifyingKey {
    id: Option<String>,
    material: KeyMaterial,
}

#[derive(Debug)]
enum KeyMaterial {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    Ed25519(Vec<u8>),
}

impl KeySet {
    /// Reads a key set; keys of other kinds and for other purposes are skipped.
    pub(super) fn from_json(document: &Value) -> Option<Self> {
        let keys = document["keys"].as_array()?;
        Some(Self {
            keys: keys
                .iter()
                .filter_map(VerifyingKey::from_json)
                .take(MAX_KEYS)
                .collect(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Verifies the signature of a token with the key it names, or with any of its algorithm.
    pub(super) fn verify_signature(&self, token: &SignedToken<'_>) -> Verification {
        let is_candidate = |key: &&VerifyingKey| {
            key.material.algorithm_name() == token.algorithm
                && (token.key_id.is_none() || key.id == token.key_id)
        };
        let mut candidates = self.keys.iter().filter(is_candidate).peekable();
        if candidates.peek().is_none() {
            return Verification::UnknownKey;
        }
        match candidates.any(|key| key.material.verify_bytes(token.signed, &token.signature)) {
            true => Verification::Valid,
            // Without an id the key may be one that was added since.
            false if token.key_id.is_none() => Verification::UnknownKey,
            false => Verification::Invalid,
        }
    }
}

impl VerifyingKey {
    fn from_json(key: &Value) -> Option<Self> {
        // A key for encryption does not sign.
        if key["use"].as_str().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let material = KeyMaterial::from_json(key)?;
        if key["alg"]
            .as_str()
            .is_some_and(|named| named != material.algorithm_name())
        {
            return None;
        }
        Some(Self {
            id: key["kid"].as_str().map(str::to_owned),
            material,
        })
    }
}

impl KeyMaterial {
    fn from_json(key: &Value) -> Option<Self> {
        let bytes = |name: &str| decode_bytes(key[name].as_str()?);
        match (key["kty"].as_str()?, key["crv"].as_str()) {
            ("RSA", _) => Some(Self::Rsa {
                modulus: without_leading_zeros(bytes("n")?),
                exponent: without_leading_zeros(bytes("e")?),
            }),
            ("EC", Some("P-256")) => {
                let (x, y) = (bytes("x")?, bytes("y")?);
                // The uncompressed form of a point.
                let point = [&[4], x.as_slice(), y.as_slice()].concat();
                (x.len() == 32 && y.len() == 32).then_some(Self::P256(point))
            }
            ("OKP", Some("Ed25519")) => Some(Self::Ed25519(bytes("x")?)),
            _ => None,
        }
    }

    fn algorithm_name(&self) -> &'static str {
        match self {
            Self::Rsa { .. } => "RS256",
            Self::P256(_) => "ES256",
            Self::Ed25519(_) => "EdDSA",
        }
    }

    fn verify_bytes(&self, signed: &[u8], signature: &[u8]) -> bool {
        let verified = match self {
            Self::Rsa { modulus, exponent } => RsaPublicKeyComponents {
                n: modulus,
                e: exponent,
            }
            .verify(&RSA_PKCS1_2048_8192_SHA256, signed, signature),
            Self::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(signed, signature)
            }
            Self::Ed25519(point) => {
                UnparsedPublicKey::new(&ED25519, point).verify(signed, signature)
            }
        };
        verified.is_ok()
    }
}

/// Some issuers write a zero byte before the modulus, which `ring` refuses.
fn without_leading_zeros(bytes: Vec<u8>) -> Vec<u8> {
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The examples of RFC 7515 (A.2, A.3) and RFC 8037 (A.4), whose claims are not ours.
    fn examples() -> [(&'static str, Value, String); 3] {
        let rsa = json!({
            "kty": "RSA", "e": "AQAB",
            "n": "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
        });
        let point = json!({
            "kty": "EC", "crv": "P-256",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
            "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        });
        let edwards = json!({
            "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
        });
        let claims = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        [
            (
                "RS256",
                rsa,
                format!(
                    "eyJhbGciOiJSUzI1NiJ9.{claims}.cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
                ),
            ),
            (
                "ES256",
                point,
                format!(
                    "eyJhbGciOiJFUzI1NiJ9.{claims}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
                ),
            ),
            (
                // Its payload is a sentence, not claims, so it is verified without being parsed.
                "EdDSA",
                edwards,
                "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg".to_owned(),
            ),
        ]
    }

    fn unverified(algorithm: &str, token: &'static str) -> SignedToken<'static> {
        let (signed, signature) = token.rsplit_once('.').expect("a signature");
        SignedToken {
            signed: signed.as_bytes(),
            signature: decode_bytes(signature).expect("base64"),
            algorithm: algorithm.to_owned(),
            key_id: Some("k".to_owned()),
            claims: Value::Null,
        }
    }

    fn set_with(mut key: Value) -> KeySet {
        key["kid"] = json!("k");
        KeySet::from_json(&json!({ "keys": [key] })).expect("a key set")
    }

    #[test]
    fn the_examples_of_the_standards_are_verified() {
        for (algorithm, key, token) in examples() {
            let keys = set_with(key);
            let mut token = unverified(algorithm, token.leak());
            assert_eq!(
                keys.verify_signature(&token),
                Verification::Valid,
                "{algorithm}"
            );
            token.signature[7] ^= 1;
            assert_eq!(keys.verify_signature(&token), Verification::Invalid);
            token.signature[7] ^= 1;
            token.signed = b"something else";
            assert_eq!(keys.verify_signature(&token), Verification::Invalid);
        }
    }

    #[test]
    fn the_key_decides_the_algorithm() {
        for (_, key, token) in examples() {
            let keys = set_with(key);
            let token: &'static str = token.leak();
            for claimed in ["none", "None", "HS256", "PS256", "RS512", "ES384", ""] {
                assert_eq!(
                    keys.verify_signature(&unverified(claimed, token)),
                    Verification::UnknownKey,
                    "{claimed}"
                );
            }
        }
    }

    #[test]
    fn keys_that_do_not_sign_are_skipped() {
        let [(_, rsa, _), ..] = examples();
        let mut encrypting = rsa.clone();
        encrypting["use"] = json!("enc");
        let mut other = rsa;
        other["alg"] = json!("PS256");
        let symmetric = json!({ "kty": "oct", "k": "c2VjcmV0" });
        let short = json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA" });
        let set = json!({ "keys": [encrypting, other, symmetric, short, 7, {}] });
        assert!(KeySet::from_json(&set).expect("a key set").is_empty());
        assert!(KeySet::from_json(&json!({ "keys": "none" })).is_none());
    }
}
