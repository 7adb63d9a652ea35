//! A server on a real socket that answers what a test tells it to, also what no server should.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

/// One request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// What the server does with one connection after it has read the request.
#[derive(Clone, Debug)]
pub(crate) struct Reply(Vec<Step>);

#[derive(Clone, Debug)]
enum Step {
    Send(Vec<u8>),
    /// Says nothing more until the other side gives up.
    Stall,
    /// Ends the connection with a reset.
    Reset,
}

impl Reply {
    /// An answer in one piece.
    pub(crate) fn whole(status: u16, headers: &[(&str, &str)], body: impl ToString) -> Self {
        let body = body.to_string();
        let mut head = format!(
            "HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\nconnection: close\r\n",
            body.len()
        );
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            head.push_str("content-type: application/json\r\n");
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        Self(vec![Step::Send(format!("{head}\r\n{body}").into_bytes())])
    }

    /// A stream, one HTTP chunk for each piece, properly ended.
    pub(crate) fn stream<P: AsRef<[u8]>>(pieces: impl IntoIterator<Item = P>) -> Self {
        let mut reply = Self::begun(pieces);
        reply.0.push(Step::Send(b"0\r\n\r\n".to_vec()));
        reply
    }

    /// A stream that is never ended: the connection is closed after the last piece.
    pub(crate) fn begun<P: AsRef<[u8]>>(pieces: impl IntoIterator<Item = P>) -> Self {
        Self::begun_as("text/event-stream", pieces)
    }

    pub(crate) fn begun_as<P: AsRef<[u8]>>(
        kind: &str,
        pieces: impl IntoIterator<Item = P>,
    ) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\nx-request-id: req-7\r\nconnection: close\r\n\r\n"
        );
        let chunk =
            |piece: &[u8]| [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat();
        let chunks = pieces
            .into_iter()
            .filter(|piece| !piece.as_ref().is_empty());
        let steps = chunks.map(|piece| Step::Send(chunk(piece.as_ref())));
        Self(
            std::iter::once(Step::Send(head.into_bytes()))
                .chain(steps)
                .collect(),
        )
    }

    /// Bytes that need not be HTTP.
    pub(crate) fn raw(bytes: &[u8]) -> Self {
        Self(vec![Step::Send(bytes.to_vec())])
    }

    pub(crate) fn silence() -> Self {
        Self(vec![Step::Stall])
    }

    pub(crate) fn reset() -> Self {
        Self(vec![Step::Reset])
    }

    pub(crate) fn then_stall(mut self) -> Self {
        self.0.push(Step::Stall);
        self
    }

    pub(crate) fn then_reset(mut self) -> Self {
        self.0.push(Step::Reset);
        self
    }
}

/// The server. It answers one reply to each connection, in order.
pub(crate) struct FaultServer {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    over: Arc<AtomicBool>,
    given_up: Receiver<()>,
    accepting: Option<JoinHandle<()>>,
}

impl FaultServer {
    pub(crate) fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, over) = (
            Arc::new(Mutex::new(Vec::new())),
            Arc::new(AtomicBool::new(false)),
        );
        let (told, given_up) = channel();
        let mut replies: Vec<Reply> = replies.into_iter().collect();
        replies.reverse();
        let accepting = {
            let (seen, over) = (seen.clone(), over.clone());
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    if over.load(Ordering::SeqCst) {
                        return;
                    }
                    let reply = replies
                        .pop()
                        .unwrap_or_else(|| Reply::whole(418, &[], "the script is over"));
                    let (seen, told) = (seen.clone(), told.clone());
                    // A client that breaks off is part of the play.
                    std::thread::spawn(move || {
                        stream.and_then(|stream| answer(stream, &reply, &seen, &told))
                    });
                }
            })
        };
        Self {
            address,
            seen,
            over,
            given_up,
            accepting: Some(accepting),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/base", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until a client has closed a connection on which the server was silent.
    pub(crate) fn wait_until_given_up(&self) {
        self.given_up
            .recv_timeout(Duration::from_secs(60))
            .expect("the client never let go of a silent connection");
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // One last connection wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

fn answer(
    mut stream: TcpStream,
    reply: &Reply,
    seen: &Mutex<Vec<Seen>>,
    told: &Sender<()>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    seen.lock()
        .unwrap()
        .push(read_request(&mut BufReader::new(stream.try_clone()?))?);
    for step in &reply.0 {
        match step {
            Step::Send(bytes) => {
                stream.write_all(bytes)?;
                stream.flush()?;
            }
            Step::Stall => {
                let mut rest = Vec::new();
                // Returns when the other side closes, be it with a reset.
                let _ = stream.read_to_end(&mut rest);
                let _ = told.send(());
                return Ok(());
            }
            Step::Reset => {
                socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
                return Ok(());
            }
        }
    }
    stream.shutdown(Shutdown::Write)
}

fn read_request(reader: &mut impl std::io::BufRead) -> std::io::Result<Seen> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        headers.push((name.to_lowercase(), value.to_owned()));
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Seen {
        path,
        headers,
        body,
    })
}
