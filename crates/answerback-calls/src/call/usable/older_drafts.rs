//! Rewrites the spellings of older drafts of JSON Schema.

use serde_json::{Map, Value};

use super::Salvage;

impl Salvage<'_> {
    /// Rewrites the spellings of older drafts that no other draft permits. Returns true if the schema marks itself as
    /// required, as draft 3 does.
    pub(super) fn older_spellings(
        &mut self,
        schema: &mut Map<String, Value>,
        place: &str,
        is_property: bool,
    ) -> bool {
        let mut calls_itself_required = false;
        if let Some(Value::Bool(required)) = schema.get("required") {
            let required = *required;
            schema.remove("required");
            let what = match (required, is_property) {
                (true, true) => {
                    "is true, as draft 3 writes it: the field is read as required; list its name in `required` of the object"
                }
                (true, false) => "is true, which means nothing here, so it is not checked",
                (false, _) => "is false, as draft 3 writes it: the field is read as optional",
            };
            self.report(place, "required", what);
            calls_itself_required = required && is_property;
        }
        for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")]
        {
            if self.tests.is_draft4 {
                if schema.get(exclusive).is_some_and(Value::is_number)
                    && !schema.contains_key(bound)
                {
                    let what =
                        "is a number, which draft 4 does not know: read as it is since draft 6";
                    self.report(place, exclusive, what);
                    if let Some(number) = schema.insert(exclusive.to_owned(), Value::Bool(true)) {
                        schema.insert(bound.to_owned(), number);
                    }
                }
                continue;
            }
            let Some(Value::Bool(is_exclusive)) = schema.get(exclusive) else { continue };
            let is_exclusive = *is_exclusive;
            schema.remove(exclusive);
            if is_exclusive && schema.get(bound).is_some_and(Value::is_number) {
                if let Some(number) = schema.remove(bound) {
                    schema.insert(exclusive.to_owned(), number);
                }
                let what =
                    "is true, as draft 4 writes it: the bound beside it is read as exclusive";
                self.report(place, exclusive, what);
            } else if is_exclusive {
                let what = "is true, as draft 4 writes it, and has no bound beside it, so it is not checked";
                self.report(place, exclusive, what);
            } else {
                let what =
                    "is false, as draft 4 writes it: the bound beside it is read as inclusive";
                self.report(place, exclusive, what);
            }
        }
        if !self.tests.has_item_lists
            && schema.get("items").is_some_and(Value::is_array)
            && !schema.contains_key("prefixItems")
            && let Some(list) = schema.remove("items")
        {
            let what = "is a list, as drafts before 2020-12 write it: read as `prefixItems`";
            self.report(place, "items", what);
            schema.insert("prefixItems".to_owned(), list);
            if let Some(rest) = schema.remove("additionalItems") {
                schema.insert("items".to_owned(), rest);
            }
        }
        if schema.get("type").is_some_and(|name| name == "any") {
            schema.remove("type");
            let what = "is \"any\", as draft 3 writes it: read as every type";
            self.report(place, "type", what);
        }
        calls_itself_required
    }
}
