import { describe, expect, it } from 'vitest';
import { ExactNumber } from '../lib/json';
import { fieldsOf, readForm, textOf } from './fields';

const schema = {
  type: 'object',
  properties: {
    count: { type: 'integer', title: 'How many' },
    rate: { type: 'number' },
    site: { type: 'string' },
    isDry: { type: 'boolean' },
    level: { enum: ['low', 'high', 3] },
    note: { type: 'string' },
  },
  required: ['count', 'site'],
};

function roundTrip(original: Record<string, unknown>, edits: Record<string, string> = {}) {
  const fields = fieldsOf(schema, original);
  if (fields === null) throw new Error('not flat');
  const texts = Object.fromEntries(fields.map((field) => [field.name, textOf(field, original)]));
  return readForm(fields, { ...texts, ...edits });
}

describe('a form', () => {
  const original = { count: 50, rate: 0.5, site: '', isDry: false, level: 3 };

  it('gives back what it was made of, types and all', () => {
    expect(roundTrip(original)).toEqual({ value: original, faults: {} });
  });

  it('keeps types when values are edited', () => {
    const { value } = roundTrip(original, { count: '7', isDry: 'true', level: '0', note: 'x' });
    expect(value).toEqual({ count: 7, rate: 0.5, site: '', isDry: true, level: 'low', note: 'x' });
  });

  it('keeps digits that a number cannot hold', () => {
    const exact = new ExactNumber('12345678901234567890');
    expect(roundTrip({ ...original, count: exact }).value.count).toEqual(exact);
  });

  it('leaves out what is optional and empty', () => {
    expect(roundTrip(original, { rate: '' }).value).not.toHaveProperty('rate');
  });

  it.each([
    ['count', ''],
    ['count', '1.5'],
    ['rate', 'many'],
    ['rate', '0x10'],
  ])('finds fault with %s = %j', (name, text) => {
    expect(Object.keys(roundTrip(original, { [name]: text }).faults)).toEqual([name]);
  });
});

describe('fieldsOf', () => {
  it('takes the types of the values where there is no schema', () => {
    expect(fieldsOf(undefined, { a: 1, b: 'x', c: true })?.map((field) => field.kind)).toEqual(['number', 'text', 'boolean']);
  });

  it.each([
    ['nested arguments', undefined, { a: { b: 1 } }],
    ['null', undefined, { a: null }],
    ['no object', undefined, [1]],
    ['several types', { properties: { a: { type: ['string', 'null'] } } }, {}],
    ['a value of another type', { properties: { a: { type: 'integer' } } }, { a: 'many' }],
    ['a value outside the choices', { properties: { a: { enum: ['x'] } } }, { a: 'y' }],
  ])('leaves %s to JSON text', (_, given, original) => {
    expect(fieldsOf(given, original)).toBeNull();
  });
});
