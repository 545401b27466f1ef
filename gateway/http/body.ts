import type { z } from 'zod';
import { limits } from '../../src/api/limits.ts';
import { invalidProblem } from '../../src/api/problem.ts';
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

/**
 * Matches a text, with the colon that makes it a key, or a character that opens, divides or closes a list or an object.
 * It takes time in proportion to the body, because it also matches a text without an end.
 */
const part = /"[^"\\]*(?:\\.[^"\\]*)*(?:"\s*:?|\\?$)|[[\]{},]/gs;
/** The number of parts that are checked in one step. */
const stepParts = 512;

/** Parts of a short body that have to be looked at: no other part of it can be beyond a limit that matters. */
const suspicious = /\\u|"__proto__"/;

/** Lists that take long to read by their schemas, with the schema of an entry. */
const longLists: readonly {
  readonly path: readonly string[];
  readonly entry: z.ZodType;
  readonly max: number;
}[] = [
  { path: ['capabilities'], entry: capabilitySchema, max: limits.capabilities.max },
  { path: ['topology', 'requisite'], entry: segmentsSchema, max: maxEntries },
  { path: ['topology', 'preferred'], entry: segmentsSchema, max: maxEntries },
];

/** Parses JSON. INVALID_ARGUMENT for anything else, and for a body beyond the limits. */
export function parseShort(text: string): unknown {
  if (text.length <= shortBody && !suspicious.test(text)) return parseJson(text);
  const parsing = parse(text);
  for (;;) {
    const step = parsing.next();
    if (step.done) return step.value;
  }
}

/**
 * Reads a body by its schema. `JSON.parse` is one step, and so is each further entry of a long list; every other step
 * takes at most a few milliseconds.
 */
export function* readLong(schema: z.ZodType, text: string): Generator<void, unknown> {
  const body = yield* parse(text);
  yield;
  // The schema rejects a list of too many entries quickly.
  const rests = longLists.flatMap(({ path, entry, max }) => {
    const list = path.reduce<unknown>(memberOf, body);
    return Array.isArray(list) && list.length <= max ? [{ path, entry, rest: list.splice(1) }] : [];
  });
  const read = readBy(schema, body, 'body');
  for (const { path, entry, rest } of rests) {
    const list = path.reduce<unknown>(memberOf, read) as unknown[];
    for (const one of rest) {
      yield;
      list.push(readBy(entry, one, `body.${path.join('.')}.${list.length}`));
    }
  }
  return read;
}

function memberOf(value: unknown, name: string): unknown {
  return (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
}

function* parse(text: string): Generator<void, unknown> {
  yield* requireSimple(text);
  return parseJson(text);
}

/** The keys that followed a sequence of keys in an object, each with the keys that followed it. */
interface NextKeys extends Map<string, NextKeys> {}

/** Checks the limits, and all texts. Text that is not JSON passes, unless a limit refuses it. */
function* requireSimple(text: string): Generator<void, void> {
  const parts = new RegExp(part);
  const starts: NextKeys = new Map();
  /** The open lists and objects, each with its commas and the keys that followed its keys so far. */
  const open: { commas: number; next: NextKeys }[] = [];
  let [containers, sequences] = [0, 0];
  for (let count = 1; ; count++) {
    const found = parts.exec(text)?.[0];
    if (found === undefined) return;
    if (count % stepParts === 0) yield;
    const inside = open.at(-1);
    if (found === '[' || found === '{') {
      requireAtMost(maxDepth, open.push({ commas: 0, next: starts }), 'nested levels');
      requireAtMost(maxContainers, ++containers, 'objects and lists');
    } else if (found === ']' || found === '}') open.pop();
    else if (found === ',') {
      if (inside) requireAtMost(maxEntries, ++inside.commas + 1, 'entries in a list or an object');
    } else {
      requireAtMost(maxText, found.length, 'characters in a text');
      const name = found.includes('\\u') ? readEscaped(found) : found;
      if (!found.endsWith(':') || !inside) continue;
      if (name.startsWith('"__proto__"'))
        throw invalidProblem('body: the key "__proto__" is not allowed; remove it');
      inside.next = inside.next.getOrInsertComputed(name, () => {
        requireAtMost(maxSequences, ++sequences, 'different sequences of keys');
        return new Map();
      });
    }
  }
}

function requireAtMost(max: number, count: number, things: string): void {
  if (count > max) throw invalidProblem(`body: more than ${max} ${things}; send fewer`);
}

/** Returns a text without its escapes. INVALID_ARGUMENT for one that a store or a tool would cut or replace. */
function readEscaped(written: string): string {
  const text = String(parseJson(written.slice(0, written.lastIndexOf('"') + 1)));
  if (text.isWellFormed() && !text.includes('\0')) return `"${text}"`;
  throw invalidProblem('body: a text has a NUL or half of a surrogate pair; remove it');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw invalidProblem('body: not JSON', error);
  }
}
