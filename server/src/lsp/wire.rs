//! Filters the client's input. tower-lsp stops at the first invalid message, so an invalid message is replaced
//! by a placeholder that [`super::middleware`] answers with an error.

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
};
use tower_lsp::jsonrpc::{Error, Request, Response};

/// Methods of placeholders. No client sends them.
const INVALID_JSON: &str = "ag-lsp/invalidJson";
const INVALID_MESSAGE: &str = "ag-lsp/invalidMessage";

/// The maximum length of a header line.
const MAX_HEADER: u64 = 4096;

/// Returns the error that answers a placeholder.
pub(crate) fn placeholder_error(method: &str) -> Option<Error> {
    match method {
        INVALID_JSON => Some(Error::parse_error()),
        INVALID_MESSAGE => Some(Error::invalid_request()),
        _ => None,
    }
}

/// Copies messages until the input ends, and replaces invalid ones.
pub(crate) async fn replace_invalid(
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    let mut input = BufReader::new(input);
    while let Some(length) = header(&mut input).await? {
        let mut body = Vec::new();
        (&mut input).take(length).read_to_end(&mut body).await?;
        let body = match error_method(&body) {
            None => body,
            Some(method) => format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#).into_bytes(),
        };
        output.write_all(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes()).await?;
        output.write_all(&body).await?;
        output.flush().await?;
    }
    Ok(())
}

/// Returns the length of the next message; `None` at the end of the input.
async fn header(input: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<u64>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if (&mut *input).take(MAX_HEADER).read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        match (line.trim(), length) {
            ("", Some(length)) => return Ok(Some(length)),
            (line, _) => {
                if let Some((name, value)) = line.split_once(':')
                    && name.trim().eq_ignore_ascii_case("content-length")
                {
                    length = value.trim().parse().ok().or(length);
                }
            }
        }
    }
}

fn error_method(body: &[u8]) -> Option<&'static str> {
    match serde_json::from_slice::<Request>(body) {
        Ok(_) => None,
        Err(error) if !error.is_data() => Some(INVALID_JSON),
        Err(_) => serde_json::from_slice::<Response>(body).err().map(|_| INVALID_MESSAGE),
    }
}
