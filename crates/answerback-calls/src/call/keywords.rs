//! Classifies the keywords of JSON Schema by the kind of their value.

/// The kind of value that a keyword has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Keyword {
    /// An annotation, which is not checked.
    Annotation,
    /// An identifier.
    Text,
    /// The name of a format, an encoding or a media type.
    TextCheck,
    Reference,
    Pattern,
    Type,
    Number,
    /// A number above zero.
    Factor,
    /// A whole number that is not negative.
    Count,
    Switch,
    /// A list of any values.
    Values,
    Anything,
    /// A list of names.
    Names,
    /// Lists of names, each under a name.
    NamesByName,
    Schema,
    /// A schema, or in older drafts a list of schemas.
    Items,
    Schemas,
    SchemasByName,
    SchemasByPattern,
    /// Schemas or lists of names, each under a name.
    Dependencies,
    /// Schemas that apply only where they are referred to.
    Definitions,
}

/// Returns the kind of value for a keyword, or `None` for an unknown name.
pub(super) fn of(name: &str) -> Option<Keyword> {
    Some(match name {
        "title" | "description" | "$comment" | "default" | "example" | "examples"
        | "deprecated" | "readOnly" | "writeOnly" => Keyword::Annotation,
        "$schema" | "$id" | "$anchor" | "$dynamicAnchor" => Keyword::Text,
        "$ref" | "$dynamicRef" | "$recursiveRef" => Keyword::Reference,
        "pattern" => Keyword::Pattern,
        "type" => Keyword::Type,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Keyword::Number,
        "multipleOf" => Keyword::Factor,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties"
        | "minContains" | "maxContains" => Keyword::Count,
        "uniqueItems" => Keyword::Switch,
        "enum" => Keyword::Values,
        "const" => Keyword::Anything,
        "required" => Keyword::Names,
        "dependentRequired" => Keyword::NamesByName,
        "additionalProperties"
        | "unevaluatedProperties"
        | "propertyNames"
        | "additionalItems"
        | "unevaluatedItems"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "contentSchema" => Keyword::Schema,
        "items" => Keyword::Items,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Keyword::Schemas,
        "properties" | "dependentSchemas" => Keyword::SchemasByName,
        "patternProperties" => Keyword::SchemasByPattern,
        "dependencies" => Keyword::Dependencies,
        "$defs" | "definitions" => Keyword::Definitions,
        "format" | "contentEncoding" | "contentMediaType" => Keyword::TextCheck,
        _ => return None,
    })
}
