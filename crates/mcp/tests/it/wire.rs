//! A client of the protocol in either era, over a pair of streams or over HTTP.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::mpsc::channel;
use std::time::Duration;

use mcp::protocol::{http_router, serve_pipe};
use mcp::surface::Surface;
use serde_json::{Value, json};
use server::{Limits, OauthOptions, Routes, ServerOptions, serve};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::runtime::Runtime;

/// Nothing here takes longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The two ways the protocol is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// A handshake, then requests of a session.
    Older,
    /// Every request says everything.
    Newest,
}

/// Starts a server over HTTP that ends with the test, and returns where it is.
pub(crate) fn serve_http(surface: &Surface) -> SocketAddr {
    serve_accepting(surface, None)
}

/// Like [`serve_http`], for access tokens of an issuer.
pub(crate) fn serve_accepting(surface: &Surface, oauth: Option<OauthOptions>) -> SocketAddr {
    let (ready, address) = channel();
    let surface = surface.clone();
    std::thread::spawn(move || {
        let options = ServerOptions {
            address: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0),
            token: None,
            decides: true,
            beyond_this_machine: false,
            limits: Limits::default(),
            public: None,
            browsers: None,
            oauth,
        };
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

/// How messages travel.
enum Transport {
    Pipe {
        runtime: Runtime,
        write: WriteHalf<DuplexStream>,
        read: BufReader<ReadHalf<DuplexStream>>,
    },
    Http {
        address: SocketAddr,
        path: &'static str,
        token: Option<String>,
        session: Option<String>,
    },
}

/// A client with nothing but the protocol.
pub(crate) struct Client {
    era: Era,
    /// What the client can do for the server.
    capabilities: Value,
    transport: Transport,
    last: u64,
    /// Notifications that came between the answers.
    pub(crate) told: Vec<Value>,
}

impl Client {
    /// Connects over a pair of streams.
    pub(crate) fn over_pipe(surface: &Surface, era: Era) -> Self {
        Self::begin(era, json!({}), Self::open_pipe(surface))
    }

    /// Like [`Client::over_pipe`], with a person who answers questions.
    pub(crate) fn with_person_over_pipe(surface: &Surface, era: Era) -> Self {
        Self::begin(era, can_ask(), Self::open_pipe(surface))
    }

    fn open_pipe(surface: &Surface) -> Transport {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (read, write) = tokio::io::split(theirs);
        runtime.spawn(serve_pipe(surface.clone(), read, write));
        let (read, write) = tokio::io::split(ours);
        let read = BufReader::new(read);
        Transport::Pipe {
            runtime,
            write,
            read,
        }
    }

    /// Connects over HTTP.
    pub(crate) fn over_http(address: SocketAddr, path: &'static str, era: Era) -> Self {
        Self::begin(era, json!({}), Self::open_http(address, path))
    }

    /// Like [`Client::over_http`], with a person who answers questions.
    pub(crate) fn with_person_over_http(address: SocketAddr, era: Era) -> Self {
        Self::begin(era, can_ask(), Self::open_http(address, "/mcp"))
    }

    /// Like [`Client::over_http`], with a token.
    pub(crate) fn with_token_over_http(address: SocketAddr, era: Era, token: &str) -> Self {
        let transport = Transport::Http {
            address,
            path: "/mcp",
            token: Some(token.to_owned()),
            session: None,
        };
        Self::begin(era, json!({}), transport)
    }

    fn open_http(address: SocketAddr, path: &'static str) -> Transport {
        Transport::Http {
            address,
            path,
            token: None,
            session: None,
        }
    }

    fn begin(era: Era, capabilities: Value, transport: Transport) -> Self {
        let mut client = Self {
            era,
            capabilities,
            transport,
            last: 0,
            told: Vec::new(),
        };
        if era == Era::Older {
            let hello = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": client.capabilities,
                "clientInfo": { "name": "script", "version": "1" },
            });
            client.request("initialize", hello);
            client.notify("notifications/initialized");
        }
        client
    }

    /// Sends a request and returns the whole answer.
    pub(crate) fn request(&mut self, method: &str, mut params: Value) -> Value {
        self.last += 1;
        if self.era == Era::Newest {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
                "io.modelcontextprotocol/clientInfo": { "name": "script", "version": "1" },
            });
        }
        let name = params["name"].as_str().map(str::to_owned);
        let message =
            json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params });
        self.exchange(&message, method, name.as_deref())
    }

    fn notify(&mut self, method: &str) {
        let message = json!({ "jsonrpc": "2.0", "method": method });
        match &mut self.transport {
            Transport::Pipe { runtime, write, .. } => {
                let text = format!("{message}\n");
                runtime
                    .block_on(write.write_all(text.as_bytes()))
                    .expect("the server reads");
            }
            Transport::Http { .. } => {
                self.exchange(&message, method, None);
            }
        }
    }

    fn exchange(&mut self, message: &Value, method: &str, name: Option<&str>) -> Value {
        match &mut self.transport {
            Transport::Pipe {
                runtime,
                write,
                read,
            } => {
                let (told, last) = (&mut self.told, self.last);
                runtime.block_on(async {
                    let text = format!("{message}\n");
                    write.write_all(text.as_bytes()).await.expect("a reader");
                    loop {
                        let mut line = String::new();
                        let line_read = tokio::time::timeout(PATIENCE, read.read_line(&mut line));
                        line_read.await.expect("in time").expect("a line");
                        let answer: Value = serde_json::from_str(&line).expect("JSON");
                        if answer["id"] == last {
                            return answer;
                        }
                        told.push(answer);
                    }
                })
            }
            Transport::Http {
                address,
                path,
                token,
                session,
            } => {
                let credentials = (token.as_deref(), session.as_deref());
                let head = request_head(self.era, (*address, path), credentials, method, name);
                let (answer_head, body) = post(*address, &head, &message.to_string());
                let id = answer_head
                    .lines()
                    .find_map(|line| line.strip_prefix("mcp-session-id: "));
                if let Some(id) = id {
                    *session = Some(id.to_owned());
                }
                read_body(&body, self.last)
            }
        }
    }

    /// Calls a tool and returns its result, whether it failed or not.
    pub(crate) fn call_whole(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        assert!(answer["result"].is_object(), "{tool} {arguments}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call_whole(tool, arguments.clone());
        assert_ne!(result["isError"], true, "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that must fail, and returns everything it says.
    #[track_caller]
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.call_whole(tool, arguments.clone());
        assert_eq!(result["isError"], true, "{tool} {arguments}: {result}");
        result["structuredContent"].clone()
    }

    /// Calls a tool that asks the person, who answers with this; returns the question and the result.
    #[track_caller]
    pub(crate) fn call_answered(
        &mut self,
        tool: &str,
        arguments: Value,
        answer: Value,
    ) -> (String, Value) {
        let (question, result) = match self.era {
            Era::Newest => self.answer_by_second_call(tool, arguments, answer),
            Era::Older => self.answer_request(tool, arguments, answer),
        };
        let question = question["params"]["message"].as_str();
        (
            question.expect("a question").to_owned(),
            result["structuredContent"].clone(),
        )
    }

    /// The newest era: the call returns the question, and is made again with the answer.
    fn answer_by_second_call(
        &mut self,
        tool: &str,
        arguments: Value,
        answer: Value,
    ) -> (Value, Value) {
        let asked = self.call_whole(tool, arguments.clone());
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        let again = json!({
            "name": tool, "arguments": arguments, "requestState": asked["requestState"],
            "inputResponses": { "approval": answer },
        });
        let result = self.request("tools/call", again)["result"].clone();
        (asked["inputRequests"]["approval"].clone(), result)
    }

    /// The older era: the server sends a request of its own while the call waits.
    fn answer_request(&mut self, tool: &str, arguments: Value, answer: Value) -> (Value, Value) {
        self.last += 1;
        let id = self.last;
        let params = json!({ "name": tool, "arguments": arguments });
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        let reply =
            |asked: &Value| json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer });
        match &mut self.transport {
            Transport::Pipe {
                runtime,
                write,
                read,
            } => runtime.block_on(async {
                let text = format!("{call}\n");
                write.write_all(text.as_bytes()).await.expect("a reader");
                let mut question = Value::Null;
                loop {
                    let mut line = String::new();
                    let line_read = tokio::time::timeout(PATIENCE, read.read_line(&mut line));
                    line_read.await.expect("in time").expect("a line");
                    let heard: Value = serde_json::from_str(&line).expect("JSON");
                    if heard["method"] == "elicitation/create" {
                        let text = format!("{}\n", reply(&heard));
                        write.write_all(text.as_bytes()).await.expect("a reader");
                        question = heard;
                    } else if heard["id"] == id {
                        return (question, heard["result"].clone());
                    }
                }
            }),
            Transport::Http {
                address,
                path,
                token,
                session,
            } => {
                let (address, credentials) = (*address, (token.as_deref(), session.as_deref()));
                let head =
                    |method| request_head(Era::Older, (address, path), credentials, method, None);
                let body = call.to_string();
                let mut stream = TcpStream::connect(address).expect("a connection");
                stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
                let length = body.len();
                let request = format!(
                    "{}content-length: {length}\r\n\r\n{body}",
                    head("tools/call")
                );
                stream.write_all(request.as_bytes()).expect("a reader");
                let mut question = Value::Null;
                for line in std::io::BufRead::lines(std::io::BufReader::new(stream)) {
                    let line = line.expect("a line");
                    let data = line.strip_prefix("data: ").unwrap_or(&line);
                    let Ok(heard) = serde_json::from_str::<Value>(data) else {
                        continue;
                    };
                    if heard["method"] == "elicitation/create" {
                        post(address, &head(""), &reply(&heard).to_string());
                        question = heard;
                    } else if heard["id"] == id {
                        return (question, heard["result"].clone());
                    }
                }
                panic!("the stream ended without an answer")
            }
        }
    }

    /// Takes a next step exactly as it was given.
    #[track_caller]
    pub(crate) fn take_step(&mut self, step: &Value) -> Value {
        let tool = step["tool"].as_str().unwrap_or_else(|| panic!("{step}"));
        self.call(tool, step["arguments"].clone())
    }

    /// Returns the names of the listed tools.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", json!({}));
        let tools = answer["result"]["tools"].as_array().expect("a list");
        let names = tools.iter().filter_map(|tool| tool["name"].as_str());
        names.map(str::to_owned).collect()
    }
}

/// The capability to show a form to a person.
fn can_ask() -> Value {
    json!({ "elicitation": { "form": {} } })
}

/// Returns the head of a request, but for the length of its body.
fn request_head(
    era: Era,
    (address, path): (SocketAddr, &str),
    (token, session): (Option<&str>, Option<&str>),
    method: &str,
    name: Option<&str>,
) -> String {
    let version = match era {
        Era::Older => "2025-11-25",
        Era::Newest => "2026-07-28",
    };
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\
         content-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: {version}\r\n"
    );
    if era == Era::Newest {
        head.push_str(&format!("mcp-method: {method}\r\n"));
        if let Some(name) = name {
            head.push_str(&format!("mcp-name: {name}\r\n"));
        }
    }
    if let Some(token) = token {
        head.push_str(&format!("authorization: Bearer {token}\r\n"));
    }
    if let Some(session) = session {
        head.push_str(&format!("mcp-session-id: {session}\r\n"));
    }
    head
}

/// Sends a request on a connection of its own, and returns head and body of the answer.
pub(crate) fn post(address: SocketAddr, head: &str, body: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).expect("a reader");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer");
    let answer = String::from_utf8(answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

/// Returns the answer in a body: JSON, or one of the events of a stream.
fn read_body(body: &str, id: u64) -> Value {
    let texts = body.lines().filter_map(|line| {
        let line = line.strip_prefix("data: ").unwrap_or(line);
        serde_json::from_str::<Value>(line).ok()
    });
    let answers: Vec<Value> = texts.filter(Value::is_object).collect();
    let ours = answers.iter().find(|answer| answer["id"] == id);
    ours.or(answers.first()).cloned().unwrap_or_default()
}
