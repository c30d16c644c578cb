use std::fs;
use std::path::{Path, PathBuf};

use answerback::governance::{Lock, LockfileVersion, Manifest, PromptFiles};
use answerback_store::system::random;
use anyhow::Context;
use serde_json::json;

/// The agent that attests results in the demo.
pub(super) const AGENT: &str = "domain-01-harbour";

const PROMPTS: [(&str, &str); 2] = [
    (
        "domains/harbour.prompt.md",
        "# Harbour\n\nYou answer questions about ships, berths and arrivals. You move no ship by yourself: you propose, and \
         a person decides.\n",
    ),
    (
        "domains/report.prompt.md",
        "# Report\n\nYou write what happened, with the numbers that show it. What you do not know, you say.\n",
    ),
];

const ARRIVALS: &str =
    "port,ships,status\nHamburg,40,on time\nRotterdam,50,late\nAntwerp,60,on time\n";

/// A folder that is removed after the demo.
pub(crate) struct DemoFolder {
    folder: PathBuf,
}

impl DemoFolder {
    /// Creates the folder with a configuration, a manifest, its lock and a data file.
    pub(crate) fn prepare() -> anyhow::Result<Self> {
        let name = format!("answerback-demo-{:016x}", u64::from_le_bytes(random()?));
        let demo = Self { folder: std::env::temp_dir().join(name) };
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&demo.folder).context("the demo's folder")?;
        demo.write("files/arrivals.csv", ARRIVALS)?;
        let state = json!({"version": "1.0.0", "profile": "default", "installed_at": "2026-03-02T09:00:00Z"});
        demo.write(".bot/.dotbot-state.json", &state.to_string())?;
        let mut files = PromptFiles::default();
        for (file, text) in PROMPTS {
            demo.write(file, text)?;
            files = files.with_file(file, text.as_bytes());
        }
        let manifest = manifest();
        let lock =
            Lock::of(&Manifest::from_document(&manifest)?, &files, LockfileVersion::default())?;
        demo.write("prompt-manifest.json", &format!("{manifest:#}\n"))?;
        demo.write("prompt-lock.json", &lock.to_text())?;
        demo.write("config.yml", &configuration(&demo.folder)?)?;
        Ok(demo)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let file = self.folder.join(name);
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).context("the demo's folder")?;
        }
        fs::write(&file, text).with_context(|| format!("the demo's {name}"))
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        // If this fails, only a temporary folder is left.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn manifest() -> serde_json::Value {
    let domain = |name: &str, number: u8, file: &str, scope: &str| {
        json!({
            "name": name, "file": file, "version": "1.0.0", "scope": scope,
            "canonical_id": format!("domain-{number:02}-{}", name.to_lowercase()),
        })
    };
    json!({
        "version": "1.0.0",
        "generated": "2026-03-02T09:00:00Z",
        "description": "The agents of a small harbour",
        "taxonomy": {"domains": 2, "archetypes": 0, "total_prompts": 2},
        "domains": {
            "harbour": domain("Harbour", 1, PROMPTS[0].0, "Ships, berths and arrivals"),
            "report": domain("Report", 2, PROMPTS[1].0, "What happened, with the numbers"),
        },
        "archetypes": {},
        "governance": {
            "immutable_domains": true, "hash_verification_required": true,
            "version_increment_required": true, "archetype_composition_validation": true,
        },
    })
}

/// Returns a configuration such as a new user could write. JSON is valid YAML.
fn configuration(folder: &Path) -> anyhow::Result<String> {
    let program = std::env::current_exe().context("our own program cannot be found")?;
    let configuration = json!({
        "gateway": {"upstreams": {"harbour": {"command": program, "args": ["tools", "--root", folder]}}},
        "governance": {"manifest": "prompt-manifest.json", "lock": "prompt-lock.json", "agent": AGENT},
        "console": {"files": "files"},
    });
    Ok(format!("{configuration:#}\n"))
}
