//! Writes the built-in profiles as JSON into `crates/domain/src/profile/compiled`, where hooks read
//! them without parsing TOML. Run by `cargo xtask generate`.

use std::path::Path;

use domain::profile::{BUILT_IN_PROFILES, parse_profile};

#[expect(
    clippy::disallowed_methods,
    reason = "a generator of files of the repository, not part of the program"
)]
fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/profile/compiled");
    for (name, text) in BUILT_IN_PROFILES {
        let profile = parse_profile(name, text).expect("built-in profiles are valid");
        let json = serde_json::to_string(&profile).expect("a profile is plain data");
        std::fs::write(folder.join(format!("{name}.json")), json + "\n")
            .expect("the repository is writable");
    }
}
