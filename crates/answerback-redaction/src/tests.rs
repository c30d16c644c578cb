use std::ops::Range;

use proptest::prelude::*;
use serde_json::json;

use crate::*;

/// Checks that the first of two elements announces the second only if it is a name, as in a list of headers.
#[test]
fn a_phrase_does_not_name_the_next_element() {
    assert!(!holds_secret(&json!({"add_ons": ["Camping Pass", "Parking Pass"]})));
    assert!(holds_secret(&json!(["DB_PASSWORD", "correct horse"])));
    assert!(holds_secret(&json!({"headers": [["Authorization", "Bearer abc.def-123"]]})));
}

#[test]
fn marks_what_is_secret() {
    for (text, expected) in [
        ("sk-proj-Zk3vN8qLw2Tx9RbY5sJm", "[redacted: API key]"),
        ("use sk-ant-api03-abcDEF123456789012345678, please", "use [redacted: API key], please"),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "[redacted: token]"),
        ("github_pat_11ABCDEFG0abcdefghijkl_mnop", "[redacted: token]"),
        ("xoxb-123456789012-abcdefGHIJ", "[redacted: token]"),
        // Random letters that begin like the name of a digest are not a digest.
        ("l =md5ilsiGwrfnEVpwwSsQFAPU7rYAUlZdZ1Z0W4MtQC", "l =[redacted: token]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted: API key]"),
        ("key:ASIAIOSFODNN7EXAMPLE.", "key:[redacted: API key]"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "[redacted: API key]"),
        (
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r",
            "[redacted: token]",
        ),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nrest",
            "[redacted: private key]\nrest",
        ),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn", "[redacted: private key]"),
        ("postgres://app:hunter2@db:5432/x", "postgres://app:[redacted: password]@db:5432/x"),
        ("redis://:s3cr/et@cache:6379/0", "redis://:[redacted: password]@cache:6379/0"),
        (
            "Server=db;User Id=sa;Password=Abc!23;",
            "Server=db;User Id=sa;Password=[redacted: password];",
        ),
        ("Authorization: Bearer abc.def-123", "Authorization: [redacted: authorization]"),
        ("curl -H 'X: Bearer 0a1b2c3d4e5f'", "curl -H 'X: Bearer [redacted: token]'"),
        ("Basic YWxhZGRpbjpvcGVuc2VzYW1l", "Basic [redacted: password]"),
        (
            "https://x.example/a?token=abcd1234&b=2",
            "https://x.example/a?token=[redacted: token]&b=2",
        ),
        (r#"{"password": "let me in"}"#, r#"{"password": "[redacted: password]"}"#),
        (
            r#"{"password": "let \"me\" in", "a": 1"#,
            r#"{"password": "[redacted: password]", "a": 1"#,
        ),
        (
            r#"{"secrets": ["let", {"a": "b] c"}], "d": [1"#,
            r#"{"secrets": [redacted: secret], "d": [1"#,
        ),
        (
            r#"{\"a\": 1, \"credentials\": {\"x\": \"y\"}}"#,
            r#"{\"a\": 1, \"credentials\": [redacted: credentials]}"#,
        ),
        (r#""a": [1], "api_key": ["let me in"]}"#, r#""a": [1], "api_key": [redacted: API key]}"#),
        ("{'a': 1, 'passphrase': ['let me in", "{'a': 1, 'passphrase': [redacted: password]"),
        ("{a: 1, password: let me in, b: 2}", "{a: 1, password: [redacted: password], b: 2}"),
        (r#"{\"api_key\":\"abc\"}"#, r#"{\"api_key\":\"[redacted: API key]\"}"#),
        ("net user ada hunter2 /add", "net user ada [redacted: password] /add"),
        ("net user growth was strong", "net user growth was strong"),
        ("net user ada /active:yes", "net user ada /active:yes"),
        (
            "ConvertTo-SecureString -String 'hunter2' -AsPlainText",
            "ConvertTo-SecureString -String '[redacted: password]' -AsPlainText",
        ),
        ("ConvertTo-SecureString $plain -Force", "ConvertTo-SecureString $plain -Force"),
        (
            r#"new NetworkCredential("ada", "hunter2")"#,
            r#"new NetworkCredential("ada", "[redacted: password]")"#,
        ),
        ("new NetworkCredential(user, password)", "new NetworkCredential(user, password)"),
        (
            "1/1200000000000000:0123456789abcdef0123456789abcdef",
            "1/1200000000000000:[redacted: token]",
        ),
        ("mysql -uroot -phunter db", "mysql -uroot -p[redacted: password] db"),
        ("login --password hunter2 now", "login --password [redacted: password] now"),
        ("DB_PASSWORD=correcthorse make", "DB_PASSWORD=[redacted: password] make"),
        ("password: hunter2!", "password: [redacted: password]"),
        ("$2b$12$KIXQ4Rj8Q1Zz7e9bYvV0HuZ8u1", "[redacted: password hash]"),
        ("id Zk3vN8qLw2Tx9RbY5sJm7cPd4HfGa1Ue=", "id [redacted: token]"),
        ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "[redacted: token]"),
        // Random letters with almost the frequencies of words, and separated as in a path.
        ("(a \"é, 8/Iw/ancJtt01iJ+mmq9pMONSyqpr1asztnkeiAC", "(a \"é, [redacted: token]"),
        ("9ipqefOSLQUTlfTOAN0rvlfELsdmuv2F", "[redacted: token]"),
        ("0wow+cocol+3qPHRLORYv/iFTURculaIUcRDpowR", "[redacted: token]"),
    ] {
        assert_eq!(redact(text), expected);
        assert_eq!(redact(expected), expected, "a second time changes nothing");
    }
}

#[test]
fn leaves_what_is_not() {
    for text in [
        "www.example.com",
        "1.2.3",
        "v10.4.1-beta.2+build.77",
        "550e8400-e29b-41d4-a716-446655440000",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        "aGVsbG8=",
        "aGVsbG8gd29ybGQ=",
        "VGhlIHF1aWNrIGJyb3duIGZveA==",
        "The password must be at least 8 characters.",
        "Enter the secret: it is on the card",
        "token: string",
        "def f(password=None, token=token): pass",
        "api_key=os.environ[\"KEY\"]",
        "password = getpass()",
        "https://user@host.example/path",
        "http://localhost:8080/a@b",
        "https://example.com:443/x?page_token=5",
        "Basic authentication",
        "Authorization: Bearer token",
        "Authorization: Bearer <token>",
        "bearer of bad news",
        "token ring network",
        "risk-assessment-report-2024-final",
        "task-management-system-v2-release",
        "sk-learn",
        "call_a1B2c3D4e5F6g7H8i9J0k1L2",
        "toolu_01A09q90qw90lq917835lq9Xa",
        "2024-05-01T12:00:00.000000+00:00",
        "IMG_20240101_123456_HDR.jpeg",
        "src/components/UserProfileCard2.tsx",
        "com.example.project.MyClass$Inner2",
        "$1,234.56 and $6 more",
        "ada@example.com",
        "-----BEGIN CERTIFICATE-----\nMIIDdTCCAl2gAwIBAgIVAMIIujU7wCQYDVQQGEwJVUzELMAkGA1UECBMCQ0ExFDAS\n-----END CERTIFICATE-----",
        "{email: '', password: ''}",
        r#"{"secrets": [], "credentials": { }, "password": null, "token": true}"#,
        "First, password: it is on the card",
        "0x742d35Cc6634C0532925a3b844Bc454e4438f44e",
        "SELECT * FROM tokens WHERE id = 5",
        "GET /oauth/token HTTP/1.1",
        "user:pass",
        "a:b@c",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
        "[redacted: API key]",
        "SQLITE_CONSTRAINT_FOREIGNKEY",
        "getElementsByClassNameAndAttribute",
        "XMLHttpRequestEventTarget",
        "9781234567897",
        "+1-555-0100-1234",
        "AAPL,GOOG,MSFT",
        "/usr/lib/x86_64-linux-gnu/libssl.so.3",
        "src/a/b.rs",
        "/home/Ada/Projects/WebApp2/src/components/UserProfile/UserProfileCard",
        "C:/Program Files/Common/VC/Tools/MSVC/14.38.33130/bin/Hostx64/x64",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.api+json",
        "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/v2",
        "@typescript-eslint/eslint-plugin-tslint/dist/index",
        "refs/heads/feature/JIRA-1234-AddOAuth2PKCELogin",
        "https://github.com/RustCrypto/utils/commit/dba6c355c9f241e3726d5ec2a68f9f3b519f6063",
        "https://github.com/C2SP/CCTV/tree/5ea85644bd035c555900a2f707f7e4c31ea65ced/ed25519vectors",
        "blobs/sha256/E3B0C44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "Europe/Amsterdam,America/Argentina/ComodRivadavia",
        "kRegExpMatchAllWithNonGlobalRegExp",
        "FlushL1DCacheOnContextSwitchOutOfTask",
        "AbstractSingletonProxyFactoryBeanDefinitionParser",
        "xXF86OldVidModeValidateModeLineReq",
        "matchOperandIsKnownToBeAPowerOfTwo",
        "漢字とかな",
        "",
    ] {
        assert_eq!(redact(text), text);
        assert!(find(text).is_empty());
    }
}

#[test]
fn what_was_cut_off_counts_as_what_it_began_to_be() {
    for (text, expected) in [
        (r#"{"a": "sk-proj-kne"#, r#"{"a": "[redacted: API key]"#),
        (r#"{"a": "see eyJ1EuI"#, r#"{"a": "see [redacted: token]"#),
        (r#"["mysql://app:meadow-saf"#, r#"["mysql://app:[redacted: password]"#),
        (r#"["iKqSsy4o"#, r#"["[redacted: token]"#),
        (r#"{"a": "use lvWpIGIeQUTXjyQ"#, r#"{"a": "use [redacted: token]"#),
        (r#"{"at": "2026-01-15T10"#, r#"{"at": "2026-01-15T10"#),
        (r#"{"city": "Washingto"#, r#"{"city": "Washingto"#),
        (r#"{"a": "http://localhost:80"#, r#"{"a": "http://localhost:80"#),
        (r#"{"path": "src/main2.rs"#, r#"{"path": "src/main2.rs"#),
        ("", ""),
    ] {
        assert_eq!(redact_cut(text), expected);
    }
    // A complete text gets no allowance for truncation.
    assert_eq!(redact("use sk-learn"), "use sk-learn");
}

#[test]
fn pointers_are_marked_name_by_name() {
    for (pointer, expected) in [
        ("", ""),
        ("/a/0/b~1c", "/a/0/b~1c"),
        (
            "/a~1b/redis:~1~1:s3cr~1et@cache~10/c",
            "/a~1b/redis:~1~1:[redacted: password]@cache~10/c",
        ),
        ("/Bearer 0a1b2c3d4e5f/x", "/Bearer [redacted: token]/x"),
        ("AKIAIOSFODNN7EXAMPLE/x", "[redacted: API key]/x"),
    ] {
        assert_eq!(redact_pointer(pointer), expected);
        assert_eq!(redact_pointer(expected), expected, "a second time changes nothing");
    }
}

#[test]
fn documents_are_marked_by_name_and_by_shape() {
    let document = json!({
        "user": "ada", "password": 12345, "nested": {"apiKey": ["a", "b"], "note": "ghp_16C7e42F292c6912E7710c838347Ae178B4a"},
        "hash": "Zm9v", "max_tokens": 100, "token": null,
    });
    assert_eq!(
        redact_value(&document),
        json!({
            "user": "ada", "password": "[redacted: password]", "nested": {"apiKey": "[redacted: API key]", "note": "[redacted: token]"},
            "hash": "Zm9v", "max_tokens": 100, "token": null,
        })
    );
}

/// Generates texts of characters from an alphabet, each equally likely.
fn dice(
    alphabet: &'static str,
    length: impl Into<proptest::collection::SizeRange>,
) -> impl Strategy<Value = String> {
    let characters: Vec<char> = alphabet.chars().collect();
    proptest::collection::vec(proptest::sample::select(characters), length)
        .prop_map(String::from_iter)
}

const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Generates secrets of every known vendor, and unlabeled ones.
fn secret() -> impl Strategy<Value = String> {
    let made = |prefixes: &'static [&'static str], alphabet, length: Range<usize>| {
        (proptest::sample::select(prefixes), dice(alphabet, length))
            .prop_map(|(prefix, body)| format!("{prefix}{body}"))
            .boxed()
    };
    prop_oneof![
        made(&["sk-", "sk-proj-", "sk-ant-api03-", "sk_live_"], BASE62, 24..49),
        made(&["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "npm_"], BASE62, 36..37),
        made(&["github_pat_11", "glpat-"], BASE62, 20..60),
        made(&["xoxb-123456789012-", "xoxp-", "xoxa-2-", "xapp-1-"], BASE62, 12..30),
        made(&["AKIA", "ASIA"], "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16..17),
        made(&["AIza"], BASE64URL, 35..36),
        (dice(BASE64URL, 20..60), dice(BASE64URL, 20..60), dice(BASE64URL, 43))
            .prop_map(|(head, body, tail)| format!("eyJ{head}.eyJ{body}.{tail}")),
        // Words that can also be the address of a wallet are excluded by their length.
        dice(BASE62, 35..65),
        dice(BASE64, 40),
        dice(BASE64, 64..500).prop_map(|body| format!(
            "-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
        )),
    ]
}

fn has_piece_of(text: &str, secret: &str) -> bool {
    // The well-known markers of the block are not part of the secret.
    let body = secret
        .trim_start_matches("-----BEGIN PRIVATE KEY-----")
        .trim_end_matches("-----END PRIVATE KEY-----");
    body.as_bytes().windows(8).any(|piece| text.as_bytes().windows(8).any(|window| window == piece))
}

#[test]
fn marks_are_found_where_they_stand() {
    for (text, expected) in [
        ("[redacted]", vec!["[redacted]"]),
        (
            "a [redacted: API key]:[redacted: password]@b",
            vec!["[redacted: API key]", "[redacted: password]"],
        ),
        ("[redacted: ]", vec!["[redacted: ]"]),
        ("[redacted", vec![]),
        ("[redacted-1] [redacted: a1] redacted", vec![]),
    ] {
        let found: Vec<&str> = marks(text).map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn a_text_is_searched_like_its_value() {
    for (document, expected) in [
        (r#"{"a":[1,-2,1.5,1e400,null,true,"plain words"],"b":{}}"#, None),
        (r#"{"a":[1,-2,1.5,null,true,"plain words"],"b":{}}"#, Some(false)),
        (r#"{"pin":1234}"#, Some(true)),
        (r#"{"pin":null,"password":""}"#, Some(false)),
        (r#"{"password":"[redacted: password]"}"#, Some(false)),
        (r#"{"a":["\u0070assword=hunter22!"]}"#, Some(true)),
        (r#"{"a":1,"a":"password=hunter22!"}"#, Some(true)),
        (r#"{"a":1} x"#, None),
        ("{", None),
    ] {
        assert_eq!(text_holds_secret(document).ok(), expected, "{document}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_planted_secret_never_appears(
        secret in secret(),
        before in "([a-zé ,.:(\"/<]{0,12} |)[ \"'(=:,]?",
        after in "([ \"',;)\n][a-z <]{0,12})?",
        name in "[a-z_]{1,8}",
        hidden_in in 0..4,
    ) {
        prop_assume!(!name::is_public_name(&name) && !scan::has_public_label(&before));
        let text = format!("{before}{secret}{after}");
        let value = match hidden_in {
            0 => json!(text),
            1 => json!([1, {&name: [text]}]),
            2 => json!({&name: {"deep": text}}),
            _ => json!({&text: 1}),
        };
        for shown in [redact_value(&value).to_string(), redact(&text).into_owned()] {
            prop_assert!(!has_piece_of(&shown, &secret), "{shown}");
        }
        prop_assert_eq!(holds_secret(&value), redact_value(&value) != value);
        prop_assert_eq!(text_holds_secret(&value.to_string()).unwrap(), holds_secret(&value));
    }

    #[test]
    fn a_value_with_the_name_of_a_secret_never_appears(value in "[!-~]{8,40}", name in "(db_|user_|my-)?(password|secret|api_key|token|Passphrase)") {
        let document = json!({"a": [{&name: value}]});
        let shown = redact_value(&document).to_string();
        prop_assert!(!has_piece_of(&shown, &value), "{shown}");
        prop_assert!(holds_secret(&document));
        prop_assert!(!holds_secret(&redact_value(&document)));
        prop_assert!(text_holds_secret(&document.to_string()).unwrap());
        prop_assert!(!text_holds_secret(&redact_value(&document).to_string()).unwrap());
    }
}
