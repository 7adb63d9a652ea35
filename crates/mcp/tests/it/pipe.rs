//! One client over a pair of streams in memory.

use std::time::Duration;

use mcp::protocol::serve_pipe;
use mcp::surface::Surface;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;

use crate::unusable::{surface, surface_with_a_gate};

/// A client, and the server it speaks to.
struct Client {
    write: WriteHalf<DuplexStream>,
    read: BufReader<ReadHalf<DuplexStream>>,
    serving: JoinHandle<Result<(), String>>,
}

impl Client {
    fn of(panics: bool) -> Self {
        Self::offered(surface(panics))
    }

    fn offered(surface: Surface) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(theirs);
        let serving = tokio::spawn(serve_pipe(surface, read, write));
        let (read, write) = tokio::io::split(ours);
        Self {
            write,
            read: BufReader::new(read),
            serving,
        }
    }

    async fn say(&mut self, text: &str) {
        self.write
            .write_all(text.as_bytes())
            .await
            .expect("the server reads");
    }

    async fn hear(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(Duration::from_secs(10), self.read.read_line(&mut line));
        read.await.expect("in time").expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    async fn ask(&mut self, id: u64, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.say(&format!("{message}\n")).await;
        let answer = self.hear().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Closes the client's end and returns how the server ended.
    async fn end(mut self) -> Result<(), String> {
        self.write.shutdown().await.expect("a close");
        drop(self.write);
        drop(self.read);
        tokio::time::timeout(Duration::from_secs(3), self.serving)
            .await
            .expect("in time")
            .expect("no panic")
    }
}

#[tokio::test]
async fn a_state_that_cannot_be_used_is_told_with_every_answer() {
    let mut client = Client::of(false);
    let called = client
        .ask(1, "tools/call", json!({ "name": "where" }))
        .await;
    assert_eq!(called["result"]["isError"], true);
    let error = &called["result"]["structuredContent"]["error"];
    assert_eq!(
        (&error["kind"], &error["next_steps"]),
        (&json!("unavailable"), &json!([{ "do": "try again" }]))
    );
    for (id, method, params) in [
        (2, "resources/list", json!({})),
        (3, "resources/read", json!({ "uri": "plan://briefing" })),
        (4, "prompts/get", json!({ "name": "resume" })),
    ] {
        let answer = client.ask(id, method, params).await;
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert_eq!(answer["error"]["data"]["error"]["kind"], "unavailable");
    }
    // What needs no state is there all the same.
    for method in [
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/templates/list",
    ] {
        assert!(
            client.ask(9, method, json!({})).await["result"].is_object(),
            "{method}"
        );
    }
    assert_eq!(client.end().await, Ok(()));
}

#[tokio::test]
async fn a_mistake_of_ours_costs_one_answer_and_not_the_connection() {
    let mut client = Client::of(true);
    for id in 1..=3 {
        let called = client
            .ask(id, "tools/call", json!({ "name": "where" }))
            .await;
        assert_eq!(
            called["result"]["structuredContent"]["error"]["kind"], "internal",
            "{called}"
        );
    }
    assert_eq!(
        client.ask(4, "resources/list", json!({})).await["error"]["code"],
        -32603
    );
    assert_eq!(client.end().await, Ok(()));
}

#[tokio::test]
async fn messages_may_arrive_in_any_pieces() {
    let mut client = Client::of(false);
    let greeting = json!({
        "jsonrpc": "2.0", "id": "a", "method": "initialize",
        "params": { "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "c", "version": "1" } },
    })
    .to_string();
    for piece in greeting.as_bytes().chunks(7) {
        client.say(std::str::from_utf8(piece).expect("ASCII")).await;
        tokio::task::yield_now().await;
    }
    client
        .say("\r\n\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"ping\"}\n\n")
        .await;
    let mut answers = [client.hear().await, client.hear().await];
    answers.sort_by_key(|answer| answer["id"].to_string());
    assert_eq!(answers[0]["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(
        answers[1],
        json!({ "jsonrpc": "2.0", "id": "b", "result": {} })
    );
    // The last line needs no line feed, and is answered although the client has closed its end.
    client
        .say("{\"jsonrpc\":\"2.0\",\"id\":\"c\",\"method\":\"ping\"}")
        .await;
    client.write.shutdown().await.expect("a close");
    assert_eq!(client.hear().await["id"], "c");
    assert_eq!(client.end().await, Ok(()));
}

#[tokio::test]
async fn many_requests_at_once_are_each_answered() {
    let mut client = Client::of(false);
    let mut all = String::new();
    for id in 0..2_000 {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({ "name": "where", "_meta": meta });
        all.push_str(&format!(
            "{}\n",
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        ));
    }
    let Client {
        mut write,
        mut read,
        serving,
    } = client;
    let writing = tokio::spawn(async move {
        write
            .write_all(all.as_bytes())
            .await
            .expect("the server reads");
        write
    });
    let mut seen = vec![false; 2_000];
    for _ in 0..2_000 {
        let mut line = String::new();
        read.read_line(&mut line).await.expect("a line");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        let id = usize::try_from(answer["id"].as_u64().expect("an id")).expect("small");
        assert!(
            !std::mem::replace(&mut seen[id], true),
            "answered twice: {id}"
        );
    }
    client = Client {
        write: writing.await.expect("no panic"),
        read,
        serving,
    };
    assert_eq!(client.end().await, Ok(()));
}

#[tokio::test]
async fn a_long_call_holds_up_no_short_one() {
    let (surface, gate) = surface_with_a_gate();
    let mut client = Client::offered(surface);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = |id: u64, tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        format!(
            "{}\n",
            json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
        )
    };
    client.say(&call(1, "where", json!({}))).await;
    // It is in there now, and stays until it is let out.
    while !gate.is_busy() {
        tokio::task::yield_now().await;
    }
    for id in 2..=5 {
        client
            .say(&call(
                id,
                "get_entity_state",
                json!({ "entity_type": "act", "entity_id": "act-1" }),
            ))
            .await;
        assert_eq!(client.hear().await["id"], id);
    }
    gate.open();
    assert_eq!(client.hear().await["id"], 1);
    assert_eq!(client.end().await, Ok(()));
}
