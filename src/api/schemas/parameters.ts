import { sameJson } from '../../lib/json.ts';
import { toPrintable } from '../http/printable.ts';

/** Maximum size of a schema of parameters, in bytes of JSON. */
export const maxSchemaBytes = 65_536;

/** Maximum faults that are reported for one call's parameters: an answer has no space for more. */
export const maxFaults = 100;

/** A fault of one parameter, or of all parameters if the path is empty. */
type ParameterFault = { readonly path: readonly string[]; readonly message: string };

/** A parsed schema of parameters. No pattern or code of it is ever run. */
export type ParameterSchema = {
  /** The supported keywords, as a JSON Schema. */
  readonly document: Readonly<Record<string, unknown>>;
  /** The unsupported keywords, such as `pattern`; the author of the schema has to check these. */
  readonly ignored: readonly string[];
  /** Lists at most `maxFaults` faults, in a time that depends on the parameters and not on the schema. */
  findFaults(parameters: Readonly<Record<string, unknown>>): readonly ParameterFault[];
};

type Json = Readonly<Record<string, unknown>>;
type Check = (text: unknown) => string | undefined;
type PropertySchema = { readonly document: Json | boolean; readonly checks: readonly Check[] };

/** The types of JSON Schema; a parameter is always a string. */
const types = new Set(['string', 'object', 'number', 'integer', 'boolean', 'array', 'null']);
const names = (words: string): ReadonlySet<string> => new Set(words.split(/\s+/));
/** Keywords that have no effect on strings, or none that is checked. */
const silent = names(
  `$schema $id id $comment examples deprecated readOnly writeOnly format contentEncoding contentMediaType
   minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minItems maxItems uniqueItems items`,
);

/**
 * Parses a JSON Schema of parameters, which are strings by name. Supports `type`, `enum`, `const`, `minLength` and `maxLength`
 * of a parameter, and `properties`, `required`, `additionalProperties`, `minProperties` and `maxProperties` of all. Throws for
 * an invalid schema.
 */
export function readParameterSchema(schema: unknown): ParameterSchema {
  const { length } = JSON.stringify(schema) ?? '';
  if (length > maxSchemaBytes)
    throw new Error(`it has ${length} bytes, more than the ${maxSchemaBytes} that a schema may have`);
  const ignored = new Set<string>();
  const whole = requireObject(schema, 'the schema');
  const own = readKeywords(whole, { known: keywordsOf(whole), ignored });
  readType(own['type'], 'object');
  const properties = new Map(
    Object.entries(requireObject(own['properties'] ?? {}, 'properties')).map(([name, property]) => [
      name,
      readProperty(property, ignored),
    ]),
  );
  const others = readProperty(own['additionalProperties'] ?? true, ignored);
  const required = new Set(readTexts(own['required'] ?? [], 'required'));
  const [min, max] = [readCount(own, 'minProperties', 0), readCount(own, 'maxProperties', Infinity)];
  return {
    document: {
      ...shown(own),
      ...('properties' in own && {
        properties: Object.fromEntries([...properties].map(([name, { document }]) => [name, document])),
      }),
      ...('additionalProperties' in own && { additionalProperties: others.document }),
    },
    ignored: [...ignored].sort(),
    findFaults: parameters => [...findFaults(parameters).take(maxFaults)],
  };

  function* findFaults(parameters: Json): Generator<ParameterFault, void> {
    const given = Object.entries(parameters);
    if (given.length < min) yield { path: [], message: `has less than ${min} parameters` };
    if (given.length > max) yield { path: [], message: `has more than ${max} parameters` };
    for (const name of required)
      if (!Object.hasOwn(parameters, name)) yield { path: [name], message: 'is missing' };
    for (const [name, text] of given)
      for (const check of (properties.get(name) ?? others).checks) {
        const message = check(text);
        if (message !== undefined) yield { path: [name], message };
      }
  }
}

const textKeywords = ['type', 'enum', 'const', 'minLength', 'maxLength', 'default', 'title', 'description'];
const objectKeywords = ['properties', 'required', 'additionalProperties', 'minProperties', 'maxProperties'];

/**
 * Lists the supported keywords of the whole schema. With `patternProperties`, `additionalProperties` depends on patterns, which
 * are never run, so it is not supported and all names are allowed.
 */
function keywordsOf(schema: Json): readonly string[] {
  const all = [...textKeywords, ...objectKeywords];
  return 'patternProperties' in schema ? all.filter(key => key !== 'additionalProperties') : all;
}

/** Parses the schema of one parameter; true allows any string and false none. */
function readProperty(schema: unknown, ignored: Set<string>): PropertySchema {
  if (schema === true) return { document: true, checks: [] };
  if (schema === false) return { document: false, checks: [() => 'is not known'] };
  const own = readKeywords(requireObject(schema, 'a property'), { known: textKeywords, ignored });
  const { type, enum: choices, const: only } = own;
  const [min, max] = [readCount(own, 'minLength', 0), readCount(own, 'maxLength', Infinity)];
  const isText = readType(type, 'string');
  const words = choices === undefined ? undefined : new Set(requireList(choices, 'enum'));
  // Made once, since a schema may have thousands of choices and a call thousands of parameters.
  const choicesText = toPrintable([...(words ?? [])].map(toText).join(', '), 256);
  const onlyText = toPrintable(JSON.stringify(only) ?? '', 256);
  const checks: Check[] = [
    ...(isText ? [] : [() => 'cannot be text']),
    text => (words && !words.has(text) ? `is not one of ${choicesText}` : undefined),
    text => ('const' in own && text !== only ? `is not ${onlyText}` : undefined),
    text => (lengthOf(text) < min ? `is shorter than ${min} characters` : undefined),
    text => (lengthOf(text) > max ? `is longer than ${max} characters` : undefined),
  ];
  return { document: shown(own), checks };
}

/** Returns the supported keywords of a schema; adds other keywords to `ignored` unless they have no effect. */
function readKeywords(
  schema: Json,
  { known, ignored }: { readonly known: readonly string[]; readonly ignored: Set<string> },
): Json {
  const own = Object.entries(schema).filter(([key]) => known.includes(key));
  for (const key of Object.keys(schema))
    if (!known.includes(key) && !isSilent(key, schema[key])) ignored.add(toPrintable(key, 64));
  return Object.fromEntries(own);
}

/** True for a keyword without effect, such as `propertyNames` with the type `string`: names are always strings. */
function isSilent(key: string, value: unknown): boolean {
  return silent.has(key) || (key === 'propertyNames' && sameJson(value, { type: 'string' }));
}

/** Returns the keywords to pass on; texts for people are made printable. */
function shown(own: Json): Json {
  const entries = Object.entries(own).map(([key, value]) => {
    const isProse = key === 'title' || key === 'description';
    return [key, isProse ? toPrintable(String(value)) : value];
  });
  return Object.fromEntries(entries);
}

/** True if the type is absent or includes the wanted one. */
function readType(type: unknown, wanted: string): boolean {
  if (type === undefined) return true;
  const all = typeof type === 'string' ? [type] : readTexts(type, 'type');
  const unknown = all.find(one => !types.has(one));
  if (unknown !== undefined) throw new Error(`"${toPrintable(unknown, 64)}" is no type`);
  if (wanted === 'object' && !all.includes(wanted)) throw new Error('its type must be "object"');
  return all.includes(wanted);
}

function readCount(own: Json, key: string, fallback: number): number {
  const value = own[key] ?? fallback;
  if (value === Infinity || (Number.isSafeInteger(value) && Number(value) >= 0)) return Number(value);
  throw new Error(`"${key}" is no count`);
}

function readTexts(value: unknown, what: string): readonly string[] {
  const list = requireList(value, what);
  if (list.every(one => typeof one === 'string')) return list;
  throw new Error(`"${what}" has something else than text`);
}

function requireList(value: unknown, what: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error(`"${what}" is no list`);
}

function requireObject(value: unknown, what: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw new Error(`${what} is no object`);
}

/** Formats a choice for messages: a string unchanged, any other value as JSON. */
function toText(choice: unknown): string {
  return typeof choice === 'string' ? choice : JSON.stringify(choice);
}

/** Counts characters as JSON Schema does. */
function lengthOf(text: unknown): number {
  return typeof text === 'string' ? Array.from(text).length : 0;
}
