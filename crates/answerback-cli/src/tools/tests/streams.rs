//! Tests the server on a pair of streams, as a gateway runs it inside its own process.

use std::sync::Arc;

use crate::tools::server::serve;
use crate::tools::{SolutionRoot, Toolset};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use super::scene::environment;

#[tokio::test]
async fn any_pair_of_streams_will_do() {
    let tools = Arc::new(Toolset::new(SolutionRoot::At("no-such-folder".into()), environment()));
    let (client, server) = tokio::io::duplex(64 << 10);
    let (input, output) = tokio::io::split(server);
    let serving = tokio::spawn(serve(tools, input, output));
    let (replies, mut requests) = tokio::io::split(client);
    let mut replies = BufReader::new(replies).lines();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1.0.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "dev.answerback/correlation_id": "550e8400-e29b-41d4-a716-446655440000",
    });
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "solution_info", "arguments": {}, "_meta": meta},
    });
    requests.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    let reply: Value = serde_json::from_str(&replies.next_line().await.unwrap().unwrap()).unwrap();
    let result = &reply["result"];
    assert_eq!(result["isError"], true, "{reply}");
    assert_eq!(result["structuredContent"]["errors"][0]["code"], "DOTBOT_NOT_FOUND");
    assert_eq!(
        result["structuredContent"]["audit"]["correlation_id"],
        "550e8400-e29b-41d4-a716-446655440000"
    );
    drop((requests, replies));
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn hanging_up_at_once_is_no_error() {
    let tools = Arc::new(Toolset::new(SolutionRoot::At("no-such-folder".into()), environment()));
    serve(tools, tokio::io::empty(), tokio::io::sink()).await.unwrap();
}
