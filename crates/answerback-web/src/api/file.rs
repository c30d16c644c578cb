//! Serves the file that a reply refers to, by the artifact's id or by the reply and the position, but never by its
//! path.

use std::sync::Arc;

use answerback::contract::atdf::ErrorBuilder;
use answerback_http::{Problem, ProblemKind, Routes, Scope};
use axum::extract::{Path, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};

use super::artifacts::artifact_location;
use super::problem::{internal, not_found};
use super::replies::find;
use super::response::{ApiResult, ok};
use crate::Console;
use crate::files::{FileRejection, RecordedFile, path_of};
use crate::reply::{FILES, ReplyView, part};

/// The image types that a browser may display. All other files are only saved, because HTML and SVG can run scripts.
const IMAGES: [(&str, &str); 5] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];
const TEXTS: [&str; 24] = [
    "txt", "md", "log", "rs", "py", "js", "ts", "go", "java", "c", "h", "cpp", "sh", "sql", "toml",
    "yaml", "yml", "ini", "xml", "html", "css", "diff", "patch", "svg",
];
/// The largest file with a preview. Larger files can only be saved.
const MAX_PREVIEW_BYTES: u64 = 1 << 20;

pub(super) fn routes(console: &Arc<Console>) -> Routes {
    let state = || Arc::clone(console);
    Routes::new()
        .route(
            "/api/replies/{id}/artifacts/{position}/file",
            Scope::Read,
            get(file).with_state(state()),
        )
        .route(
            "/api/replies/{id}/artifacts/{position}/file/state",
            Scope::Read,
            get(state_of).with_state(state()),
        )
        .route("/api/artifacts/{id}/file", Scope::Read, get(file_by_id).with_state(state()))
        .route("/api/artifacts/{id}/file/state", Scope::Read, get(state_by_id).with_state(state()))
}

/// A file of an artifact, with the state that was recorded.
struct ArtifactFile {
    name: String,
    bytes: Vec<u8>,
    size: u64,
    sha256: String,
    recorded: Option<RecordedFile>,
}

impl ArtifactFile {
    /// True if the file differs from the recorded one, or if none was recorded.
    fn has_changed(&self) -> bool {
        self.recorded.as_ref().is_none_or(|recorded| recorded.sha256 != self.sha256)
    }

    fn ending(&self) -> String {
        let ending = self.name.rsplit_once('.').map_or("", |(_, ending)| ending);
        ending.to_ascii_lowercase()
    }
}

/// Reads the file of an artifact, or returns the reason why it is not served.
async fn read_file(
    console: &Arc<Console>,
    id: &str,
    position: usize,
) -> Result<Result<ArtifactFile, FileRejection>, Problem> {
    let entry = find(console, id).await?;
    let view = ReplyView::of(&entry);
    let artifact = view
        .ui
        .as_ref()
        .and_then(|ui| ui.pointer(&format!("/artifacts/{position}")))
        .ok_or_else(|| not_found("artifact"))?;
    let path = path_of(artifact).ok_or_else(|| not_found("file of this artifact"))?.to_owned();
    let recorded: Vec<RecordedFile> = part(&entry, FILES)
        .and_then(|recorded| serde_json::from_value(recorded).ok())
        .unwrap_or_default();
    let recorded = recorded.into_iter().find(|recorded| recorded.artifact == position);
    let name = path.rsplit(['/', '\\']).next().unwrap_or("file").to_owned();
    let files = console.files.clone();
    let read = tokio::task::spawn_blocking(move || files.read(&path)).await.map_err(internal)?;
    Ok(read.map(|(bytes, size, sha256)| ArtifactFile { name, bytes, size, sha256, recorded }))
}

async fn state_by_id(state: State<Arc<Console>>, Path(id): Path<String>) -> ApiResult {
    let (index, position) = artifact_location(&state, &id).await?;
    state_of(state, Path((index.to_string(), position))).await
}

async fn file_by_id(state: State<Arc<Console>>, Path(id): Path<String>) -> ApiResult {
    let (index, position) = artifact_location(&state, &id).await?;
    file(state, Path((index.to_string(), position))).await
}

async fn state_of(
    State(console): State<Arc<Console>>,
    Path((id, position)): Path<(String, usize)>,
) -> ApiResult {
    let found = read_file(&console, &id, position).await?;
    let found = match found {
        Ok(found) => found,
        Err(rejection) => {
            let (state, solution) = match rejection {
                _ if console.files.is_empty() => (
                    "not served",
                    "Add the folder of such files to console.files in the configuration",
                ),
                FileRejection::Missing => ("missing", rejection.solution()),
                FileRejection::HardLinked | FileRejection::TooLarge => {
                    ("not served", rejection.solution())
                }
            };
            let state = json!({
                "state": state, "solution": solution, "size": null, "sha256": null, "media_type": null, "preview": null,
            });
            return ok(&state);
        }
    };
    let state = if found.has_changed() { "changed" } else { "available" };
    let solution = (state == "changed").then_some("The file changed after the reply was recorded");
    let ending = found.ending();
    let image = IMAGES.iter().find(|(known, _)| *known == ending);
    let preview = match ending.as_str() {
        _ if found.size > MAX_PREVIEW_BYTES || state == "changed" => None,
        _ if image.is_some() => Some("image"),
        "csv" => Some("csv"),
        "json" => Some("json"),
        other if TEXTS.contains(&other) => Some("text"),
        _ => None,
    };
    let response: Value = json!({
        "state": state,
        "solution": solution,
        "size": found.size,
        "sha256": found.sha256,
        "media_type": image.map_or("application/octet-stream", |(_, kind)| kind),
        "preview": preview,
    });
    ok(&response)
}

async fn file(
    State(console): State<Arc<Console>>,
    Path((id, position)): Path<(String, usize)>,
) -> ApiResult {
    let found = read_file(&console, &id, position).await?.map_err(rejection_problem)?;
    if found.has_changed() {
        let error = ErrorBuilder::new(
            "FILE_CHANGED",
            "The file changed after the reply was recorded",
            "file",
        )
        .condition("The file is unchanged since it was recorded")
        .solution("Compare the file with the recorded size and SHA-256");
        return Err(Problem::from_error(ProblemKind::Conflict, error));
    }
    let ending = found.ending();
    let image = IMAGES.iter().find(|(known, _)| *known == ending).map(|(_, kind)| *kind);
    let name = rfc5987_encoded(&found.name);
    let disposition = format!("attachment; filename*=UTF-8''{name}");
    let mut response: Response = found.bytes.into_response();
    let headers = response.headers_mut();
    let kind = HeaderValue::from_static(image.unwrap_or("application/octet-stream"));
    headers.insert(header::CONTENT_TYPE, kind);
    headers
        .insert(header::CONTENT_DISPOSITION, HeaderValue::try_from(disposition).map_err(internal)?);
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("sandbox; default-src 'none'"),
    );
    Ok(response)
}

fn rejection_problem(rejection: FileRejection) -> Problem {
    if rejection == FileRejection::Missing {
        return not_found("file");
    }
    let error = ErrorBuilder::new("FILE_NOT_SERVED", "The file exists but is not served", "file")
        .condition("The file is below console.files, has no further hard link, and at most 64 MiB")
        .solution(rejection.solution());
    Problem::from_error(ProblemKind::Forbidden, error)
}

/// Encodes a name as RFC 5987 defines it.
fn rfc5987_encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}
