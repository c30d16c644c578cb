"""JSON Schemas of tools as pydantic models, for the peers that know nothing else.

It takes the keywords that the calls use and refuses every other one: a keyword left out unseen would make a peer look
faster than it is.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

ANNOTATIONS = {"description", "title", "default", "examples", "optional"}
BOUNDS = {
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
    "minimum": "ge",
    "maximum": "le",
    "pattern": "pattern",
}
SCALARS = {"string": str, "integer": int, "number": float, "boolean": bool}


def model(name: str, schema: dict, *, strict: bool) -> type[BaseModel]:
    """The model of an object schema. `strict` takes "5" for no number, as JSON Schema does."""
    _refuse_unknown(schema, {"type", "properties", "required", "additionalProperties"})
    required = schema.get("required", ())
    # A schema may require what it says nothing else about.
    properties = dict.fromkeys(required, {}) | schema.get("properties", {})
    fields = {
        field: (_type(f"{name}_{field}", inner, strict=strict), ... if field in required else None)
        for field, inner in properties.items()
    }
    extra = "forbid" if schema.get("additionalProperties") is False else "allow"
    return create_model(name, __config__=ConfigDict(extra=extra, strict=strict), **fields)


def _type(name: str, schema: dict, *, strict: bool) -> Any:
    _refuse_unknown(schema, {"type", "enum", "items", "properties", "required", "additionalProperties", *BOUNDS})
    bounds = {BOUNDS[keyword]: value for keyword, value in schema.items() if keyword in BOUNDS}
    kind = schema.get("type")
    if "enum" in schema:
        inner = Literal[tuple(schema["enum"])]
    elif kind == "array":
        inner = list[_type(f"{name}_item", schema["items"], strict=strict) if "items" in schema else Any]
    elif kind == "object" and ("properties" in schema or "required" in schema):
        inner = model(name, schema, strict=strict)
    elif kind == "object":
        inner = dict[str, Any]
    else:
        inner = SCALARS[kind] if kind else Any
    return Annotated[inner, Field(**bounds)] if bounds else inner


def _refuse_unknown(schema: dict, known: set[str]) -> None:
    unknown = schema.keys() - known - ANNOTATIONS
    if unknown:
        raise ValueError(f"no pydantic model for the keywords {sorted(unknown)}")
