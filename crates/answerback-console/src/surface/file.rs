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

use super::artifacts::place_of;
use super::replies::find;
use crate::Console;
use crate::ask::{Answer, internal, not_found, ok};
use crate::files::{FileRefusal, RecordedFile, path_of};
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
const LARGEST_PREVIEW: u64 = 1 << 20;

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
    noted: Option<RecordedFile>,
}

impl ArtifactFile {
    /// True if the file differs from the recorded one, or if none was recorded.
    fn has_changed(&self) -> bool {
        self.noted.as_ref().is_none_or(|noted| noted.sha256 != self.sha256)
    }

    fn ending(&self) -> String {
        let ending = self.name.rsplit_once('.').map_or("", |(_, ending)| ending);
        ending.to_ascii_lowercase()
    }
}

/// Reads the file of an artifact, or returns the reason why it is not served.
async fn look(
    console: &Arc<Console>,
    id: &str,
    position: usize,
) -> Result<Result<ArtifactFile, FileRefusal>, Problem> {
    let entry = find(console, id).await?;
    let shown = ReplyView::of(&entry);
    let artifact = shown
        .ui
        .as_ref()
        .and_then(|ui| ui.pointer(&format!("/artifacts/{position}")))
        .ok_or_else(|| not_found("artifact"))?;
    let path = path_of(artifact).ok_or_else(|| not_found("file of this artifact"))?.to_owned();
    let noted: Vec<RecordedFile> = part(&entry, FILES)
        .and_then(|noted| serde_json::from_value(noted).ok())
        .unwrap_or_default();
    let noted = noted.into_iter().find(|noted| noted.artifact == position);
    let name = path.rsplit(['/', '\\']).next().unwrap_or("file").to_owned();
    let files = console.files.clone();
    let read = tokio::task::spawn_blocking(move || files.read(&path)).await.map_err(internal)?;
    Ok(read.map(|(bytes, size, sha256)| ArtifactFile { name, bytes, size, sha256, noted }))
}

async fn state_by_id(state: State<Arc<Console>>, Path(id): Path<String>) -> Answer {
    let (index, position) = place_of(&state, &id).await?;
    state_of(state, Path((index.to_string(), position))).await
}

async fn file_by_id(state: State<Arc<Console>>, Path(id): Path<String>) -> Answer {
    let (index, position) = place_of(&state, &id).await?;
    file(state, Path((index.to_string(), position))).await
}

async fn state_of(
    State(console): State<Arc<Console>>,
    Path((id, position)): Path<(String, usize)>,
) -> Answer {
    let found = look(&console, &id, position).await?;
    let found = match found {
        Ok(found) => found,
        Err(refusal) => {
            let (state, solution) = match refusal {
                _ if console.files.is_empty() => (
                    "not served",
                    "Name the folder of such files as console.files in the configuration",
                ),
                FileRefusal::Missing => ("missing", refusal.solution()),
                FileRefusal::HardLinked | FileRefusal::TooLarge => {
                    ("not served", refusal.solution())
                }
            };
            let told = json!({
                "state": state, "solution": solution, "size": null, "sha256": null, "media_type": null, "preview": null,
            });
            return ok(&told);
        }
    };
    let state = if found.has_changed() { "changed" } else { "available" };
    let solution = (state == "changed")
        .then_some("It is not the file that was recorded when the reply came in");
    let ending = found.ending();
    let image = IMAGES.iter().find(|(known, _)| *known == ending);
    let preview = match ending.as_str() {
        _ if found.size > LARGEST_PREVIEW || state == "changed" => None,
        _ if image.is_some() => Some("image"),
        "csv" => Some("csv"),
        "json" => Some("json"),
        other if TEXTS.contains(&other) => Some("text"),
        _ => None,
    };
    let told: Value = json!({
        "state": state,
        "solution": solution,
        "size": found.size,
        "sha256": found.sha256,
        "media_type": image.map_or("application/octet-stream", |(_, kind)| kind),
        "preview": preview,
    });
    ok(&told)
}

async fn file(
    State(console): State<Arc<Console>>,
    Path((id, position)): Path<(String, usize)>,
) -> Answer {
    let found = look(&console, &id, position).await?.map_err(refused)?;
    if found.has_changed() {
        let told = ErrorBuilder::new(
            "FILE_CHANGED",
            "It is not the file that was recorded when the reply came in",
            "file",
        )
        .condition("The file is as it was when it was recorded")
        .solution("Look at the file itself; the record has its size and its SHA-256");
        return Err(Problem::from_error(ProblemKind::Conflict, told));
    }
    let ending = found.ending();
    let image = IMAGES.iter().find(|(known, _)| *known == ending).map(|(_, kind)| *kind);
    let name = encoded(&found.name);
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

fn refused(refusal: FileRefusal) -> Problem {
    if refusal == FileRefusal::Missing {
        return not_found("file");
    }
    let told = ErrorBuilder::new("FILE_NOT_SERVED", "The file is there, and is not served", "file")
        .condition("The file has one name, below console.files, and at most 64 MiB")
        .solution(refusal.solution());
    Problem::from_error(ProblemKind::Forbidden, told)
}

/// Encodes a name as RFC 5987 defines it.
fn encoded(name: &str) -> String {
    name.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}
