//! Restores the text of values that are meant as text but that YAML reads as another type: a port, a version,
//! a switch.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Spanned;

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    gateway: GatewayText,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GatewayText {
    upstreams: BTreeMap<String, ServerText>,
}

/// The members of a server whose values are text for its program.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ServerText {
    args: Vec<Spanned<Value>>,
    env: BTreeMap<String, Spanned<Value>>,
}

/// Replaces numbers and booleans with the text in the file, if a server's program gets them as text. `1.10`
/// is a version and `007` a name, although YAML reads both as numbers. A file of another shape stays
/// unchanged, and later checks report it.
pub(super) fn keep_texts(parsed: &mut Value, text: &str) {
    let Some(servers) = parsed.pointer_mut("/gateway/upstreams").and_then(Value::as_object_mut)
    else {
        return;
    };
    let Ok(Some(file)) = serde_saphyr::from_str::<Option<File>>(text) else { return };
    for (name, written) in &file.gateway.upstreams {
        let Some(server) = servers.get_mut(name) else { continue };
        for (place, argument) in written.args.iter().enumerate() {
            keep_text(server.pointer_mut(&format!("/args/{place}")), argument, text);
        }
        for (variable, value) in &written.env {
            let place = server.get_mut("env").and_then(|env| env.get_mut(variable));
            keep_text(place, value, text);
        }
    }
}

fn keep_text(place: Option<&mut Value>, written: &Spanned<Value>, text: &str) {
    let is_other = matches!(written.value, Value::Number(_) | Value::Bool(_));
    let Some(place) = place.filter(|place| is_other && **place == written.value) else { return };
    let span = written.defined.span();
    let words = span.byte_offset().zip(span.byte_len()).and_then(|(offset, length)| {
        let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
        text.get(offset..offset.checked_add(length)?)
    });
    // Only a value that is written out is used, not an alias or an anchor.
    if let Some(words) = words.map(str::trim).filter(|words| !words.contains(['\n', '*', '&'])) {
        *place = words.into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kept(upstreams: &str) -> Value {
        let text = format!("# ä\ngateway:\n  upstreams:\n    a: {upstreams}\n");
        let mut parsed: Value = serde_saphyr::from_str(&text).unwrap();
        keep_texts(&mut parsed, &text);
        parsed["gateway"]["upstreams"]["a"].clone()
    }

    #[test]
    fn what_is_text_for_a_program_is_what_stands_there() {
        for (written, expected) in [
            ("8080", "8080"),
            ("1.10", "1.10"),
            ("007", "007"),
            ("0x1F", "0x1F"),
            ("1e3", "1e3"),
            ("-1", "-1"),
            ("true", "true"),
            ("True", "True"),
            ("no", "no"),
            ("\"5\"", "5"),
            ("'5'", "5"),
        ] {
            let server = kept(&format!("{{command: x, env: {{V: {written} }}}}"));
            assert_eq!(server["env"]["V"], expected, "{written}");
            let server = kept(&format!(
                "\n      command: x\n      args:\n        - -p\n        - {written}\n"
            ));
            assert_eq!(server["args"], json!(["-p", expected]), "{written}");
        }
    }

    #[test]
    fn what_is_no_text_is_left_to_be_refused() {
        assert_eq!(
            kept("{env: {V: null, W: [1], X: {env: KEY}}}")["env"],
            json!({"V": null, "W": [1], "X": {"env": "KEY"}})
        );
        // A file of another shape stays unchanged.
        assert_eq!(kept("{env: [1]}")["env"], json!([1]));
    }
}
