//! Rate limiting: token buckets per API token or owner of access tokens, and per address for unknown
//! tokens.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use domain::authorization::{AuthenticatedPrincipal, CredentialKind};
use domain::ids::Principal;

/// Requests per second, and the burst allowed after a quiet time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateLimit {
    pub per_second: f64,
    pub burst: f64,
}

impl RateLimit {
    /// Returns a limit with a burst of four seconds' worth.
    #[must_use]
    pub fn per_second(number: u32) -> Self {
        Self {
            per_second: number.into(),
            // A dashboard page loads a dozen files at once.
            burst: f64::from(number) * 4.0,
        }
    }
}

impl Default for RateLimit {
    fn default() -> Self {
        Self::per_second(100)
    }
}

/// Limit of unknown tokens per address.
const UNKNOWN_TOKEN_LIMIT: RateLimit = RateLimit {
    per_second: 5.0,
    burst: 20.0,
};

/// Maximum number of buckets in memory; full ones are dropped first, since a new bucket is full
/// too.
const MAX_BUCKETS: usize = 10_000;

struct Bucket {
    left: f64,
    at: Instant,
}

struct BucketMap<K> {
    rate: RateLimit,
    held: Mutex<HashMap<K, Bucket>>,
}

impl<K: Hash + Eq> BucketMap<K> {
    fn new(rate: RateLimit) -> Self {
        Self {
            rate,
            held: Mutex::default(),
        }
    }

    /// Takes one token from a bucket, or returns the time until there is one.
    fn take_one(&self, key: K, now: Instant) -> Result<(), Duration> {
        let RateLimit { per_second, burst } = self.rate;
        let filled = |bucket: &Bucket| {
            (bucket.left + now.saturating_duration_since(bucket.at).as_secs_f64() * per_second)
                .min(burst)
        };
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() >= MAX_BUCKETS && !held.contains_key(&key) {
            // A full bucket carries no information: its key would get a full one again.
            held.retain(|_, bucket| filled(bucket) < burst);
            // A flood from many addresses: rejecting the new ones bounds the memory.
            if held.len() >= MAX_BUCKETS {
                return Err(Duration::from_secs(1));
            }
        }
        let bucket = held.entry(key).or_insert(Bucket {
            left: burst,
            at: now,
        });
        // Refilled on use by the time passed, so no timer is needed.
        let left = filled(bucket);
        if left < 1.0 {
            // Exactly until the next token; the response rounds it up to seconds.
            return Err(Duration::from_secs_f64((1.0 - left) / per_second));
        }
        *bucket = Bucket {
            left: left - 1.0,
            at: now,
        };
        Ok(())
    }
}

/// A client with a limit of its own.
#[derive(PartialEq, Eq, Hash)]
enum LimitedClient {
    Token(u64),
    /// A client of the OAuth issuer: its tokens change every few minutes, its owner does not.
    Principal(Principal),
}

pub(crate) struct RateLimiter {
    tokens: BucketMap<LimitedClient>,
    strangers: BucketMap<IpAddr>,
}

impl RateLimiter {
    pub(crate) fn new(rate: RateLimit) -> Self {
        Self {
            tokens: BucketMap::new(rate),
            strangers: BucketMap::new(UNKNOWN_TOKEN_LIMIT),
        }
    }

    /// Counts a request of an authenticated client.
    pub(crate) fn check_client(&self, client: &AuthenticatedPrincipal) -> Result<(), Duration> {
        let key = match client.credential {
            // The start-up secret has no limit: it is its owner's, on their own machine.
            CredentialKind::StartupSecret => return Ok(()),
            CredentialKind::Token(id) => LimitedClient::Token(id),
            CredentialKind::AccessToken { .. } => {
                LimitedClient::Principal(client.principal.clone())
            }
        };
        self.tokens.take_one(key, Instant::now())
    }

    /// Counts an unknown token from an address.
    pub(crate) fn check_address(&self, address: IpAddr) -> Result<(), Duration> {
        self.strangers
            .take_one(network_prefix(address), Instant::now())
    }
}

/// Returns the /64 network of an IPv6 address: one machine has all of its addresses.
fn network_prefix(address: IpAddr) -> IpAddr {
    match address {
        // An IPv4 address is one machine, or many behind NAT, which cannot be told apart.
        IpAddr::V4(_) => address,
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_let_through_and_then_the_rate() {
        let buckets = BucketMap::new(RateLimit {
            per_second: 10.0,
            burst: 3.0,
        });
        let start = Instant::now();
        for _ in 0..3 {
            assert_eq!(buckets.take_one("a", start), Ok(()));
        }
        let wait = buckets
            .take_one("a", start)
            .expect_err("the bucket is empty");
        assert_eq!(wait, Duration::from_millis(100));
        assert_eq!(buckets.take_one("b", start), Ok(()), "each has its own");
        assert!(
            buckets
                .take_one("a", start + Duration::from_millis(50))
                .is_err()
        );
        assert_eq!(
            buckets.take_one("a", start + Duration::from_millis(101)),
            Ok(())
        );
        let later = start + Duration::from_secs(60);
        assert_eq!(
            (0..9)
                .filter(|_| buckets.take_one("a", later).is_ok())
                .count(),
            3,
            "never more than a burst"
        );
    }

    #[test]
    fn many_strangers_fill_no_memory() {
        let buckets = BucketMap::new(RateLimit {
            per_second: 1.0,
            burst: 2.0,
        });
        let start = Instant::now();
        for key in 0..MAX_BUCKETS {
            assert_eq!(buckets.take_one(key, start), Ok(()));
        }
        assert!(buckets.take_one(MAX_BUCKETS, start).is_err());
        assert_eq!(
            buckets.take_one(MAX_BUCKETS, start + Duration::from_secs(2)),
            Ok(()),
            "those that waited are forgotten"
        );
        assert_eq!(buckets.held.lock().expect("no panic").len(), 1);
    }

    #[test]
    fn addresses_of_one_network_count_together() {
        let address = |text: &str| network_prefix(text.parse().expect("an address"));
        assert_eq!(address("2001:db8:1:2::1"), address("2001:db8:1:2:ffff::9"));
        assert_ne!(address("2001:db8:1:2::1"), address("2001:db8:1:3::1"));
        assert_ne!(address("192.0.2.1"), address("192.0.2.2"));
    }
}
