//! A temporary solution that checks every answer it gets.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::tools::call::BuiltinCall;
use crate::tools::tool_reply::ToolReply;
use crate::tools::{SolutionRoot, ToolEnvironment, Toolset};
use answerback::Timestamp;
use answerback::contract::tool::McpHost;
use answerback::contract::{Contract, Profile};
use serde_json::Value;

/// A copy of `examples/harbour`, in a folder of that name.
pub(crate) struct Scene {
    made: tempfile::TempDir,
    pub(crate) tools: Toolset,
}

impl Scene {
    pub(crate) fn harbour() -> Self {
        let made = tempfile::tempdir().unwrap();
        let harbour = made.path().join("harbour");
        copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/harbour"), &harbour);
        let tools = Toolset::new(SolutionRoot::At(harbour), environment());
        Self { made, tools }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.made.path().join("harbour").join(name)
    }

    /// Returns the folder around the solution.
    #[cfg(unix)]
    pub(crate) fn outside(&self) -> &Path {
        self.made.path()
    }

    pub(crate) fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, name: &str) {
        let path = self.path(name);
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        removed.unwrap();
    }

    /// Replaces a part of a file, which must be there.
    pub(crate) fn edit(&self, name: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(old), "{name} has no {old:?}");
        self.put(name, text.replacen(old, new, 1));
    }

    /// Calls a tool and checks the answer: strictly, without any finding, and against the schema that the tool
    /// declares.
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        judged(&self.tools, tool, arguments)
    }
}

pub(crate) fn judged(tools: &Toolset, tool: &str, arguments: &Value) -> Value {
    let answer = tools.call(&BuiltinCall::new(tool, arguments.clone())).unwrap();
    let document = answer.to_document();
    let contract = match answer {
        ToolReply::Atdf(_) => Contract::Atdf,
        ToolReply::Envelope(_) => Contract::Tool,
    };
    let findings = contract.check(&document, Profile::Strict);
    assert!(findings.is_empty(), "{tool} {arguments}: {findings:?}\n{document:#}");
    assert_eq!(answer.is_error(), document["status"] == "error");
    let definition = tools.definitions().find(|definition| definition.name == tool).unwrap();
    let schema = Value::Object(definition.output_schema.clone());
    let schema = answerback::call::Schema::compile(schema).unwrap();
    let findings = answerback::call::check(&schema, &document, ()).unwrap();
    assert!(findings.is_empty(), "{tool} {arguments}: {findings:?}\n{document:#}");
    document
}

/// Returns an environment in which the time never changes.
pub(crate) fn environment() -> ToolEnvironment {
    let now = || Timestamp::from_unix_millis(1_767_362_220_000);
    ToolEnvironment::new(now, || Duration::ZERO).with_host(Some(McpHost::Ci))
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
