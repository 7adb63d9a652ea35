//! Settings of the connection to a team server: its URL, the API token, and the offline policy.

use std::fmt;
use std::net::IpAddr;

use super::declaration::{setting_enum, setting_table};

setting_enum! {
    /// What happens to operations while the server is unreachable.
    pub enum OfflinePolicy {
        /// They are refused, with the reason.
        #[default]
        Refuse = "refuse",
        /// They are queued locally and sent later. Approvals are never queued.
        Queue = "queue",
    }
}

setting_table! {
    /// The connection to a team server.
    pub struct ServerSettings in [server] {
        /// What happens to operations while the team server is unreachable: they are refused, or
        /// queued and sent later (docs/guides/remote.md). Approvals are always refused. The server
        /// is set by `tl team join`, or by THROUGHLINE_URL with THROUGHLINE_TOKEN.
        offline: OfflinePolicy = OfflinePolicy::Refuse, env ["THROUGHLINE_OFFLINE"];
    }
    fields {
        /// The server's address. From the environment or the user's own directory, never from a
        /// file of a repository, which could otherwise redirect the token.
        #[serde(skip)]
        address: Option<ServerAddress>,
    }
}

/// URL of a team server with its API token. `Display` and `Debug` never show the token.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    url: String,
    token: String,
}

impl ServerAddress {
    /// Validates a URL and a token.
    ///
    /// # Errors
    /// When one of them is malformed, or the token would be sent unencrypted.
    pub fn new(url: &str, token: &str) -> Result<Self, String> {
        // Paths are appended with a slash of their own.
        let url = url.trim().trim_end_matches('/');
        let (scheme, rest) = url
            .split_once("://")
            .ok_or("the server's address does not start with https://")?;
        let host_and_port = rest.split('/').next().unwrap_or_default();
        // The user info may be a secret, so the message does not repeat it.
        if host_and_port.contains('@') {
            return Err(
                "the server's address contains a user name or password; pass the token separately"
                    .to_owned(),
            );
        }
        if host_and_port.is_empty()
            || rest.contains(['?', '#', ' ', '\\'])
            || rest.chars().any(char::is_control)
        {
            return Err(
                "the server's address is malformed: expected one like https://plans.example.org"
                    .to_owned(),
            );
        }
        match scheme {
            "https" => {}
            // Plain HTTP would send the token in clear text; on the loopback interface nobody else
            // reads it.
            "http" if is_loopback(host_and_port) => {}
            "http" => {
                return Err(format!(
                    "{scheme}://{host_and_port} is not encrypted and not on this machine: use https://"
                ));
            }
            _ => return Err("the server's address does not start with https://".to_owned()),
        }
        let token = token.trim();
        // It becomes an HTTP header, where a line break would start another header.
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the token is empty or contains characters that no token has".to_owned());
        }
        Ok(Self {
            url: url.to_owned(),
            token: token.to_owned(),
        })
    }

    /// Returns the URL, which is not secret.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the token, for the `Authorization` header and the file it is stored in.
    #[must_use]
    pub fn reveal_token(&self) -> &str {
        &self.token
    }
}

/// Whether nobody else can read or change what is sent to a URL: it is encrypted, or on this
/// machine.
#[must_use]
pub fn is_confidential_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else {
        return false;
    };
    let host_and_port = rest.split(['/', '?']).next().unwrap_or_default();
    let is_plain = !rest.contains(['#', ' ', '\\', '@']) && !rest.chars().any(char::is_control);
    is_plain
        && match scheme {
            "https" => !host_and_port.is_empty(),
            "http" => is_loopback(host_and_port),
            _ => false,
        }
}

fn is_loopback(host_and_port: &str) -> bool {
    // An IPv6 address is in brackets and has colons of its own: `[::1]:7070`.
    let host = match host_and_port.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host_and_port.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

#[cfg(test)]
mod tests {
    use super::{ServerAddress, is_confidential_url};

    #[test]
    fn a_url_is_confidential_when_encrypted_or_on_this_machine() {
        for good in [
            "https://id.example.org",
            "https://id.example.org/keys?p=policy",
            "http://127.0.0.1:9/x",
            "http://[::1]:9",
        ] {
            assert!(is_confidential_url(good), "{good}");
        }
        for wrong in [
            "",
            "id.example.org",
            "https://",
            "ftp://id.example.org",
            "http://id.example.org",
            "http://localhost.evil.example",
            "https://id.example.org@evil.example",
            "https://id.example.org/\nx",
        ] {
            assert!(!is_confidential_url(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_token_never_travels_in_the_open_and_is_never_shown() {
        for good in [
            "https://plans.example.org",
            "https://plans.example.org/team/",
            "http://127.0.0.1:7070",
            "http://localhost:7070/",
            "http://[::1]:7070",
        ] {
            let address = ServerAddress::new(good, " tl_secret\n").expect(good);
            assert_eq!(address.reveal_token(), "tl_secret");
            assert!(
                !format!("{address} {address:?}").contains("secret"),
                "{good}"
            );
            assert!(!address.url().ends_with('/'));
        }
        for bad in [
            "http://plans.example.org",
            "http://127.0.0.1.example.org",
            "http://localhost.example.org",
            "http://10.0.0.1:7070",
            "http://localhost@example.org",
            "https://anna:pa55@example.org",
            "https://",
            "https://a?b",
            "ftp://127.0.0.1",
            "plans.example.org",
            "",
        ] {
            let refused = ServerAddress::new(bad, "tl_secret").expect_err(bad);
            assert!(!refused.contains("pa55"), "{refused}");
        }
        for token in ["", " ", "two words", "line\nbreak", "ключ"] {
            assert!(ServerAddress::new("https://a", token).is_err(), "{token:?}");
        }
    }
}
