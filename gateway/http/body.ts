import type { z } from 'zod';
import { limits } from '../../src/api/limits.ts';
import { invalidProblem, type Problem } from '../../src/api/problem.ts';
import { capabilitySchema, segmentsSchema } from '../../src/api/storage.ts';
import { readBy } from '../volumes/validate.ts';

/**
 * The length in characters of a body that is read in one step. Nearly all bodies are shorter, and even one full of
 * faults takes only a few milliseconds.
 */
export const shortBody = 1_024;

/**
 * Limits of a body: objects and lists in it, different sequences of keys, depth, entries of an object or a list, and
 * characters of a text as it is written. No schema needs as much. Beyond them, `JSON.parse` and the schemas could take
 * 200 ms; V8 makes a hidden class for each new sequence of keys that an object begins with.
 */
const maxContainers = 2 * limits.topologyTerms.max + 1_024;
const maxSequences = 2_048;
const maxDepth = 16;
const maxEntries = limits.topologyTerms.max;
const maxText = 32_768;

/** The number of characters that are checked in one step. */
const stepCharacters = 4_096;

/** Parts of a short body that have to be looked at: no other part of it can be beyond a limit that matters. */
const suspicious = /\\u|"__proto__"/;

/** Parses JSON. INVALID_ARGUMENT for anything else, and for a body beyond the limits. */
export function parseShort(text: string): unknown {
  if (text.length <= shortBody && !suspicious.test(text)) return parseJson(text);
  const parsing = parse(text);
  for (;;) {
    const step = parsing.next();
    if (step.done) return step.value;
  }
}

/** Reads a body by its schema. `JSON.parse` is one step; every other step takes at most a few milliseconds. */
export function* readLong(schema: z.ZodType, text: string): Generator<void, unknown> {
  const value = yield* parse(text);
  yield;
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

function* parse(text: string): Generator<void, unknown> {
  yield* requireSimple(text);
  return parseJson(text);
}

/** Checks the limits, and all texts. Text that is not JSON passes, unless a limit refuses it. */
function* requireSimple(text: string): Generator<void, void> {
  const count = createCount();
  let [last, pauseAt] = ['', stepCharacters];
  for (let at = 0; at < text.length; at++) {
    if (at >= pauseAt) {
      yield;
      pauseAt = at + stepCharacters;
    }
    const character = text.charCodeAt(at);
    if (character === 0x22) {
      const end = endOfText(text, at);
      last = readText(text.slice(at, end));
      at = end - 1;
    } else count(character, last);
  }
}

/** Makes the count of a body's parts. It gets each character outside of texts, and the text before it. */
function createCount(): (character: number, last: string) => void {
  /** The number of each sequence of keys, by the number of the sequence without its last key, and that key. */
  const sequences = new Map<string, number>();
  /** The open lists and objects, each with its commas and the sequence of its keys so far. */
  const open: { commas: number; sequence: number }[] = [];
  let containers = 0;

  function addKey(inside: { sequence: number }, key: string): void {
    const sequence = `${inside.sequence} ${key}`;
    inside.sequence = sequences.getOrInsert(sequence, sequences.size + 1);
    if (sequences.size > maxSequences) throw beyondProblem('different sequences of keys', maxSequences);
  }

  return (character, last) => {
    const inside = open.at(-1);
    switch (character) {
      case 0x3a: // :
        if (last === '__proto__') throw invalidProblem('body: the key "__proto__" is not allowed; remove it');
        if (inside) addKey(inside, last);
        break;
      case 0x2c: // ,
        if (inside && ++inside.commas === maxEntries)
          throw beyondProblem('entries in a list or an object', maxEntries);
        break;
      case 0x5b: // [
      case 0x7b: // {
        if (open.push({ commas: 0, sequence: 0 }) > maxDepth) throw beyondProblem('nested levels', maxDepth);
        if (++containers > maxContainers) throw beyondProblem('objects and lists', maxContainers);
        break;
      case 0x5d: // ]
      case 0x7d: // }
        open.pop();
    }
  };
}

/** The place after the closing quote, or the end. */
function endOfText(text: string, at: number): number {
  for (let quote = at; ;) {
    quote = text.indexOf('"', quote + 1);
    if (quote < 0) return text.length;
    if (quote - at > maxText) throw beyondProblem('characters in a text', maxText);
    let before = quote;
    while (text[before - 1] === '\\') before--;
    if ((quote - before) % 2 === 0) return quote + 1;
  }
}

/** Reads a text. INVALID_ARGUMENT for one that a store or a tool would cut or replace. */
function readText(written: string): string {
  // Only an escape can contain such characters.
  if (!written.includes('\\u')) return written.slice(1, -1);
  const text = String(parseJson(written));
  if (text.isWellFormed() && !text.includes('\0')) return text;
  throw invalidProblem('body: a text has a NUL or half of a surrogate pair; remove it');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidProblem('body: not JSON', error);
  }
}

function beyondProblem(things: string, max: number): Problem {
  return invalidProblem(`body: more than ${max} ${things}; send fewer`);
}
