//! Origin check: rejects requests for another host (DNS rebinding) and from pages of other sites
//! (CSRF).
//!
//! It covers every route, before authentication. The MCP SDK checks hosts by itself, but origins
//! only on demand, and it never sees the dashboard's requests.

use std::net::IpAddr;
use std::str::FromStr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};

/// Why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OriginRejection {
    /// The `Host` is another one: a name that an attacker let resolve to this address.
    Host,
    /// The `Origin` is a page of another site.
    Origin,
}

/// Public URL of the server behind a reverse proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    https: bool,
    host: String,
    port: u16,
}

impl PublicUrl {
    /// Returns the origin as browsers write it: without the default port.
    #[must_use]
    pub fn origin(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        match self.port == self.default_port() {
            true => format!("{scheme}://{}", self.host),
            false => format!("{scheme}://{}:{}", self.host, self.port),
        }
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the origin with its port, even if it is the default one.
    pub fn origin_with_port(&self) -> String {
        format!(
            "{}://{}:{}",
            if self.https { "https" } else { "http" },
            self.host,
            self.port
        )
    }

    fn default_port(&self) -> u16 {
        if self.https { 443 } else { 80 }
    }

    fn matches_authority(&self, authority: &Authority) -> bool {
        // Host names are case-insensitive.
        authority.host().eq_ignore_ascii_case(&self.host)
            && authority.port_u16().unwrap_or(self.default_port()) == self.port
            && !authority.as_str().contains('@')
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected =
            || format!("`{text}` is not a public URL: expected one like https://plans.example.org");
        let uri: Uri = text.parse().map_err(|_| expected())?;
        let https = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(expected()),
        };
        // `user@host` is rejected: nobody needs it, and it hides the real host from readers.
        let authority = uri
            .authority()
            .filter(|authority| !authority.as_str().contains('@'))
            .ok_or_else(expected)?;
        // A path would need every link and cookie of the dashboard to carry it.
        if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
            return Err(format!(
                "`{text}` has a path: the server needs a host name of its own"
            ));
        }
        let port = authority.port_u16().unwrap_or(if https { 443 } else { 80 });
        Ok(Self {
            https,
            host: authority.host().to_ascii_lowercase(),
            port,
        })
    }
}

/// Check of the `Host` and `Origin` headers.
#[derive(Debug)]
pub(crate) struct OriginCheck {
    port: u16,
    /// Accept only loopback addresses.
    loopback_only: bool,
    public: Option<PublicUrl>,
}

/// Name and attributes of the session cookie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CookieAttributes {
    pub(crate) name: String,
    pub(crate) secure: bool,
}

impl OriginCheck {
    pub(crate) fn new(port: u16, loopback_only: bool, public: Option<PublicUrl>) -> Self {
        Self {
            port,
            loopback_only,
            public,
        }
    }

    /// Checks that a request is for this host, and not from a page of another site.
    pub(crate) fn check_request(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), OriginRejection> {
        // HTTP/1.1 requires `Host`; a request without it cannot be checked.
        let Some(host) = request_host(uri, headers) else {
            return Err(OriginRejection::Host);
        };
        if !self.is_own_address(&host) && !self.is_public_host(&host) {
            return Err(OriginRejection::Host);
        }
        // Programs send no `Origin`, browsers always do for a write: an absent one is accepted
        // here, and `browser_admission` requires it where a cookie is the credential.
        if let Some(origin) = headers.get(ORIGIN) {
            let page = |scheme: &str| -> Option<Authority> {
                origin.to_str().ok()?.strip_prefix(scheme)?.parse().ok()
            };
            let of_proxy = |public: &PublicUrl| {
                page(if public.https { "https://" } else { "http://" })
                    .is_some_and(|page| public.matches_authority(&page))
            };
            if !page("http://").is_some_and(|page| self.is_own_address(&page))
                && !self.public.as_ref().is_some_and(of_proxy)
            {
                return Err(OriginRejection::Origin);
            }
        }
        Ok(())
    }

    /// Returns the attributes of the cookie for a request's host. The name contains the port,
    /// because cookies are shared by all ports of a host: two projects would overwrite each
    /// other's. Behind a proxy there is one name for all servers.
    pub(crate) fn cookie_attributes(&self, uri: &Uri, headers: &HeaderMap) -> CookieAttributes {
        match &self.public {
            Some(public)
                if request_host(uri, headers)
                    .is_some_and(|host| public.matches_authority(&host)) =>
            {
                CookieAttributes {
                    name: if public.https {
                        "__Host-throughline"
                    } else {
                        "throughline"
                    }
                    .to_owned(),
                    secure: public.https,
                }
            }
            _ => CookieAttributes {
                name: format!("throughline-{}", self.port),
                secure: false,
            },
        }
    }

    fn is_public_host(&self, authority: &Authority) -> bool {
        self.public
            .as_ref()
            .is_some_and(|public| public.matches_authority(authority))
    }

    /// Whether a host is this server: `localhost` or an IP address, with its port. No other name is
    /// accepted, because anybody can let a name of theirs resolve here.
    fn is_own_address(&self, authority: &Authority) -> bool {
        let host = authority.host();
        let address = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host)
            .parse::<IpAddr>();
        // An IP address cannot be rebound, so any address of this machine is accepted where other
        // machines may connect.
        let reaches_us = match address {
            Ok(address) => !self.loopback_only || address.is_loopback(),
            Err(_) => host.eq_ignore_ascii_case("localhost"),
        };
        reaches_us
            // The port counts too: another service on this machine is another origin.
            && authority.port_u16().unwrap_or(80) == self.port
            && !authority.as_str().contains('@')
    }
}

fn request_host(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    // The header first: a request line with an absolute URI comes only from proxies.
    match headers.get(HOST) {
        Some(host) => host.to_str().ok()?.parse().ok(),
        None => uri.authority().cloned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(
        check: &OriginCheck,
        headers: &[(&'static str, &str)],
    ) -> Result<(), OriginRejection> {
        let pair = |(name, value): &(&'static str, &str)| {
            (
                axum::http::HeaderName::from_static(name),
                value.parse().expect("a header"),
            )
        };
        check.check_request(
            &Uri::from_static("/mcp"),
            &headers.iter().map(pair).collect(),
        )
    }

    #[test]
    fn only_our_own_host_is_let_in() {
        let check = OriginCheck::new(7070, true, None);
        for host in [
            "localhost:7070",
            "LOCALHOST:7070",
            "127.0.0.1:7070",
            "127.0.0.2:7070",
            "[::1]:7070",
        ] {
            assert_eq!(checked(&check, &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "localhost",
            "localhost:7071",
            "evil.example:7070",
            "192.168.0.1:7070",
            "a@localhost:7070",
            "",
            "[",
        ] {
            assert_eq!(
                checked(&check, &[("host", host)]),
                Err(OriginRejection::Host),
                "{host}"
            );
        }
        assert_eq!(checked(&check, &[]), Err(OriginRejection::Host));
        // Other machines may connect: their address in `Host` is ours, but names stay refused.
        let open = OriginCheck::new(7070, false, None);
        assert_eq!(checked(&open, &[("host", "192.168.0.1:7070")]), Ok(()));
        assert_eq!(
            checked(&open, &[("host", "evil.example:7070")]),
            Err(OriginRejection::Host)
        );
    }

    #[test]
    fn pages_of_others_are_turned_away() {
        let check = OriginCheck::new(7070, true, None);
        let from =
            |origin: &str| checked(&check, &[("host", "localhost:7070"), ("origin", origin)]);
        assert_eq!(from("http://localhost:7070"), Ok(()));
        assert_eq!(from("http://127.0.0.1:7070"), Ok(()));
        for origin in [
            "http://evil.example",
            "http://localhost:80",
            "https://localhost:7070",
            "null",
            "http://localhost:7070.evil",
        ] {
            assert_eq!(from(origin), Err(OriginRejection::Origin), "{origin}");
        }
    }

    #[test]
    fn a_proxy_is_let_in_by_the_name_it_serves() {
        let check = OriginCheck::new(
            7070,
            true,
            Some("https://Plans.Example.org".parse().expect("an address")),
        );
        // A public URL adds a name; the loopback addresses stay valid for local clients.
        let local = checked(
            &check,
            &[
                ("host", "localhost:7070"),
                ("origin", "http://localhost:7070"),
            ],
        );
        assert_eq!(local, Ok(()), "this machine as before");
        let from =
            |host: &str, origin: &str| checked(&check, &[("host", host), ("origin", origin)]);
        for host in [
            "plans.example.org",
            "PLANS.example.org",
            "plans.example.org:443",
        ] {
            assert_eq!(checked(&check, &[("host", host)]), Ok(()), "{host}");
            assert_eq!(from(host, "https://plans.example.org"), Ok(()), "{host}");
            for origin in [
                "http://plans.example.org",
                "https://plans.example.org:7070",
                "https://evil.example",
                "null",
            ] {
                assert_eq!(from(host, origin), Err(OriginRejection::Origin), "{origin}");
            }
        }
        for host in [
            "example.org",
            "plans.example.org:7070",
            "plans.example.org:80",
            "a@plans.example.org",
        ] {
            assert_eq!(
                checked(&check, &[("host", host)]),
                Err(OriginRejection::Host),
                "{host}"
            );
        }
    }

    #[test]
    fn a_cookie_behind_https_is_for_https_alone() {
        let check = OriginCheck::new(
            7070,
            true,
            Some("https://plans.example.org".parse().expect("an address")),
        );
        let cookie = |host: &str| {
            check.cookie_attributes(
                &Uri::from_static("/"),
                &[(HOST, host.parse().expect("a header"))]
                    .into_iter()
                    .collect(),
            )
        };
        let public = CookieAttributes {
            name: "__Host-throughline".to_owned(),
            secure: true,
        };
        assert_eq!(cookie("plans.example.org"), public);
        let local = CookieAttributes {
            name: "throughline-7070".to_owned(),
            secure: false,
        };
        assert_eq!(cookie("localhost:7070"), local);
    }

    #[test]
    fn a_public_address_is_a_host_and_nothing_else() {
        let read = |text: &str| text.parse::<PublicUrl>().map(|public| public.origin());
        assert_eq!(
            read("https://plans.example.org/"),
            Ok("https://plans.example.org".to_owned())
        );
        assert_eq!(
            read("https://plans.example.org:8443"),
            Ok("https://plans.example.org:8443".to_owned())
        );
        assert_eq!(
            read("http://plans.lan:80"),
            Ok("http://plans.lan".to_owned())
        );
        for wrong in [
            "plans.example.org",
            "ftp://a",
            "https://a/b",
            "https://a?b",
            "https://u:p@a",
            "https://",
            "",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
