use serde_json::Value;

use super::{Provider, ShapeError, Tool, wire};

/// Reads a list of tools in any provider's shape, and says whose most of it is.
///
/// Each entry is read by its own shape, because lists are put together from several sources. An entry
/// without a name is left out, as nothing can call it.
///
/// # Errors
///
/// When it is no list of tools, or no entry of it can be read; the error is the one of MCP, whose shape is
/// the plainest, where no other provider's shape fits.
///
/// ```
/// use answerback_calls::provider::{Provider, read_tools};
///
/// let list = serde_json::json!([{"name": "read_file", "input_schema": {"type": "object"}}]);
/// let (provider, tools) = read_tools(&list)?;
/// assert_eq!((provider, tools[0].name.as_str()), (Provider::Anthropic, "read_file"));
/// # Ok::<(), answerback_calls::provider::ShapeError>(())
/// ```
pub fn read_tools(list: &Value) -> Result<(Provider, Vec<Tool>), ShapeError> {
    let fitting = Provider::ALL.into_iter().find(|provider| provider.wire().is_list(list));
    let provider = fitting.unwrap_or(Provider::Mcp);
    let places = ["", "/tools", "/result/tools", "/toolConfig/tools"];
    let Some(entries) = wire::elements(list, &places) else {
        return Ok((provider, provider.tools(list)?));
    };
    let (mut tools, mut fault) = (Vec::new(), None);
    for (place, entry) in &entries {
        let own = Provider::of_entry(entry).unwrap_or(provider);
        match own.tools(&Value::Array(vec![(*entry).clone()])) {
            Ok(read) => tools.extend(read),
            Err(mut error) => {
                let below: Vec<_> = error.place.tokens().skip(1).collect();
                error.place = below.iter().fold(place.clone(), |place, token| place.join(token));
                fault.get_or_insert(error);
            }
        }
    }
    match fault {
        Some(fault) if tools.is_empty() => Err(fault),
        _ => Ok((provider, tools)),
    }
}
