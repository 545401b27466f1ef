import type { z } from 'zod';
import { invalidProblem, Problem } from '../../src/api/problem.ts';
import { capabilitySchema, maxTerms, segmentsSchema } from '../../src/api/storage.ts';
import { readBy } from '../volumes/validate.ts';

/** A text of so many characters is read at once; nearly all are shorter. Wrong from end to end, it is the work of a few milliseconds. */
export const shortBody = 1_024;

/** Most entries of one object, characters of their keys, and how deep values may lie in a long body: no schema has as many. */
const mostKeys = 1_024;
const mostKeyCharacters = 8_192;
const mostDepth = 16;
/** Most characters of one text or number in a long body, as it is written: no schema takes 4,096 of which each is escaped. */
const mostOfScalar = 32_768;
const word = new RegExp(`[\\w.+-]{0,${mostOfScalar + 1}}`, 'y');

/** What a text has in which a key may be the way to a prototype, escaped or not, or characters that are none. */
const mayHide = /__proto__|\\u/;

/** A text that is read from `at` on, and what follows it. */
type Source = { text: string; at: number; readonly rest: string[] };

/** What the text says as JSON, or INVALID_ARGUMENT. */
export function parseShort(text: string): unknown {
  try {
    return JSON.parse(text, mayHide.test(text) ? requirePlain : undefined);
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw notJsonProblem(error);
  }
}

/** Reads a body, which may be in pieces, by its schema, as steps of which each takes less than a few milliseconds. */
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

/** The lists of terms of a body, which may be long. */
function termsOf(body: unknown): readonly (readonly [string, readonly unknown[]])[] {
  return Object.entries(topologyOf(body)).filter(isList);
}

function isList(entry: readonly [string, unknown]): entry is [string, readonly unknown[]] {
  return Array.isArray(entry[1]);
}

/** The capabilities of a body, each of which may hold much that is wrong; a list of too many is quickly refused as it is. */
function capabilitiesOf(body: unknown): readonly unknown[] | undefined {
  const { capabilities } = (body ?? {}) as { readonly capabilities?: unknown };
  const isRead = Array.isArray(capabilities) && capabilities.length > 1 && capabilities.length <= 64;
  return isRead ? capabilities : undefined;
}

/** What has lists that may be long, in a body that is read or not. */
function topologyOf(body: unknown): Record<string, unknown> {
  const { topology } = (body ?? {}) as { readonly topology?: Record<string, unknown> };
  return topology ?? {};
}

function* parseValue(source: Source, depth: number): Generator<void, unknown> {
  yield;
  if (depth > mostDepth) throw invalidProblem('body: nested too deeply');
  const opening = peek(source);
  if (opening === '[') return yield* parseList(source, depth + 1);
  if (opening === '{') return yield* parseObject(source, depth + 1);
  return parseScalar(source);
}

function* parseList(source: Source, depth: number): Generator<void, readonly unknown[]> {
  const list: unknown[] = [];
  while (hasMore(source, list.length, ']')) {
    if (list.length === maxTerms) throw invalidProblem(`body: a list of more than ${maxTerms}`);
    list.push(requirePlain('', yield* parseValue(source, depth)));
  }
  return list;
}

function* parseObject(source: Source, depth: number): Generator<void, object> {
  const object: Record<string, unknown> = {};
  let characters = 0;
  for (let count = 0; hasMore(source, count, '}'); count++) {
    if (count === mostKeys) throw invalidProblem(`body: an object of more than ${mostKeys} entries`);
    const key = peek(source) === '"' ? String(parseScalar(source)) : undefined;
    if (key === undefined || peek(source) !== ':') throw notJsonProblem();
    source.at++;
    characters += key.length;
    if (characters > mostKeyCharacters)
      throw invalidProblem(`body: keys of more than ${mostKeyCharacters} characters in an object`);
    object[key] = requirePlain(key, yield* parseValue(source, depth));
  }
  return object;
}

/** Goes to the next entry of a list or an object, or past its end. */
function hasMore(source: Source, count: number, end: ']' | '}'): boolean {
  if (count === 0) source.at++;
  const found = peek(source);
  if (found === end) source.at++;
  else if (count > 0) {
    if (found !== ',') throw notJsonProblem();
    source.at++;
  }
  return found !== end;
}

/** The next character that is no white space; none at the end. */
function peek(source: Source): string {
  const space = /[ \t\n\r]*/y;
  for (;;) {
    space.lastIndex = source.at;
    space.test(source.text);
    source.at = space.lastIndex;
    // As much is there as one text or number may have.
    if (source.rest.length === 0 || source.text.length - source.at > mostOfScalar)
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
  if (characters > mostOfScalar)
    throw invalidProblem(`body: a text or a number of more than ${mostOfScalar} characters`);
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

/** A schema would drop such a key, wherever it is, and a store or a tool would cut or replace such text. */
function requirePlain(key: string, value: unknown): unknown {
  if (key === '__proto__') throw invalidProblem('body: "__proto__" is not known');
  if (!isPlain(key) || (typeof value === 'string' && !isPlain(value)))
    throw invalidProblem('body: has text with a NUL or half of a surrogate pair');
  return value;
}

function isPlain(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

function notJsonProblem(cause?: unknown): Problem {
  return invalidProblem('body: not JSON', cause);
}
