//! A server on a real socket that speaks OpenAI's dialects: chat as a stream in odd pieces, and embeddings. What it answers
//! is a function of what it is asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

/// Answers for as long as the test runs.
pub(crate) struct ModelServer {
    pub(crate) url: String,
}

impl ModelServer {
    /// `answers` gets the whole prompt of a chat and returns what the model says.
    pub(crate) fn start(answers: fn(&str) -> String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A client that goes away in the middle is the client's affair.
                let _ = serve(stream, answers);
            }
        });
        Self { url }
    }
}

fn serve(mut stream: TcpStream, answers: fn(&str) -> String) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    if first.contains("/embeddings") {
        let texts = body["input"].as_array().cloned().unwrap_or_default();
        let vectors: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(index, text)| json!({ "index": index, "embedding": vector(text.as_str().unwrap_or_default()) }))
            .collect();
        let text = json!({ "data": vectors }).to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
            text.len()
        );
        return write!(stream, "{head}connection: close\r\n\r\n{text}");
    }
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let prompt: Vec<&str> = messages
        .iter()
        .filter_map(|message| message["content"].as_str())
        .collect();
    let answer = answers(&prompt.join("\n"));
    // `!401 {"error": …}` is a refusal of the provider.
    if let Some((status, body)) = answer
        .strip_prefix('!')
        .and_then(|refusal| refusal.split_once(' '))
    {
        return write!(
            stream,
            "HTTP/1.1 {status} Refused\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             retry-after: 0\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
    }
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
    )?;
    let event = |value: &Value| format!("data: {value}\n\n");
    let mut sent = String::from(": it begins\n\n");
    for piece in answer.chars().collect::<Vec<_>>().chunks(97) {
        let text: String = piece.iter().collect();
        sent +=
            &event(&json!({ "model": "scripted", "choices": [{ "delta": { "content": text } }] }));
    }
    sent += &event(&json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }));
    let tokens = json!({ "prompt_tokens": prompt.concat().len() / 4, "completion_tokens": answer.len() / 4 });
    sent += &event(&json!({ "choices": [], "usage": tokens }));
    sent += "data: [DONE]\n\n";
    // Pieces end anywhere, also inside a letter.
    for piece in sent.as_bytes().chunks(509) {
        stream.write_all(piece)?;
        stream.flush()?;
    }
    Ok(())
}

/// A text as a few topics. What has the same topics is near, whatever words it uses.
fn vector(text: &str) -> Vec<f32> {
    let text = text.to_lowercase();
    let topics = [
        ["mentor", "teacher", "наставник"],
        ["sea", "harbour", "ship"],
        ["map", "chart", "карта"],
        ["fire", "ash", "burn"],
    ];
    let mut vector: Vec<f32> = topics
        .iter()
        .map(|words| {
            words
                .iter()
                .map(|word| text.matches(word).count())
                .sum::<usize>() as f32
        })
        .collect();
    vector.push(0.1);
    vector
}
