use super::kind::EntryKind;
use super::member::{LeafMember, MEMBERS, NAMES};
use super::parsed_leaf::{LONGEST, ParsedLeaf};
use crate::json::{CanonicalReader, FormError};
use crate::name_set::NameSet;

const REQUEST: &str = r#"{"kind":"request","request_id":"550e8400-e29b-41d4-a716-446655440000","tool":"weather.now","ts":"2026-11-15T18:24:44.727091Z","v":1}"#;

#[test]
fn the_table_of_members_is_sorted() {
    assert!(MEMBERS.is_sorted_by(|left, right| left.0 < right.0));
    assert_eq!(LeafMember::Vkey.name(), "vkey");
    assert_eq!(LeafMember::AgentId.name(), "agent_id");
    for (place, (name, kind)) in EntryKind::ALL.iter().enumerate() {
        assert_eq!((place, kind.name()), (*kind as usize, *name));
    }
}

#[test]
fn reads_where_values_stand() {
    let facts = ParsedLeaf::read(REQUEST.as_bytes()).unwrap();
    assert_eq!(facts.kind, EntryKind::Request);
    assert_eq!(facts.ts, 1_794_767_084_727_091);
    assert_eq!(facts.text(REQUEST.as_bytes(), LeafMember::Tool), Some(b"weather.now".as_slice()));
    assert_eq!(facts.text(REQUEST.as_bytes(), LeafMember::AgentId), None);
    assert_eq!(facts.uuid(REQUEST.as_bytes(), LeafMember::RequestId).unwrap()[..2], [0x55, 0x0e]);
    assert_eq!(facts.misplaced().count() + facts.lacking(REQUEST.as_bytes()).count(), 0);
}

#[test]
fn a_malformed_leaf_has_an_exact_error() {
    let spoiled = |from: &str, to: &str| {
        assert!(REQUEST.contains(from), "{from}");
        ParsedLeaf::read(REQUEST.replacen(from, to, 1).as_bytes()).map(|_| ()).unwrap_err().what
    };
    for (from, to, expected) in [
        ("\"v\":1", "\"v\":2", "the leaf's version is unknown"),
        (",\"v\":1", "", "v, kind or ts is missing"),
        ("\"kind\":\"request\",", "", "v, kind or ts is missing"),
        ("request\"", "question\"", "the kind is unknown"),
        ("weather.now", "weather now", "expected a token"),
        ("weather.now", "weather\\u0020now", "an escape is not canonical"),
        ("weather.now", "weather\\nnow", "a value has escapes"),
        ("550e", "550E", "expected a UUID in lower case"),
        ("727091", "72709", "expected a time in UTC with six digits of fraction"),
        ("{\"kind", "{ \"kind", "expected a string"),
        ("\"v\":1", "\"v\":1,\"v\":1", "members are not sorted, or one comes twice"),
        ("\"ts\"", "\"status\":\"ok\",\"ts\"", "members are not sorted, or one comes twice"),
        ("\"v\":1", "\"v\":1.0", "expected a whole number"),
        ("\"tool\"", "\"parts\":[],\"tool\"", "members are not sorted, or one comes twice"),
        ("\"request_id\"", "\"parts\":[],\"request_id\"", "an empty list of parts is left out"),
        ("}", "}\n", "more follows the value"),
    ] {
        assert_eq!(spoiled(from, to), expected, "{from} -> {to}");
    }
    assert!(ParsedLeaf::read(&vec![b' '; LONGEST + 1]).is_err());
    assert!(ParsedLeaf::read(b"{\"kind\":\"\xff\"}").is_err());
}

/// Checks that the fast path for expected names accepts and rejects the same input as the slow
/// path.
#[test]
fn expected_names_are_read_as_any_others() {
    let leaf = r#"{"agent_id":"a","agent_type":"domain","claimed":{"within_scope":true},"claimed_ts":"2026-11-15T18:24:44.727091Z","comment":[1],"kind":"request","ts":"2026-11-15T18:24:44.727091Z","v":1}"#;
    let read = |text: &[u8], names: &NameSet| {
        let mut members = Vec::new();
        let mut reader =
            CanonicalReader::new(text).map_err(|at| FormError { at, what: "UTF-8" })?;
        let read = reader.object(names, |reader, name| {
            members.push(name.text.to_vec());
            let place = MEMBERS.iter().position(|member| member.0.as_bytes() == name.text);
            let known = std::ptr::eq(names, &raw const NAMES).then_some(place).flatten();
            assert_eq!(name.known, known, "{}", name.text.escape_ascii());
            reader.skip()
        });
        read.map(|()| members)
    };
    let check = |text: &[u8]| {
        let read = (read(text, &NAMES), read(text, &NameSet::NONE));
        assert_eq!(read.0, read.1, "{}", text.escape_ascii());
    };
    check(leaf.as_bytes());
    for at in 0..leaf.len() {
        for byte in [b'"', b'\\', b'a', b't', b'v', b'z', b',', b':', b'}', 0, 0x1f, 0xc3] {
            let mut text = leaf.as_bytes().to_vec();
            text[at] = byte;
            check(&text);
            text.insert(at, leaf.as_bytes()[at]);
            check(&text);
        }
        let mut text = leaf.as_bytes().to_vec();
        text.remove(at);
        check(&text);
        check(&leaf.as_bytes()[..at]);
    }
    let members: Vec<&str> = leaf[1..leaf.len() - 1].split(',').collect();
    for first in 0..members.len() {
        for second in 0..members.len() {
            let mut members = members.clone();
            members.swap(first, second);
            check(format!("{{{}}}", members.join(",")).as_bytes());
            members[first] = members[second];
            check(format!("{{{}}}", members.join(",")).as_bytes());
        }
    }
}

#[test]
fn members_belong_to_kinds() {
    let response = r#"{"below":"1","kind":"response","ts":"2026-11-15T18:24:44.727091Z","v":1}"#;
    let facts = ParsedLeaf::read(response.as_bytes()).unwrap();
    assert_eq!(facts.misplaced().collect::<Vec<_>>(), ["below"]);
    let prune = r#"{"below":"1","kind":"prune","ts":"2026-11-15T18:24:44.727091Z","v":1}"#;
    let facts = ParsedLeaf::read(prune.as_bytes()).unwrap();
    assert_eq!(facts.lacking(prune.as_bytes()).collect::<Vec<_>>(), ["root"]);
    let stranger = REQUEST.replacen('{', "{\"comment\":[\"free text\"],", 1);
    assert_eq!(ParsedLeaf::read(stranger.as_bytes()).unwrap().unknown, ["comment"]);
}

#[test]
fn composite_values_are_exact() {
    let read = |member: &str| {
        let leaf =
            format!(r#"{{{member},"kind":"response","ts":"2026-11-15T18:24:44.727091Z","v":1}}"#);
        ParsedLeaf::read(leaf.as_bytes()).map(|_| ()).map_err(|error| error.what)
    };
    let flags = r#""boundaries_respected":true,"constraints_followed":true,"quality_standards_met":false,"within_scope":true"#;
    assert_eq!(read(&format!(r#""claimed":{{{flags}}}"#)), Ok(()));
    assert_eq!(
        read(r#""claimed":{"within_scope":true}"#),
        Err("expected the four attestation flags")
    );
    assert_eq!(read(r#""codes":["A","B"]"#), Ok(()));
    assert_eq!(read(r#""codes":["B","A"]"#), Err("a list is not sorted, or has a code twice"));
    let verdict = |text: &str| {
        let leaf = format!(
            r#"{{"kind":"response","ts":"2026-11-15T18:24:44.727091Z","v":1,"verdict":{text}}}"#
        );
        ParsedLeaf::read(leaf.as_bytes())
            .map(|facts| facts.text(leaf.as_bytes(), LeafMember::Verdict).map(<[u8]>::to_vec))
            .map_err(|error| error.what)
    };
    assert_eq!(verdict(r#"{"failed":[],"result":"accepted"}"#), Ok(Some(b"accepted".to_vec())));
    assert_eq!(verdict(r#"{"result":"accepted"}"#), Err("a verdict has failed and result"));
    assert_eq!(verdict(r#"{"failed":[],"result":"good"}"#), Err("the verdict's result is unknown"));
    assert_eq!(
        verdict(r#"{"failed":["B","B"],"result":"refused"}"#),
        Err("a list is not sorted, or has a code twice")
    );
}
