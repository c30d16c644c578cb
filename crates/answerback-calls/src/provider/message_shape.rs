//! Reads and writes the messages of each provider through its [`ProviderFormat`].

use std::fmt;
use std::str::FromStr;

use answerback_json::Pointer;
use serde_json::Value;

use super::wire::{self, ProviderFormat};
use super::{
    Arguments, ShapeError, Tool, ToolCall, ToolResult, TurnError, UnknownProvider, anthropic,
    bedrock, gemini, mcp, openai_chat, openai_responses,
};

/// The provider whose message shapes a conversation uses.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Provider {
    /// The Model Context Protocol.
    Mcp,
    /// OpenAI's Chat Completions, and everybody who speaks it.
    OpenAiChat,
    /// OpenAI's Responses.
    OpenAiResponses,
    /// Anthropic's Messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
    /// Amazon Bedrock's Converse.
    Bedrock,
}

impl Provider {
    /// All of them, in the order in which they are listed for people.
    pub const ALL: [Self; 6] = [
        Self::Mcp,
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Bedrock,
    ];

    /// The word for it on the command line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::OpenAiChat => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
        }
    }

    /// Reads a list of tools. Tools that the provider runs itself are left out.
    ///
    /// # Errors
    ///
    /// When the list, or the name of an entry, has not this provider's shape.
    pub fn tools(self, list: &Value) -> Result<Vec<Tool>, ShapeError> {
        let wrong = |place, expected| ShapeError { provider: self, place, expected };
        let entries = self.wire().tools(list);
        let entries = entries.ok_or_else(|| wrong(Pointer::root(), "a list of tools"))?;
        let read = |place: &wire::ToolPlace| {
            let text = |at: &Pointer| at.find(list).and_then(Value::as_str).map(str::to_owned);
            let name = text(&place.name).filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| wrong(place.name.clone(), "the tool's name"))?;
            let input_schema = match place.schema.find(list) {
                None if self.wire().schemas_are_optional() => {
                    serde_json::json!({"type": "object"})
                }
                None => Value::Null,
                Some(schema @ Value::Object(_)) => self.wire().schema(schema),
                // It is no reason to refuse the other tools.
                Some(other) => other.clone(),
            };
            Ok(Tool { name, description: text(&place.description), input_schema })
        };
        entries.iter().map(read).collect()
    }

    /// Reads the calls of a model's message, or of the whole response around it.
    ///
    /// # Errors
    ///
    /// When the message, or a call in it, has not this provider's shape.
    pub fn calls(self, message: &Value) -> Result<Vec<ToolCall>, ShapeError> {
        let wrong = |place, expected| ShapeError { provider: self, place, expected };
        let places = self.wire().calls(message);
        let places = places.ok_or_else(|| wrong(Pointer::root(), "a model's message"))?;
        let read = |(index, place): (usize, &wire::CallPlace)| {
            let id = match place.id.find(message) {
                Some(Value::String(id)) => Some(id.clone()),
                Some(Value::Number(id)) => Some(id.to_string()),
                _ if self.wire().ids_are_optional() => None,
                _ => return Err(wrong(place.id.clone(), "the call's id")),
            };
            let name = place.name.find(message).and_then(Value::as_str);
            let name = name.ok_or_else(|| wrong(place.name.clone(), "the tool's name"))?;
            let arguments = match place.arguments.find(message) {
                Some(Value::String(text)) if self.wire().sends_text() => {
                    Arguments::Text(text.clone())
                }
                Some(value) => Arguments::Value(value.clone()),
                None => Arguments::Value(Value::Null),
            };
            Ok(ToolCall {
                has_id: id.is_some(),
                id: id.unwrap_or_else(|| format!("call_{}", index + 1)),
                name: name.to_owned(),
                arguments,
            })
        };
        places.iter().enumerate().map(read).collect()
    }

    /// Writes the result of one call.
    pub fn result(self, call: &ToolCall, result: &ToolResult) -> Value {
        self.wire().result(call, result)
    }

    /// Writes what follows the model's message: one result for every call of it, in order, as every
    /// provider demands. A call without a result did not run, and its result says so.
    ///
    /// # Errors
    ///
    /// When a result answers none of the calls, or one that is answered already.
    pub fn turn(self, calls: &[ToolCall], results: &[ToolResult]) -> Result<Value, TurnError> {
        let mut left: Vec<&ToolResult> = results.iter().collect();
        let written = calls.iter().map(|call| {
            let found = left.iter().position(|result| result.tool_call_id == call.id);
            match found {
                Some(index) => self.result(call, left.remove(index)),
                None => self.result(call, &ToolResult::not_run(&call.id)),
            }
        });
        let written = written.collect();
        match left.first() {
            Some(result) => Err(TurnError(result.tool_call_id.clone())),
            None => Ok(self.wire().turn(written)),
        }
    }

    /// The model's message in a form that the provider takes back as history: arguments that are not
    /// an object, and names that no tool may have, are replaced. All else is untouched, also what we
    /// do not know. A history with the bad call as it was would be refused from then on.
    pub fn echo(self, message: &Value) -> Value {
        let mut legal = message.clone();
        for place in self.wire().calls(message).unwrap_or_default() {
            if let Some(name) = legal.pointer_mut(place.name.as_str())
                && let Some(text) = name.as_str()
            {
                *name = self.wire().legal_name(text).into();
            }
            let arguments = place.arguments.find(message);
            let arguments = wire::legal_arguments(arguments, self.wire().sends_text());
            if let Some((parent, member)) = place.arguments.split_last()
                && let Some(Value::Object(members)) = legal.pointer_mut(parent.as_str())
            {
                members.insert(member.into_owned(), arguments);
            }
        }
        legal
    }

    /// Recognizes the provider from the shape of one entry of a list of tools.
    pub(super) fn of_entry(entry: &Value) -> Option<Self> {
        let has = |name: &str| entry.get(name).is_some_and(|value| !value.is_null());
        let is_named = has("name");
        let is_function = has("parameters") || entry["type"] == "function";
        let shapes = [
            (has("toolSpec"), Self::Bedrock),
            (has("functionDeclarations") || has("function_declarations"), Self::Gemini),
            (has("function"), Self::OpenAiChat),
            (is_named && has("inputSchema"), Self::Mcp),
            (is_named && has("input_schema"), Self::Anthropic),
            (is_named && is_function, Self::OpenAiResponses),
        ];
        shapes.into_iter().find(|(fits, _)| *fits).map(|(_, provider)| provider)
    }

    pub(super) fn wire(self) -> &'static dyn ProviderFormat {
        match self {
            Self::Mcp => &mcp::Mcp,
            Self::OpenAiChat => &openai_chat::OpenAiChat,
            Self::OpenAiResponses => &openai_responses::OpenAiResponses,
            Self::Anthropic => &anthropic::Anthropic,
            Self::Gemini => &gemini::Gemini,
            Self::Bedrock => &bedrock::Bedrock,
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|provider| provider.as_str() == word);
        found.ok_or_else(|| UnknownProvider(word.to_owned()))
    }
}
