//! Random secrets for tokens and seals.

use domain::ids::Digest32;

/// Returns 256 random bits as hexadecimal digits.
#[must_use]
pub fn generate_secret() -> String {
    // A v4 UUID has 122 random bits; three of them have more than the digest keeps.
    let ids = [
        uuid::Uuid::new_v4(),
        uuid::Uuid::new_v4(),
        uuid::Uuid::new_v4(),
    ];
    Digest32::of_bytes(ids.map(uuid::Uuid::into_bytes).as_flattened()).to_string()
}
