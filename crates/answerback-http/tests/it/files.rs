use std::fs;

use answerback_http::{BearerToken, Scope, Tokens};

#[test]
fn a_token_is_created_once_and_then_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let (_, first) = Tokens::from_file_or_new(&path, "desk", [Scope::Call, Scope::Read]).unwrap();
    let (tokens, again) = Tokens::from_file_or_new(&path, "desk", Scope::Call).unwrap();
    assert_eq!(first.text(), again.text());
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{}\n", first.text()));
    let principal = tokens.authenticate(first.text()).unwrap();
    assert_eq!(principal.name(), "desk");
    assert!(principal.has(Scope::Call) && !principal.has(Scope::Read));
    assert!(!format!("{tokens:?} {principal:?} {first:?}").contains(&first.text()[3..]));
}

#[cfg(unix)]
#[test]
fn a_file_that_others_can_read_is_rejected() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    Tokens::from_file_or_new(&path, "desk", Scope::Call).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = [
        Tokens::from_file_or_new(&path, "desk", Scope::Call).map(drop).unwrap_err(),
        Tokens::new().with_file("desk", &path, Scope::Call).map(drop).unwrap_err(),
    ];
    for error in refused {
        let told = error.to_string().replace(&path.display().to_string(), "FILE");
        assert_eq!(told, "others can read or write FILE; change it with: chmod 600 FILE");
    }
}

#[test]
fn errors_do_not_repeat_an_invalid_token() {
    let folder = tempfile::tempdir().unwrap();
    let told = |error: answerback_http::TokenSourceError| {
        error.to_string().replace(&folder.path().display().to_string(), "FOLDER")
    };
    let absent = folder.path().join("absent");
    insta::assert_snapshot!(told(Tokens::new().with_file("desk", &absent, Scope::Call).unwrap_err()), @"the file FOLDER/absent does not exist");
    let path = folder.path().join("token");
    Tokens::from_file_or_new(&path, "desk", Scope::Call).unwrap();
    fs::write(&path, "hunter2").unwrap();
    insta::assert_snapshot!(told(Tokens::from_file_or_new(&path, "desk", Scope::Call).unwrap_err()), @"FOLDER/token does not contain a token");
    let unset = "ANSWERBACK_HTTP_TEST_UNSET";
    insta::assert_snapshot!(told(Tokens::new().with_variable("desk", unset, Scope::Call).unwrap_err()), @"the environment variable ANSWERBACK_HTTP_TEST_UNSET is not set");
    // Every test process has the variable `PATH`, and its value is not a token.
    insta::assert_snapshot!(told(Tokens::new().with_variable("desk", "PATH", Scope::Call).unwrap_err()), @"the environment variable PATH does not contain a token");
}

#[test]
fn names_and_tokens_are_unique() {
    let (one, two) = (BearerToken::generate().unwrap(), BearerToken::generate().unwrap());
    let tokens = Tokens::new().with("desk", &one, Scope::Call).unwrap();
    insta::assert_snapshot!(tokens.clone().with("desk", &two, Scope::Read).unwrap_err(), @"two tokens have the name desk; give each its own");
    insta::assert_snapshot!(tokens.with("phone", &one, Scope::Read).unwrap_err(), @"desk and phone have the same token; create a separate one for each");
}
