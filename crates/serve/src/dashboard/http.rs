//! As much of HTTP/1.1 as one page needs. Requests may come from anyone on this machine, also from a page of someone else that a
//! browser here shows: what is not plainly from our own page is refused.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

/// Most bytes of a request before its body, and of its body.
const HEAD_MAX: usize = 16 << 10;
const BODY_MAX: usize = 4 << 10;

/// How long a client may take to send a request.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// A request that may be answered.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET` or `POST`.
    pub method: String,
    /// Without the query.
    pub path: String,
    /// Text behind the question mark.
    pub query: String,
    pub body: Vec<u8>,
}

/// Why a request is refused: status and reason.
pub type Refusal = (u16, &'static str);

struct Head<'a> {
    method: &'a str,
    target: &'a str,
    headers: Vec<(String, &'a str)>,
}

impl Head<'_> {
    /// The only header of this name; `Err`: there are several.
    fn one(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut found = self.headers.iter().filter(|(own, _)| own == name).map(|(_, value)| *value);
        match (found.next(), found.next()) {
            (_, Some(_)) => Err((400, "a header comes twice")),
            (first, None) => Ok(first),
        }
    }
}

fn parse(head: &str) -> Result<Head<'_>, Refusal> {
    let mut lines = head.split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.1" | "HTTP/1.0"] = words[..] else { return Err((400, "no request of HTTP/1")) };
    let mut headers = Vec::new();
    for line in lines {
        let (name, value) = line.split_once(':').ok_or((400, "a header without a colon"))?;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_') {
            return Err((400, "a header with a name that is none"));
        }
        headers.push((name.to_ascii_lowercase(), value.trim()));
    }
    Ok(Head { method, target, headers })
}

/// Whether the request comes from our own page, or from a program of this machine, and not from a page of someone else: a
/// name that points here from elsewhere shows in `Host`, a page of another origin in `Origin` and `Sec-Fetch-Site`.
fn is_ours(head: &Head<'_>, port: u16) -> Result<(), Refusal> {
    let places = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    let host = head.one("host")?.ok_or((400, "no Host"))?;
    if !places.iter().any(|place| place == host) {
        return Err((403, "another Host: this page has an address of this machine only"));
    }
    if let Some(origin) = head.one("origin")?
        && !places.iter().any(|place| origin.strip_prefix("http://") == Some(place))
    {
        return Err((403, "a page of another Origin"));
    }
    // The page itself may be reached by a link.
    let site = head.one("sec-fetch-site")?.unwrap_or("none");
    if !["same-origin", "none"].contains(&site) && head.target != "/" {
        return Err((403, "a page of another site"));
    }
    Ok(())
}

fn length_of_body(head: &Head<'_>) -> Result<usize, Refusal> {
    if head.one("transfer-encoding")?.is_some() {
        return Err((501, "no Transfer-Encoding is known here"));
    }
    let length = match head.one("content-length")? {
        None => 0,
        Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().unwrap_or(usize::MAX),
        Some(_) => return Err((400, "a Content-Length that is no number")),
    };
    match (head.method, length) {
        ("GET", 0) => Ok(0),
        ("GET", _) => Err((400, "a GET with a body")),
        // A form of another page cannot send this type without asking first.
        ("POST", _) if head.one("content-type")? != Some("application/json") => Err((415, "wanted application/json")),
        ("POST", 0..=BODY_MAX) => Ok(length),
        ("POST", _) => Err((413, "too long")),
        _ => Err((405, "GET and POST are known")),
    }
}

/// Where the head ends, blank line included.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

/// Reads a request to this port. `Ok(Err)`: it is refused.
pub fn read(stream: &mut impl Read, port: u16) -> io::Result<Result<Request, Refusal>> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 2048]);
    let begun = now();
    let mut more = |bytes: &mut Vec<u8>| -> io::Result<bool> {
        if begun.elapsed() > PATIENCE {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let read = stream.read(&mut chunk)?;
        bytes.extend_from_slice(&chunk[..read]);
        Ok(read > 0)
    };
    let end = loop {
        match end_of_head(&bytes) {
            Some(end) if end <= HEAD_MAX => break end,
            _ if bytes.len() > HEAD_MAX => return Ok(Err((431, "the head is too long"))),
            _ => {}
        }
        if !more(&mut bytes)? {
            return Ok(Err((400, "half a request")));
        }
    };
    let head = match std::str::from_utf8(&bytes[..end - 4]).map_err(|_| (400, "a head that is no text")).and_then(parse) {
        Ok(head) => head,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let length = match is_ours(&head, port).and_then(|()| length_of_body(&head)) {
        Ok(length) => length,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let (path, query) = head.target.split_once('?').unwrap_or((head.target, ""));
    let (method, path, query) = (head.method.to_owned(), path.to_owned(), query.to_owned());
    while bytes.len() < end + length {
        if !more(&mut bytes)? {
            return Ok(Err((400, "half a body")));
        }
    }
    Ok(Ok(Request { method, path, query, body: bytes[end..end + length].to_vec() }))
}

/// Answers and ends the connection.
pub fn answer(stream: &mut impl Write, status: u16, kind: &str, body: &[u8]) -> io::Result<()> {
    let reason = if status == 200 { "OK" } else { "Refused" };
    // Nothing but what is in the page itself is loaded, no one shows it in a frame, and nothing is kept.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
                  frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    write!(
        stream,
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {policy}\r\n\
         X-Frame-Options: DENY\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)?;
    stream.flush()
}

fn now() -> Instant {
    crate::time::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(text: &str) -> Result<Request, Refusal> {
        read(&mut text.as_bytes(), 9000).expect("a text can be read")
    }

    #[test]
    fn requests_of_our_own_page_are_read() {
        let get = ask("GET /live?since=3 HTTP/1.1\r\nHost: localhost:9000\r\nSec-Fetch-Site: same-origin\r\n\r\n").expect("ours");
        assert_eq!((get.path.as_str(), get.query.as_str(), get.method.as_str()), ("/live", "since=3", "GET"));
        let post = "POST /control HTTP/1.1\r\nHOST: 127.0.0.1:9000\r\norigin: http://127.0.0.1:9000\r\n\
                    Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(ask(post).expect("ours").body, b"{}");
        assert!(ask("GET / HTTP/1.1\r\nHost: localhost:9000\r\nSec-Fetch-Site: cross-site\r\n\r\n").is_ok(), "a link leads here");
    }

    #[test]
    fn what_another_page_can_send_is_refused() {
        let post = |more: &str, body: &str| {
            ask(&format!("POST /control HTTP/1.1\r\n{more}Content-Length: {}\r\n\r\n{body}", body.len())).map(drop)
        };
        let json = "Content-Type: application/json\r\n";
        let body = "{\"command\": \"kill die 1\"}";
        for (more, status) in [
            // A name of someone else that leads to this machine.
            ("Host: evil.example:9000\r\n", 403),
            ("Host: evil.example\r\n", 403),
            ("Host: 127.0.0.1\r\n", 403),
            ("Host: localhost:9001\r\n", 403),
            ("Host: localhost:9000.evil.example\r\n", 403),
            ("Host: localhost:9000\r\nHost: evil.example\r\n", 400),
            ("", 400),
            // A page elsewhere that names us rightly.
            ("Host: localhost:9000\r\nOrigin: http://evil.example\r\n", 403),
            ("Host: localhost:9000\r\nOrigin: null\r\n", 403),
            ("Host: localhost:9000\r\nOrigin: https://localhost:9000\r\n", 403),
            ("Host: localhost:9000\r\nOrigin: http://localhost:9000@evil.example\r\n", 403),
            ("Host: localhost:9000\r\nOrigin: http://localhost:9001\r\n", 403),
            ("Host: localhost:9000\r\nSec-Fetch-Site: cross-site\r\n", 403),
            ("Host: localhost:9000\r\nSec-Fetch-Site: same-site\r\n", 403),
        ] {
            let refused = post(&format!("{more}{json}"), body).expect_err(more);
            assert_eq!(refused.0, status, "{more}: {}", refused.1);
        }
        // A request that a form of another page sends, if the browser does not name its origin.
        for kind in ["", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"] {
            assert_eq!(post(&format!("Host: localhost:9000\r\n{kind}"), body).expect_err(kind).0, 415);
        }
    }

    #[test]
    fn garbage_is_refused() {
        let long = format!("GET / HTTP/1.1\r\nHost: localhost:9000\r\nX: {}\r\n\r\n", "y".repeat(20_000));
        let headers = format!("GET / HTTP/1.1\r\nHost: localhost:9000\r\n{}\r\n", "a: b\r\n".repeat(5000));
        for (text, status) in [
            ("", 400),
            ("\r\n\r\n", 400),
            ("GET /\r\n\r\n", 400),
            ("GET / HTTP/2\r\nHost: localhost:9000\r\n\r\n", 400),
            ("GET  / HTTP/1.1\r\nHost: localhost:9000\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost localhost:9000\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\n: x\r\nHost: localhost:9000\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: localhost:9000\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: localhost:9000\r\nContent-Length: 5\r\n\r\nhello", 400),
            ("PUT / HTTP/1.1\r\nHost: localhost:9000\r\n\r\n", 405),
            ("GET / HTTP/1.1\r\nHost: localhost:9000\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 501),
            (
                "POST / HTTP/1.1\r\nHost: localhost:9000\r\nContent-Type: application/json\r\nContent-Length: 99999999999999999999\r\n\r\n",
                413,
            ),
            ("POST / HTTP/1.1\r\nHost: localhost:9000\r\nContent-Type: application/json\r\nContent-Length: -1\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: localhost:9000\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{}", 400),
            (&long, 431),
            (&headers, 431),
        ] {
            let shown: String = text.chars().take(80).collect();
            assert_eq!(ask(text).expect_err(&shown).0, status, "{shown:?}");
        }
        let mut draws = vocab::Streams::new(9).stream("test/garbage");
        for _ in 0..300 {
            let bytes: Vec<u8> = (0..draws.below(3000)).map(|_| draws.below(256) as u8).chain(*b"\r\n\r\n").collect();
            assert!(read(&mut &bytes[..], 9000).expect("bytes can be read").is_err());
        }
    }
}
