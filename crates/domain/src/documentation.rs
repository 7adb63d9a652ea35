//! Addresses of the documentation, for messages: a user of a package has none of its files.

/// Where the documentation is published.
const DOCUMENTATION_URL: &str = "https://github.com/throughline/throughline/blob/main/docs";

/// Returns the address of a guide by the name of its page: `custom-profiles`.
#[must_use]
pub fn guide_address(page: &str) -> String {
    format!("{DOCUMENTATION_URL}/guides/{page}.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_ends_with_the_page() {
        let address = guide_address("custom-profiles");
        assert!(
            address.ends_with("/docs/guides/custom-profiles.md"),
            "{address}"
        );
    }
}
