//! Database address: connection URL, TLS settings, connecting.
//!
//! A connection to another machine uses TLS with certificate verification, unless the URL sets
//! `sslmode`. The password appears in no message.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use domain::ports::StoreFault;
use domain::settings::DatabaseUrl;
use postgres::config::{Host, SslMode};
use postgres::{Client, Config, NoTls};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio_postgres_rustls::MakeRustlsConnect;

/// A parsed database URL.
#[derive(Clone)]
pub(super) struct DatabaseAddress {
    config: Config,
    /// PEM file with the trusted root certificates (`sslrootcert`); without it the system's are
    /// used.
    root_certificates: Option<String>,
    /// The URL without its password, for messages.
    pub(super) shown: String,
}

impl DatabaseAddress {
    /// Parses a database URL.
    pub(super) fn parse(url: &DatabaseUrl) -> Result<Self, StoreFault> {
        let shown = url.to_string();
        let (given, root_certificates, is_set) = split_tls_parameters(url.reveal_url());
        // The driver's reason is dropped: it quotes parts of the URL, and one of them is the
        // password.
        let unreadable = |_| StoreFault::Unreachable {
            at: shown.clone(),
            why: "the address is not valid; expected postgres://USER:PASSWORD@HOST:PORT/DATABASE"
                .to_owned(),
        };
        let mut config: Config = given.parse().map_err(unreadable)?;
        // The driver's default is `prefer`, which silently falls back to plain text.
        if !is_set {
            config.ssl_mode(if is_local_host(&config) {
                SslMode::Disable
            } else {
                SslMode::Require
            });
        }
        config.application_name("throughline");
        Ok(Self {
            config,
            root_certificates,
            shown,
        })
    }

    /// Connects, with `within` as the time limit unless the URL sets `connect_timeout`.
    pub(super) fn connect_within(&self, within: Duration) -> Result<Client, StoreFault> {
        let mut config = self.config.clone();
        // A `connect_timeout` in the URL is the user's explicit choice.
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(within);
        }
        let connected = match config.get_ssl_mode() {
            SslMode::Disable => config.connect(NoTls),
            _ => config.connect(self.build_tls_connector()?),
        };
        connected.map_err(|error| self.unreachable_fault(&error))
    }

    /// Converts a driver error into the fault for an unusable database.
    pub(super) fn unreachable_fault(&self, error: &postgres::Error) -> StoreFault {
        let why = match (error.as_db_error(), std::error::Error::source(error)) {
            // The server's own message, without the driver's prefix.
            (Some(told), _) => told.message().to_owned(),
            (None, Some(source)) => format!("{error}: {source}"),
            (None, None) => error.to_string(),
        };
        StoreFault::Unreachable {
            at: self.shown.clone(),
            why,
        }
    }

    fn build_tls_connector(&self) -> Result<MakeRustlsConnect, StoreFault> {
        let refuse = |why: String| StoreFault::Unreachable {
            at: self.shown.clone(),
            why,
        };
        let mut roots = rustls::RootCertStore::empty();
        match &self.root_certificates {
            Some(file) => {
                let certificates = CertificateDer::pem_file_iter(Path::new(file))
                    .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                    .map_err(|error| {
                        refuse(format!("sslrootcert `{file}` cannot be read: {error}"))
                    })?;
                roots.add_parsable_certificates(certificates);
            }
            None => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
        }
        // Named explicitly: without a process-wide default, rustls' plain builder panics.
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| refuse(error.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(MakeRustlsConnect::new(config))
    }
}

/// Splits off the TLS parameters the driver does not support. Returns the URL for the driver, the
/// root certificate file, and whether `sslmode` is set.
fn split_tls_parameters(url: &str) -> (String, Option<String>, bool) {
    let Some((place, query)) = url.split_once('?') else {
        return (url.to_owned(), None, false);
    };
    let (mut root_certificates, mut is_set) = (None, false);
    let mut kept = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslrootcert", file)) => root_certificates = Some(file.to_owned()),
            Some(("sslmode", mode)) => {
                is_set = true;
                // rustls always verifies chain and host name, so `require` already is `verify-full`
                // here; the driver rejects the other two words.
                kept.push(match mode {
                    "verify-ca" | "verify-full" => "sslmode=require".to_owned(),
                    _ => pair.to_owned(),
                });
            }
            _ => kept.push(pair.to_owned()),
        }
    }
    (
        format!("{place}?{}", kept.join("&")),
        root_certificates,
        is_set,
    )
}

/// Whether all hosts are on this machine, so that TLS protects nothing.
fn is_local_host(config: &Config) -> bool {
    config.get_hosts().iter().all(|host| match host {
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse()
                    .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
        }
    })
}

#[cfg(test)]
mod tests {
    use domain::settings::DatabaseUrl;
    use postgres::config::SslMode;

    use super::DatabaseAddress;

    #[test]
    fn other_machines_are_spoken_to_in_secret() {
        for (url, expected) in [
            ("postgres://tl:pw@localhost/plans", SslMode::Disable),
            ("postgres://tl:pw@127.0.0.1:5433/plans", SslMode::Disable),
            ("postgres://tl@%2Frun%2Fpostgresql/plans", SslMode::Disable),
            ("postgres://tl:pw@db.example.org/plans", SslMode::Require),
            (
                "postgres://tl:pw@db.example.org/plans?sslmode=disable",
                SslMode::Disable,
            ),
            (
                "postgres://tl:pw@localhost/plans?sslmode=verify-full&sslrootcert=/ca.pem",
                SslMode::Require,
            ),
        ] {
            let address = DatabaseAddress::parse(&DatabaseUrl::new(url)).unwrap();
            assert_eq!(address.config.get_ssl_mode(), expected, "{url}");
        }
    }

    #[test]
    fn no_message_holds_the_password() {
        for url in [
            "postgres://tl:geheim@h:port/x",
            "geheim",
            "postgres://tl:ge@heim@h/x?sslmode=geheim",
        ] {
            let told = DatabaseAddress::parse(&DatabaseUrl::new(url))
                .map(|address| address.shown)
                .map_err(|fault| fault.to_string());
            let told = told.unwrap_or_else(|told| told);
            assert!(!told.contains("heim"), "{told}");
        }
    }
}
