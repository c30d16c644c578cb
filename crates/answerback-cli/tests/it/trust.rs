//! A configuration that was found may say how calls are judged; the rest only when somebody trusts it.

use std::fs;
use std::process::Output;

use crate::masked::masked;
use crate::program::{program, told};

/// A project with a configuration, and a user with a state directory.
struct Project {
    folder: tempfile::TempDir,
}

const CONFIG: &str = "\
tools:
  validation:
    strict: true
store: state/audit.db
ledger:
  origin: example.org/audit
  key: audit.key
  anchor: elsewhere/audit.anchor
  on_failure: open
  queue: 64
  witness:
    - url: https://witness.example/w1
      key: witness.example/w1+5c5e0b9d+BG1v
governance:
  manifest: prompt-manifest.json
  lock: prompt-lock.json
  agent: domain-01-analysis
gateway:
  listen: 127.0.0.1:7070
";

impl Project {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("project/.agent")).unwrap();
        fs::create_dir_all(folder.path().join("project/below")).unwrap();
        let project = Self { folder };
        project.configure(config);
        project
    }

    fn configure(&self, config: &str) {
        fs::write(self.folder.path().join("project/.agent/config.yml"), config).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let home = self.folder.path();
        program(home.join("project/below").to_str().unwrap())
            .args(arguments)
            .env_remove("ANSWERBACK_STORE")
            .env("HOME", home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("LOCALAPPDATA", home.join("state"))
            .env("XDG_DATA_HOME", home.join("data"))
            .output()
            .unwrap()
    }

    fn told(&self, arguments: &[&str]) -> String {
        let folder = fs::canonicalize(self.folder.path()).unwrap();
        masked(&told(&self.run(arguments)), &folder)
    }
}

#[test]
fn trust_is_for_a_place_and_a_content() {
    let project = Project::new(CONFIG);
    let stats = ["ledger", "stats"];
    insta::assert_snapshot!("trust-list-nothing", project.told(&["trust", "--list"]));
    insta::assert_snapshot!("trust-not-yet", project.told(&stats));
    insta::assert_snapshot!("trust", project.told(&["trust"]));
    insta::assert_snapshot!("trust-now", project.told(&stats));
    insta::assert_snapshot!("trust-list", project.told(&["trust", "--list"]));
    project.configure(&CONFIG.replace("7070", "7071"));
    insta::assert_snapshot!("trust-changed", project.told(&stats));
    insta::assert_snapshot!(
        "trust-list-changed",
        project.told(&["trust", "--list", "--format", "json"])
    );
    insta::assert_snapshot!(
        "trust-json",
        project.told(&["trust", "--format", "json", "../.agent/config.yml"])
    );
    insta::assert_snapshot!("trust-remove", project.told(&["trust", "--remove"]));
    insta::assert_snapshot!("trust-remove-again", project.told(&["trust", "--remove"]));
    insta::assert_snapshot!("trust-no-more", project.told(&stats));
}

/// What is ignored is not judged either: whoever clones a broken file is told one line, and goes on.
#[test]
fn a_found_file_still_judges_calls() {
    let project = Project::new("tools:\n  validation:\n    strict: true\nstore: [7]\n");
    let schema = project.folder.path().join("schema.json");
    fs::write(&schema, r#"{"type": "object", "properties": {"path": {"type": "string"}}}"#)
        .unwrap();
    let call = ["call", "--tool", "t", "--schema", schema.to_str().unwrap(), r#"{"paht": "a"}"#];
    let output = project.run(&call);
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{}", told(&output));
    assert!(said.contains("answerback trust"), "{said}");
    insta::assert_snapshot!("trust-broken", project.told(&["trust"]));
    insta::assert_snapshot!("trust-nowhere", project.told(&["trust", "nowhere.yml"]));
    // A list that somebody broke trusts nothing.
    fs::create_dir_all(project.folder.path().join("state/answerback")).unwrap();
    fs::write(project.folder.path().join("state/answerback/trusted.json"), "[]").unwrap();
    insta::assert_snapshot!("trust-broken-list", project.told(&["ledger", "stats"]));
}

#[test]
fn a_file_that_wants_nothing_needs_no_trust() {
    let project = Project::new("tools:\n  validation:\n    strict: true\n");
    let output = project.run(&["ledger", "stats"]);
    assert!(!String::from_utf8(output.stderr).unwrap().contains("trust"));
    insta::assert_snapshot!("trust-nothing", project.told(&["trust"]));
}

/// What no server would start with is not trusted; what means nothing is told.
#[test]
fn a_file_is_read_as_a_server_reads_it_before_it_is_trusted() {
    for (config, code, said) in [
        ("gateway: {input: maybe}\n", 2, "gateway.input is \"maybe\""),
        ("gateway: {listen: here}\n", 2, "gateway.listen is \"here\""),
        ("gateway: {tokens: {desk: {scopes: [reed], file: a}}}\n", 2, "gateway.tokens.desk.scopes"),
        (
            "gateway: {upstreams: {far: {url: \"ftp://a.example/\"}}}\n",
            2,
            "gateway.upstreams.far: the URL of a server begins with http:// or https://",
        ),
        (
            "gateway: {upstreams: {far: {url: \"http://a.example/\", headers: {Host: {env: H}}}}}\n",
            2,
            "gateway.upstreams.far: the header host is set by the transport",
        ),
        (
            "governance: {agent: domain-01-a}\n",
            2,
            "governance.agent requires a manifest and a lock; set governance.manifest and governance.lock",
        ),
        // A secret may still come.
        (
            "gateway: {upstreams: {far: {url: \"http://a.example/\", headers: {X-Key: {env: NOT_SET}}}}}\n",
            0,
            "",
        ),
        ("a: 1\n", 0, "which are ignored: a"),
        ("gateway: {inputs: warn}\n", 2, "gateway.inputs is not a known key"),
    ] {
        let project = Project::new(config);
        let output = project.run(&["trust"]);
        assert_eq!(output.status.code(), Some(code), "{config}: {}", told(&output));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains(said), "{config}: {errors}");
        let listed = project.run(&["trust", "--list"]);
        assert_eq!(listed.stdout.is_empty(), code != 0, "{config}: {}", told(&listed));
    }
}
