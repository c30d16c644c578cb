use serde_json::Value;

use super::fields::ArgumentFields;
use super::name::{Name, SoughtName, without_namespace};
use super::{Offered, Score};
use crate::message::suggest::folded;

/// The parts of a call that are compared with tools: its name, its arguments, and the calls wrapped in them.
pub(super) struct Called<'c> {
    names: &'c [SoughtName<'c>],
    objects: Vec<ArgumentFields<'c>>,
    /// Texts that may be names of tools, without their namespaces.
    texts: Vec<Vec<char>>,
}

impl<'c> Called<'c> {
    /// Bounds for arguments that were written to be large.
    const DEEPEST: usize = 5;
    const MOST: usize = 64;

    pub(super) fn new(names: &'c [SoughtName<'c>], arguments: &'c Value) -> Self {
        let mut called = Self { names, objects: Vec::new(), texts: Vec::new() };
        called.collect(arguments, 0);
        called
    }

    fn collect(&mut self, value: &'c Value, depth: usize) {
        match value {
            Value::Object(members) if depth < Self::DEEPEST && self.objects.len() < Self::MOST => {
                self.objects.push(ArgumentFields::of(members));
                for member in members.values().take(Self::MOST) {
                    self.collect(member, depth + 1);
                }
            }
            Value::Array(items) if depth < Self::DEEPEST => {
                for item in items.iter().take(Self::MOST) {
                    self.collect(item, depth + 1);
                }
            }
            // Only below the first level: there a name is an argument, not a call within.
            Value::String(text)
                if depth > 1 && text.len() <= 256 && self.texts.len() < Self::MOST =>
            {
                self.texts.push(folded(without_namespace(text)).collect());
            }
            _ => {}
        }
    }

    /// Returns the similarity of a tool to the call.
    pub(super) fn score(&self, tool: &Offered) -> Score {
        let likeness = |sought: &SoughtName<'_>| {
            tool.names.iter().map(|name| sought.likeness(name)).fold(0.0, f64::max)
        };
        let bare = tool.names.last().map_or(&[][..], Name::letters);
        Score {
            name: self.names.iter().map(likeness).fold(0.0, f64::max),
            fit: self.objects.iter().map(|given| tool.fields.fit(given)).fold(0.0, f64::max),
            mentioned: self.texts.iter().any(|text| !text.is_empty() && text == bare),
        }
    }
}
