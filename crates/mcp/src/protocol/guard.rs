//! Who may speak to us over HTTP: the right host, no foreign page, the right token.
//!
//! The SDK checks hosts by itself but no origins unless told to; both are checked here, before it sees anything.

use std::net::IpAddr;

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use domain::ids::Digest32;

/// Why a request is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TurnedAway {
    /// Meant for another host: a name that was made to lead here.
    Host,
    /// Sent by a page of somebody else.
    Origin,
    /// Without a token, or with a wrong one.
    Token,
}

/// What is let in.
#[derive(Debug)]
pub(super) struct Guard {
    port: u16,
    /// Only this machine's own addresses.
    loopback_only: bool,
    /// The token's digest; nothing when none is asked for.
    token: Option<Digest32>,
}

impl Guard {
    pub(super) fn new(port: u16, loopback_only: bool, token: Option<&str>) -> Self {
        Self { port, loopback_only, token: token.map(|token| Digest32::of(token.as_bytes())) }
    }

    /// Checks a request of a client by what it says about itself.
    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), TurnedAway> {
        self.check_place(uri, headers)?;
        if self.shows_token(headers) { Ok(()) } else { Err(TurnedAway::Token) }
    }

    /// Checks that a request is meant for us, and sent by nobody else's page.
    pub(super) fn check_place(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), TurnedAway> {
        let host = match headers.get(HOST) {
            Some(host) => host.to_str().ok().and_then(|host| host.parse::<Authority>().ok()),
            None => uri.authority().cloned(),
        };
        if !host.is_some_and(|host| self.is_ours(&host)) {
            return Err(TurnedAway::Host);
        }
        // Only pages have an origin; a page of ours is on this very host and port.
        if let Some(origin) = headers.get(ORIGIN) {
            let page = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://")?.parse().ok());
            if !page.is_some_and(|page: Authority| self.is_ours(&page)) {
                return Err(TurnedAway::Origin);
            }
        }
        Ok(())
    }

    /// Says whether the token is in the headers, or none is asked for.
    pub(super) fn shows_token(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(AUTHORIZATION).and_then(|given| given.to_str().ok()).and_then(bearer);
        self.token.is_none() || given.is_some_and(|given| self.is_token(given))
    }

    /// Says whether this is the token.
    pub(super) fn is_token(&self, given: &str) -> bool {
        self.token.as_ref().is_some_and(|expected| same(expected, &Digest32::of(given.as_bytes())))
    }

    /// Returns the cookie that a browser gets for the token: its name, which has the port in it because cookies know none,
    /// and its value, from which the token cannot be found.
    pub(super) fn cookie(&self) -> Option<(String, String)> {
        let token = self.token.as_ref()?;
        let value = Digest32::of(format!("a browser that showed {token}").as_bytes());
        Some((format!("throughline-{}", self.port), value.to_string()))
    }

    /// Says whether a browser sent the cookie.
    pub(super) fn shows_cookie(&self, headers: &HeaderMap) -> bool {
        let Some((name, value)) = self.cookie() else { return true };
        let expected = Digest32::of(value.as_bytes());
        let sent = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
        sent.flat_map(|header| header.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .any(|(key, given)| key == name && same(&expected, &Digest32::of(given.as_bytes())))
    }

    /// Says whether a host is this server: `localhost` or an address, which no name can be made to be, and our port.
    fn is_ours(&self, authority: &Authority) -> bool {
        let host = authority.host();
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).parse::<IpAddr>();
        let reaches_us = match address {
            Ok(address) => !self.loopback_only || address.is_loopback(),
            Err(_) => host.eq_ignore_ascii_case("localhost"),
        };
        reaches_us && authority.port_u16().unwrap_or(80) == self.port && !authority.as_str().contains('@')
    }
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Compares digests in a time that does not tell how much of them is the same.
fn same(a: &Digest32, b: &Digest32) -> bool {
    a.0.iter().zip(b.0).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(guard: &Guard, headers: &[(&'static str, &str)]) -> Result<(), TurnedAway> {
        let pair = |(name, value): &(&'static str, &str)| {
            (axum::http::HeaderName::from_static(name), value.parse().expect("a header"))
        };
        guard.check(&Uri::from_static("/mcp"), &headers.iter().map(pair).collect())
    }

    #[test]
    fn only_our_own_host_is_let_in() {
        let guard = Guard::new(7070, true, None);
        for host in ["localhost:7070", "LOCALHOST:7070", "127.0.0.1:7070", "127.0.0.2:7070", "[::1]:7070"] {
            assert_eq!(checked(&guard, &[("host", host)]), Ok(()), "{host}");
        }
        for host in
            ["localhost", "localhost:7071", "evil.example:7070", "192.168.0.1:7070", "a@localhost:7070", "", "["]
        {
            assert_eq!(checked(&guard, &[("host", host)]), Err(TurnedAway::Host), "{host}");
        }
        assert_eq!(checked(&guard, &[]), Err(TurnedAway::Host));
        let open = Guard::new(7070, false, None);
        assert_eq!(checked(&open, &[("host", "192.168.0.1:7070")]), Ok(()));
        assert_eq!(checked(&open, &[("host", "evil.example:7070")]), Err(TurnedAway::Host));
    }

    #[test]
    fn pages_of_others_are_turned_away() {
        let guard = Guard::new(7070, true, None);
        let from = |origin: &str| checked(&guard, &[("host", "localhost:7070"), ("origin", origin)]);
        assert_eq!(from("http://localhost:7070"), Ok(()));
        assert_eq!(from("http://127.0.0.1:7070"), Ok(()));
        for origin in [
            "http://evil.example",
            "http://localhost:80",
            "https://localhost:7070",
            "null",
            "http://localhost:7070.evil",
        ] {
            assert_eq!(from(origin), Err(TurnedAway::Origin), "{origin}");
        }
    }

    #[test]
    fn the_cookie_stands_for_the_token_on_pages_alone() {
        let guard = Guard::new(7070, true, Some("secret"));
        let (name, value) = guard.cookie().expect("a cookie");
        let with =
            |cookie: String| -> HeaderMap { [(COOKIE, cookie.parse().expect("a header"))].into_iter().collect() };
        assert!(guard.shows_cookie(&with(format!("a=b; {name}={value}"))));
        assert!(!guard.shows_cookie(&with(format!("{name}=secret"))));
        assert!(!guard.shows_cookie(&with(format!("throughline-7071={value}"))));
        assert!(!guard.shows_cookie(&HeaderMap::new()));
        assert!(!guard.shows_token(&with(format!("{name}={value}"))), "a client of /mcp shows the token itself");
        assert!(Guard::new(7070, true, None).shows_cookie(&HeaderMap::new()), "none is asked for");
    }

    #[test]
    fn the_token_must_be_right() {
        let guard = Guard::new(7070, true, Some("secret"));
        let with = |header: &str| checked(&guard, &[("host", "localhost:7070"), ("authorization", header)]);
        assert_eq!(with("Bearer secret"), Ok(()));
        assert_eq!(with("bearer secret"), Ok(()));
        for header in ["Bearer", "Bearer ", "Bearer Secret", "Bearer secret2", "Basic secret", "secret"] {
            assert_eq!(with(header), Err(TurnedAway::Token), "{header}");
        }
        assert_eq!(checked(&guard, &[("host", "localhost:7070")]), Err(TurnedAway::Token));
    }
}
