//! Client of the SSH agent protocol: lists keys and asks for signatures over the agent's socket.
//!
//! Two requests of draft-ietf-sshm-ssh-agent and nothing else. Keys never leave the agent.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use ssh_key::{PublicKey, Signature};

const REQUEST_IDENTITIES: u8 = 11;
const IDENTITIES_ANSWER: u8 = 12;
const SIGN_REQUEST: u8 = 13;
const SIGN_RESPONSE: u8 = 14;

/// Maximum size of an answer; the agent of OpenSSH has the same limit.
const MAX_ANSWER_BYTES: u32 = 256 * 1024;
/// Time for a person to confirm or to touch a security key.
const SIGN_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the keys the agent holds; those of unknown kinds are left out.
///
/// # Errors
/// When the agent cannot be reached or does not answer.
pub(super) fn list_agent_keys(socket: &Path) -> io::Result<Vec<PublicKey>> {
    let answer = ask_agent(socket, REQUEST_IDENTITIES, &[], IDENTITIES_ANSWER)?;
    let mut rest = answer.as_slice();
    let count = take_number(&mut rest)?;
    let mut keys = Vec::new();
    for _ in 0..count {
        let key = take_string(&mut rest)?;
        take_string(&mut rest)?;
        keys.extend(PublicKey::from_bytes(key));
    }
    Ok(keys)
}

/// Lets the agent sign with one of its keys.
///
/// # Errors
/// When the agent cannot be reached, refuses, or has not got the key.
pub(super) fn sign_with_agent(
    socket: &Path,
    key: &PublicKey,
    data: &[u8],
) -> io::Result<Signature> {
    let key = key.to_bytes().map_err(io::Error::other)?;
    let mut request = Vec::new();
    for part in [key.as_slice(), data] {
        request.extend(length_of(part)?.to_be_bytes());
        request.extend(part);
    }
    // No flags: they choose the hash of RSA, which is not supported here.
    request.extend(0_u32.to_be_bytes());
    let answer = ask_agent(socket, SIGN_REQUEST, &request, SIGN_RESPONSE)?;
    let signature = take_string(&mut answer.as_slice())?.to_vec();
    Signature::try_from(signature.as_slice()).map_err(io::Error::other)
}

fn ask_agent(socket: &Path, request: u8, body: &[u8], expected: u8) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(SIGN_TIMEOUT))?;
    stream.set_write_timeout(Some(SIGN_TIMEOUT))?;
    let mut message = (length_of(body)? + 1).to_be_bytes().to_vec();
    message.push(request);
    message.extend(body);
    stream.write_all(&message)?;
    let mut header = [0; 5];
    stream.read_exact(&mut header)?;
    let [a, b, c, d, kind] = header;
    let length = u32::from_be_bytes([a, b, c, d]);
    if kind != expected || !(1..=MAX_ANSWER_BYTES).contains(&length) {
        return Err(io::Error::other("the agent refused"));
    }
    let mut answer = vec![0; length as usize - 1];
    stream.read_exact(&mut answer)?;
    Ok(answer)
}

fn length_of(part: &[u8]) -> io::Result<u32> {
    u32::try_from(part.len()).map_err(io::Error::other)
}

fn take_number(rest: &mut &[u8]) -> io::Result<u32> {
    let (number, after) = rest
        .split_first_chunk::<4>()
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    *rest = after;
    Ok(u32::from_be_bytes(*number))
}

fn take_string<'a>(rest: &mut &'a [u8]) -> io::Result<&'a [u8]> {
    let length = take_number(rest)? as usize;
    let (string, after) = rest
        .split_at_checked(length)
        .ok_or(io::ErrorKind::UnexpectedEof)?;
    *rest = after;
    Ok(string)
}
