//! A server on a real socket that speaks the four dialects of chat, as streams in odd pieces, and OpenAI's embeddings.
//! What it answers is a function of what it is asked.

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
    let mut prompt = Vec::new();
    for part in [
        "system",
        "systemInstruction",
        "instructions",
        "messages",
        "input",
        "contents",
    ] {
        collect_texts(&body[part], &mut prompt);
    }
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
    let letters: Vec<char> = answer.chars().collect();
    let pieces: Vec<String> = letters
        .chunks(97)
        .map(|piece| piece.iter().collect())
        .collect();
    let tokens = (prompt.concat().len() / 4, answer.len() / 4);
    let events = if first.contains("/messages") {
        speak_anthropic(&pieces, tokens)
    } else if first.contains("/responses") {
        speak_responses(&pieces, tokens)
    } else if first.contains("GenerateContent") {
        speak_gemini(&pieces, tokens)
    } else {
        speak_chat(&pieces, tokens)
    };
    let sent = format!(": it begins\n\n{}", events.concat());
    // Pieces end anywhere, also inside a letter.
    for piece in sent.as_bytes().chunks(509) {
        stream.write_all(piece)?;
        stream.flush()?;
    }
    Ok(())
}

/// Adds the texts of a message in any dialect: a string, or parts with `text`.
fn collect_texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, found)),
        Value::Object(members) => {
            for key in ["content", "parts", "text"] {
                collect_texts(members.get(key).unwrap_or(&Value::Null), found);
            }
        }
        _ => {}
    }
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn speak_chat(pieces: &[String], (input, output): (usize, usize)) -> Vec<String> {
    let chunk = |text: &String| {
        event(&json!({ "model": "scripted", "choices": [{ "delta": { "content": text } }] }))
    };
    let mut events: Vec<String> = pieces.iter().map(chunk).collect();
    events.push(event(
        &json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }),
    ));
    let tokens = json!({ "prompt_tokens": input, "completion_tokens": output });
    events.push(event(&json!({ "choices": [], "usage": tokens })));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn speak_anthropic(pieces: &[String], (input, output): (usize, usize)) -> Vec<String> {
    let begin = json!({ "type": "message_start", "message": { "id": "m", "model": "scripted",
        "usage": { "input_tokens": input, "output_tokens": 1 } } });
    let mut events = vec![
        event(&begin),
        event(
            &json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        ),
    ];
    events.extend(pieces.iter().map(|text| {
        event(&json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }))
    }));
    events.push(event(&json!({ "type": "content_block_stop", "index": 0 })));
    events.push(event(
        &json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" },
        "usage": { "output_tokens": output } }),
    ));
    events.push(event(&json!({ "type": "message_stop" })));
    events
}

fn speak_responses(pieces: &[String], (input, output): (usize, usize)) -> Vec<String> {
    let begin =
        json!({ "type": "response.created", "response": { "id": "r", "model": "scripted" } });
    let mut events = vec![event(&begin)];
    events.extend(
        pieces
            .iter()
            .map(|text| event(&json!({ "type": "response.output_text.delta", "delta": text }))),
    );
    let usage = json!({ "input_tokens": input, "output_tokens": output });
    events.push(event(&json!({ "type": "response.completed",
        "response": { "status": "completed", "usage": usage } })));
    events
}

fn speak_gemini(pieces: &[String], (input, output): (usize, usize)) -> Vec<String> {
    let chunk = |text: &String| {
        event(
            &json!({ "modelVersion": "scripted", "candidates": [{ "content": { "parts": [{ "text": text }] } }] }),
        )
    };
    let mut events: Vec<String> = pieces.iter().map(chunk).collect();
    events.push(event(
        &json!({ "candidates": [{ "content": { "parts": [] }, "finishReason": "STOP" }],
        "usageMetadata": { "promptTokenCount": input, "candidatesTokenCount": output } }),
    ));
    events
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
