/** A form for arguments, with one native control per member. Values keep their JSON type. */

import { asObject, isObject, type JsonObject } from '../envelope/types';
import { ExactNumber, isInexact, setMember } from '../lib/json';

export type FieldKind = 'text' | 'integer' | 'number' | 'boolean' | 'choice';

export interface Field {
  name: string;
  title: string;
  description: string;
  kind: FieldKind;
  /** The options of a select, in the schema's order. */
  choices: unknown[];
  isRequired: boolean;
  /** True if the original has this member. An optional member that is absent and left empty stays absent. */
  isPresent: boolean;
}

function kindOfValue(value: unknown): FieldKind | null {
  if (typeof value === 'string') return 'text';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return 'number';
  return value instanceof ExactNumber ? 'number' : null;
}

function kindOfSchema(schema: JsonObject): FieldKind | null {
  if (Array.isArray(schema.enum)) return schema.enum.length > 0 && schema.enum.every((one) => kindOfValue(one) !== null) ? 'choice' : null;
  switch (schema.type) {
    case 'string':
      return 'text';
    case 'integer':
    case 'number':
    case 'boolean':
      return schema.type;
    default:
      return null;
  }
}

/** True if a control of this kind can represent the value. */
function fits(kind: FieldKind, value: unknown, choices: unknown[]): boolean {
  if (kind === 'choice') return choices.includes(value);
  const own = kindOfValue(value);
  return own === kind || (kind === 'integer' && own === 'number');
}

/** Lists the fields for arguments, or returns null if a flat form cannot represent them. */
export function fieldsOf(schema: unknown, original: unknown): Field[] | null {
  if (!isObject(original)) return null;
  const properties = asObject(asObject(schema).properties);
  const required = Array.isArray(asObject(schema).required) ? (asObject(schema).required as unknown[]) : [];
  const names = [...new Set([...Object.keys(properties), ...Object.keys(original)])];
  const fields: Field[] = [];
  for (const name of names) {
    const property = Object.hasOwn(properties, name) ? asObject(properties[name]) : null;
    const isPresent = Object.hasOwn(original, name);
    const kind = property === null ? kindOfValue(original[name]) : kindOfSchema(property);
    const choices = property !== null && Array.isArray(property.enum) ? property.enum : [];
    if (kind === null || (isPresent && !fits(kind, original[name], choices))) return null;
    fields.push({
      name,
      title: typeof property?.title === 'string' ? property.title : name,
      description: typeof property?.description === 'string' ? property.description : '',
      kind,
      choices,
      isRequired: required.includes(name),
      isPresent,
    });
  }
  return fields.length > 0 ? fields : null;
}

/** Formats the initial text of a control. */
export function textOf(field: Field, original: JsonObject): string {
  if (!field.isPresent) return '';
  const value = original[field.name];
  if (field.kind === 'choice') return String(field.choices.indexOf(value));
  return value instanceof ExactNumber ? value.source : String(value);
}

export type Read = { value: unknown } | { isAbsent: true } | { fault: string };

const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Parses a control's text. */
export function readField(field: Field, text: string): Read {
  if (text === '' && !(field.kind === 'text' && (field.isPresent || field.isRequired))) {
    return field.isRequired ? { fault: 'A value is needed here.' } : { isAbsent: true };
  }
  switch (field.kind) {
    case 'text':
      return { value: text };
    case 'boolean':
      return { value: text === 'true' };
    case 'choice':
      return { value: field.choices[Number(text)] };
    default: {
      const digits = text.trim();
      if (!NUMBER.test(digits)) return { fault: 'This is not a number. Write it as 12, -0.5 or 1e6.' };
      const value = isInexact(digits) ? new ExactNumber(digits) : Number(digits);
      if (field.kind === 'integer' && typeof value === 'number' && !Number.isInteger(value)) return { fault: 'A whole number is needed here.' };
      return { value };
    }
  }
}

/** Parses all controls to the arguments, or to the errors by field. */
export function readForm(fields: Field[], texts: Record<string, string>): { value: JsonObject; faults: Record<string, string> } {
  const value: JsonObject = {};
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const read = readField(field, texts[field.name] ?? '');
    if ('value' in read) setMember(value, field.name, read.value);
    else if ('fault' in read) faults[field.name] = read.fault;
  }
  return { value, faults };
}
