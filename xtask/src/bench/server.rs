//! A server that is measured, and a connection to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// `tl serve`, ended with the measurement.
#[derive(Debug)]
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    pub(crate) token: String,
}

impl Server {
    /// Starts it and waits until it says where it is.
    pub(crate) fn start(mut command: Command) -> Result<Self, String> {
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("no server: {error}"))?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output)
                .read_line(&mut line)
                .map_err(|error| format!("the server said nothing: {error}"))?;
        }
        let ready: serde_json::Value =
            serde_json::from_str(&line).map_err(|error| format!("{line}: {error}"))?;
        let word = |key: &str| ready[key].as_str().unwrap_or_default().to_owned();
        let port = word("url")
            .split([':', '/'])
            .nth(4)
            .and_then(|port| port.parse().ok())
            .ok_or("no port")?;
        Ok(Self {
            process,
            port,
            token: word("token"),
        })
    }

    /// The processor time it has used, by itself and for the system.
    pub(crate) fn cpu_time(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()))
            .unwrap_or_default();
        // After the name, which may have spaces: the 12th and 13th field, in hundredths of a second.
        let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let ticks: u64 = fields
            .split_whitespace()
            .skip(11)
            .take(2)
            .filter_map(|field| field.parse::<u64>().ok())
            .sum();
        Duration::from_millis(ticks * 10)
    }

    /// The most memory it has used, in MB.
    pub(crate) fn peak_memory(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()))
            .unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes: f64 = line
            .and_then(|line| line.split_whitespace().next()?.parse().ok())
            .unwrap_or_default();
        kilobytes / 1024.0
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Returns p50, p90, p99 and the worst, in milliseconds.
pub(crate) fn percentiles(mut latencies: Vec<Duration>) -> [String; 4] {
    latencies.sort_unstable();
    let last = latencies.len().saturating_sub(1);
    [50, 90, 99, 100].map(|percent| {
        let latency = latencies
            .get(last * percent / 100)
            .copied()
            .unwrap_or_default();
        format!("{:.1}", latency.as_secs_f64() * 1_000.0)
    })
}

/// A connection that is kept.
#[derive(Debug)]
pub(crate) struct Client<'s> {
    server: &'s Server,
    stream: BufReader<TcpStream>,
}

impl<'s> Client<'s> {
    pub(crate) fn to(server: &'s Server) -> Result<Self, String> {
        let stream = TcpStream::connect(("127.0.0.1", server.port))
            .map_err(|error| format!("no connection: {error}"))?;
        stream
            .set_nodelay(true)
            .map_err(|error| error.to_string())?;
        Ok(Self {
            server,
            stream: BufReader::new(stream),
        })
    }

    /// Returns the status and the body.
    pub(crate) fn get(&mut self, path: &str) -> std::io::Result<(u16, Vec<u8>)> {
        self.ask("GET", path, "")
    }

    /// The same for something that is sent.
    pub(crate) fn post(&mut self, path: &str, body: &str) -> std::io::Result<(u16, Vec<u8>)> {
        self.ask("POST", path, body)
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> std::io::Result<(u16, Vec<u8>)> {
        let Server { port, token, .. } = self.server;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {token}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(code) = line.strip_prefix("http/1.1 ") {
                status = code
                    .split(' ')
                    .next()
                    .and_then(|code| code.parse().ok())
                    .unwrap_or(0);
            } else if let Some(bytes) = line.strip_prefix("content-length:") {
                length = bytes.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, body))
    }
}
