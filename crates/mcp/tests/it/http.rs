//! What a client over HTTP may cost: connections, time, bytes.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

use mcp::protocol::http_router;
use server::{Limits, Routes, ServerOptions, serve};

use crate::unusable::surface;

/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts a server that ends with the test, and returns where it is.
fn served(limits: Limits) -> SocketAddr {
    served_with(limits, None)
}

fn served_with(limits: Limits, token: Option<&str>) -> SocketAddr {
    let token = token.map(str::to_owned);
    let (ready, address) = channel();
    std::thread::spawn(move || {
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0);
        let options = ServerOptions {
            address,
            token,
            decides: true,
            beyond_this_machine: false,
            limits,
            public: None,
            browsers: None,
            oauth: None,
        };
        let surface = surface(false);
        serve(
            surface.workspace().clone(),
            options,
            |server| Routes {
                programs: http_router(&surface, server),
                browser: None,
            },
            |address| ready.send(address).expect("a test"),
        )
    });
    address.recv_timeout(PATIENCE).expect("a server")
}

fn connected(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    stream
}

fn head(address: SocketAddr, length: usize) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// Returns everything until the server hangs up.
fn rest(stream: &mut TcpStream) -> String {
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("{error}"),
    }
    String::from_utf8(all).expect("text")
}

/// Returns what is answered to a message, with the connection left open.
fn status(stream: &mut TcpStream, address: SocketAddr, body: &str) -> String {
    stream
        .write_all(format!("{}{body}", head(address, body.len())).as_bytes())
        .expect("the server reads");
    let mut start = [0; 12];
    stream.read_exact(&mut start).expect("an answer");
    String::from_utf8_lossy(&start).into_owned()
}

#[test]
fn one_too_many_is_told_to_come_back_later() {
    let address = served(Limits {
        connections: 2,
        ..Limits::default()
    });
    let mut first = connected(address);
    assert_eq!(status(&mut first, address, "{"), "HTTP/1.1 400");
    let mut second = connected(address);
    assert_eq!(status(&mut second, address, "{"), "HTTP/1.1 400");
    let mut third = connected(address);
    assert_eq!(status(&mut third, address, "{"), "HTTP/1.1 503");
    let said = rest(&mut third);
    assert!(
        said.contains("2 clients are connected") && said.contains("try again later"),
        "{said}"
    );
    // A place is free again as soon as a client has left.
    drop(first);
    let begun = std::time::Instant::now();
    while status(&mut connected(address), address, "{") != "HTTP/1.1 400" {
        assert!(begun.elapsed() < PATIENCE, "nobody else was let in");
        std::thread::yield_now();
    }
}

#[test]
fn who_does_not_say_what_they_want_is_hung_up_on() {
    let address = served(Limits {
        head: Duration::from_millis(200),
        ..Limits::default()
    });
    let mut silent = connected(address);
    let mut slow = connected(address);
    slow.write_all(b"POST /mcp HTTP/1.1\r\nhost: loc")
        .expect("the server reads");
    for stream in [&mut silent, &mut slow] {
        let said = rest(stream);
        assert!(
            said.is_empty() || said.starts_with("HTTP/1.1 408"),
            "{said}"
        );
    }
}

#[test]
fn a_message_that_does_not_arrive_or_never_ends_is_not_waited_for() {
    let limits = Limits {
        arrival: Duration::from_millis(200),
        body: 1_000,
        ..Limits::default()
    };
    let address = served(limits);
    let mut slow = connected(address);
    slow.write_all(format!("{}{{", head(address, 100)).as_bytes())
        .expect("the server reads");
    let said = rest(&mut slow);
    assert!(
        said.starts_with("HTTP/1.1 408") && said.contains("did not arrive in time"),
        "{said}"
    );
    let mut large = connected(address);
    assert_eq!(
        status(&mut large, address, &"x".repeat(1_001)),
        "HTTP/1.1 413"
    );
    let mut chunked = connected(address);
    let head = head(address, 0).replace("content-length: 0", "transfer-encoding: chunked");
    let chunk = format!(
        "{head}3e8\r\n{}\r\n3e8\r\n{}\r\n",
        "x".repeat(1_000),
        "x".repeat(1_000)
    );
    chunked
        .write_all(chunk.as_bytes())
        .expect("the server reads");
    let mut start = [0; 12];
    chunked.read_exact(&mut start).expect("an answer");
    assert_eq!(&start, b"HTTP/1.1 413");
}

/// A client without a token learns from the challenge where it is told what is accepted (RFC 9728).
#[test]
fn a_client_without_a_token_is_led_to_the_metadata() {
    let address = served_with(Limits::default(), Some("secret"));
    let ask = |request: String| {
        let mut stream = connected(address);
        stream.write_all(request.as_bytes()).expect("a reader");
        rest(&mut stream)
    };
    let refused = ask(format!(
        "{}{{}}",
        head(address, 2).replace("host:", "connection: close\r\nhost:")
    ));
    let url = format!("http://{address}/.well-known/oauth-protected-resource/mcp");
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    let challenge = format!("Bearer realm=\"throughline\", resource_metadata=\"{url}\"");
    assert!(refused.contains(&challenge), "{refused}");
    for (path, resource) in [("/mcp", "/mcp"), ("", "/mcp"), ("/mcp/plan", "/mcp/plan")] {
        let metadata = ask(format!(
            "GET /.well-known/oauth-protected-resource{path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
        ));
        assert!(metadata.starts_with("HTTP/1.1 200"), "{metadata}");
        let body = metadata.split("\r\n\r\n").nth(1).expect("a body");
        let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(body["resource"], format!("http://{address}{resource}"));
        assert_eq!(body["bearer_methods_supported"][0], "header");
        assert_eq!(body["scopes_supported"][1], "agent");
    }
    let elsewhere = "GET /.well-known/oauth-protected-resource HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n";
    let elsewhere = ask(elsewhere.to_owned());
    assert!(elsewhere.starts_with("HTTP/1.1 403"), "{elsewhere}");
}
