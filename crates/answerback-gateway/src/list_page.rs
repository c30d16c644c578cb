//! Reads and writes the pages of MCP lists as JSON text, so that the items stay byte for byte as the server wrote them.

use answerback_mcp::wire::Object;
use serde_json::Value;

/// Builds one page from the items of several servers.
pub(crate) fn list_page(member: &str, items: &[String], is_modern: bool) -> String {
    let items = items.join(",");
    let name = Value::from(member);
    let rest =
        if is_modern { r#","resultType":"complete","ttlMs":0,"cacheScope":"private""# } else { "" };
    format!("{{{name}:[{items}]{rest}}}")
}

/// Reads the items of a page as JSON text.
pub(crate) fn list_items(page: &str, member: &str) -> Vec<String> {
    let parse = || {
        let list = Object::read(page).ok()?.get(member)?;
        let items: Vec<&serde_json::value::RawValue> = serde_json::from_str(list).ok()?;
        Some(items.into_iter().map(|item| item.get().to_owned()).collect())
    };
    parse().unwrap_or_default()
}

/// Reads a member that is a string.
pub(crate) fn string_member(object: &str, member: &str) -> Option<String> {
    serde_json::from_str(Object::read(object).ok()?.get(member)?).ok()
}

/// Sets a member of an object to a string.
pub(crate) fn with_string_member(object: &str, member: &str, text: &str) -> Option<String> {
    Some(Object::read(object).ok()?.with(member, &Value::from(text).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_stay_as_they_are_written() {
        let page_text = r#"{"tools":[ {"name":"a","n":1.50} ,{"name":"b"}],"nextCursor":null}"#;
        let items = list_items(page_text, "tools");
        assert_eq!(
            list_page("tools", &items, false),
            r#"{"tools":[{"name":"a","n":1.50},{"name":"b"}]}"#
        );
        assert_eq!(
            with_string_member(&items[0], "name", "x").as_deref(),
            Some(r#"{"name":"x","n":1.50}"#)
        );
    }
}
