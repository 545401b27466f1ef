import type { z } from 'zod';
import { limits } from '../../src/api/limits.ts';
import { invalidProblem, Problem } from '../../src/api/problem.ts';
import { capabilitySchema, segmentsSchema } from '../../src/api/storage.ts';
import { readBy } from '../volumes/validate.ts';

/**
 * The length in characters of a body that is parsed in one step. Nearly all bodies are shorter, and even one full of
 * faults takes only a few milliseconds.
 */
export const shortBody = 1_024;

/** Limits of a long body: entries of an object, characters of its keys, and depth. No schema needs as much. */
const maxKeys = 1_024;
const maxKeyCharacters = 8_192;
const maxDepth = 16;
/**
 * The maximum characters of a text or number in a long body, as it is written. Every schema allows fewer than 4,096,
 * even if each is escaped.
 */
const maxScalar = 32_768;
const word = new RegExp(`[\\w.+-]{0,${maxScalar + 1}}`, 'y');

/** Matches a text that may contain `__proto__` as a key, or invalid characters, escaped or not. */
const mayHide = /__proto__|\\u/;

/** The text at hand, the position in it, and the pieces that follow. */
type Source = { text: string; at: number; readonly rest: string[] };

/** Parses JSON. INVALID_ARGUMENT for anything else. */
export function parseShort(text: string): unknown {
  try {
    return JSON.parse(text, mayHide.test(text) ? requirePlain : undefined);
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw notJsonProblem(error);
  }
}

/** Reads a body, which may be in pieces, by its schema. Each step takes at most a few milliseconds. */
export function* readLong(schema: z.ZodType, pieces: readonly string[]): Generator<void, unknown> {
  const source: Source = { text: '', at: 0, rest: pieces.toReversed() };
  const value = yield* parseValue(source, 0);
  if (peek(source) !== '') throw notJsonProblem();
  const [terms, capabilities] = [termsOf(value), capabilitiesOf(value)];
  if (terms.length === 0 && !capabilities) return readBy(schema, value, 'body');
  const empty = Object.fromEntries(terms.map(([name]) => [name, []]));
  const short = {
    ...(value as object),
    ...(capabilities && { capabilities: capabilities.slice(0, 1) }),
    ...(terms.length > 0 && { topology: { ...topologyOf(value), ...empty } }),
  };
  const read = readBy(schema, short, 'body') as { capabilities?: readonly unknown[] };
  for (const [name, list] of terms)
    topologyOf(read)[name] = yield* readEach(segmentsSchema, list, `body.topology.${name}`);
  if (capabilities) read.capabilities = yield* readEach(capabilitySchema, capabilities, 'body.capabilities');
  return read;
}

function* readEach(
  schema: z.ZodType,
  list: readonly unknown[],
  root: string,
): Generator<void, readonly unknown[]> {
  const good: unknown[] = [];
  for (const entry of list) {
    yield;
    good.push(readBy(schema, entry, `${root}.${good.length}`));
  }
  return good;
}

/** The lists of topology terms in a body, which may be long. */
function termsOf(body: unknown): readonly (readonly [string, readonly unknown[]])[] {
  return Object.entries(topologyOf(body)).filter(isList);
}

function isList(entry: readonly [string, unknown]): entry is [string, readonly unknown[]] {
  return Array.isArray(entry[1]);
}

/**
 * The capabilities of a body, if they are to be read one by one because each may have many faults. A list of too many
 * is not: the schema rejects it quickly.
 */
function capabilitiesOf(body: unknown): readonly unknown[] | undefined {
  const { capabilities } = (body ?? {}) as { readonly capabilities?: unknown };
  const isRead =
    Array.isArray(capabilities) && capabilities.length > 1 && capabilities.length <= limits.capabilities.max;
  return isRead ? capabilities : undefined;
}

/** The topology of a body, read or not; it contains the lists that may be long. */
function topologyOf(body: unknown): Record<string, unknown> {
  const { topology } = (body ?? {}) as { readonly topology?: Record<string, unknown> };
  return topology ?? {};
}

function* parseValue(source: Source, depth: number): Generator<void, unknown> {
  yield;
  if (depth > maxDepth) throw invalidProblem(`body: nested more than ${maxDepth} levels deep`);
  const opening = peek(source);
  if (opening === '[') return yield* parseList(source, depth + 1);
  if (opening === '{') return yield* parseObject(source, depth + 1);
  return parseScalar(source);
}

function* parseList(source: Source, depth: number): Generator<void, readonly unknown[]> {
  const list: unknown[] = [];
  while (hasMore(source, list.length, ']')) {
    if (list.length === limits.topologyTerms.max)
      throw invalidProblem(`body: a list has more than ${limits.topologyTerms.max} entries`);
    list.push(requirePlain('', yield* parseValue(source, depth)));
  }
  return list;
}

function* parseObject(source: Source, depth: number): Generator<void, object> {
  const object: Record<string, unknown> = {};
  let characters = 0;
  for (let count = 0; hasMore(source, count, '}'); count++) {
    if (count === maxKeys) throw invalidProblem(`body: an object has more than ${maxKeys} entries`);
    const key = peek(source) === '"' ? String(parseScalar(source)) : undefined;
    if (key === undefined || peek(source) !== ':') throw notJsonProblem();
    source.at++;
    characters += key.length;
    if (characters > maxKeyCharacters)
      throw invalidProblem(`body: the keys of an object have more than ${maxKeyCharacters} characters`);
    object[key] = requirePlain(key, yield* parseValue(source, depth));
  }
  return object;
}

/** Moves to the next entry of a list or an object, or past its end. */
function hasMore(source: Source, count: number, end: ']' | '}'): boolean {
  if (count === 0) source.at++;
  const next = peek(source);
  if (next === end) source.at++;
  else if (count > 0) {
    if (next !== ',') throw notJsonProblem();
    source.at++;
  }
  return next !== end;
}

/** The next character that is not white space; empty at the end. */
function peek(source: Source): string {
  const space = /[ \t\n\r]*/y;
  for (;;) {
    space.lastIndex = source.at;
    space.test(source.text);
    source.at = space.lastIndex;
    // The text at hand can hold the longest text or number.
    if (source.rest.length === 0 || source.text.length - source.at > maxScalar)
      return source.text.charAt(source.at);
    source.text = source.text.slice(source.at) + source.rest.pop();
    source.at = 0;
  }
}

function parseScalar(source: Source): unknown {
  const { text, at } = source;
  const end = text[at] === '"' ? endOfString(text, at) : endOfWord(text, at);
  requireShort(end - at);
  source.at = end;
  try {
    return JSON.parse(text.slice(at, end));
  } catch (error) {
    throw notJsonProblem(error);
  }
}

function requireShort(characters: number): void {
  if (characters > maxScalar)
    throw invalidProblem(`body: a text or a number has more than ${maxScalar} characters`);
}

function endOfWord(text: string, at: number): number {
  word.lastIndex = at;
  word.test(text);
  return word.lastIndex;
}

function endOfString(text: string, at: number): number {
  for (let quote = at; ;) {
    quote = text.indexOf('"', quote + 1);
    if (quote < 0) throw notJsonProblem();
    requireShort(quote - at);
    let before = quote;
    while (text[before - 1] === '\\') before--;
    if ((quote - before) % 2 === 0) return quote + 1;
  }
}

/**
 * INVALID_ARGUMENT for a key `__proto__`, which a schema would drop, and for text that a store or a tool would cut or
 * replace.
 */
function requirePlain(key: string, value: unknown): unknown {
  if (key === '__proto__') throw invalidProblem('body: the key "__proto__" is not allowed; remove it');
  if (!isPlain(key) || (typeof value === 'string' && !isPlain(value)))
    throw invalidProblem('body: a text has a NUL or half of a surrogate pair; remove it');
  return value;
}

function isPlain(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function notJsonProblem(cause?: unknown): Problem {
  return invalidProblem('body: not JSON', cause);
}
