import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { LineCounter, parseDocument, type Document } from 'yaml';
import type { z } from 'zod';
import type { Enrolment } from '../http/auth.ts';
import { createEnrolment, keySetSchema, type Enrolled, type PublicKey } from './enrolment.ts';
import { configFileSchema, type ConfigFile, type Plugins, type PoolEntry } from './file.ts';

/** What the configuration file and the key files that it names say. */
export type Configuration = {
  readonly pools: ReadonlyMap<string, PoolEntry>;
  readonly enrolment: Enrolment;
};

/** The configuration, or every fault together, each with its place; and the files that were read. */
export type ConfigurationResult = {
  readonly configuration?: Configuration;
  readonly faults: readonly string[];
  readonly files: readonly string[];
};

/** Reads the file and all that it names. Never rejects. */
export async function readConfiguration(path: string, plugins: Plugins): Promise<ConfigurationResult> {
  const { file, faults = [], placeOf } = await readConfigFile(path, plugins);
  if (!file) return { faults, files: [path] };
  const sets = await Promise.all(callersOf(file, path).map(readKeys));
  const files = [path, ...sets.map(set => set.path)];
  const { enrolment, faults: unusable } = await createEnrolment(sets);
  const all = [
    ...sets.flatMap(set => set.faults),
    ...unusable.map(({ entry, detail }) => `${placeOf(entry)}: ${detail}`),
  ];
  if (all.length > 0) return { faults: all, files };
  return { configuration: { pools: new Map(Object.entries(file.pools)), enrolment }, faults: [], files };
}

type Path = readonly PropertyKey[];
type FileResult = {
  readonly file?: ConfigFile;
  readonly faults?: readonly string[];
  readonly placeOf: (path: Path) => string;
};

async function readConfigFile(path: string, plugins: Plugins): Promise<FileResult> {
  const lines = new LineCounter();
  const { text, fault } = await readText(path);
  if (text === undefined) return { faults: [fault], placeOf: () => path };
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number | undefined): string =>
    offset === undefined ? path : `${path}:${lines.linePos(offset).line}`;
  const placeOf = (at: Path): string =>
    [lineAt(offsetOf(document, at)), ...(at.length > 0 ? [at.map(String).join('.')] : [])].join(': ');
  const malformed = [...document.errors, ...document.warnings];
  if (malformed.length > 0)
    return { faults: malformed.map(({ pos, message }) => `${lineAt(pos[0])}: ${message}`), placeOf };
  let data: { readonly pools?: unknown } | null;
  try {
    data = document.toJS({ reviver: requireOwnKey }) as typeof data;
  } catch (error) {
    return { faults: [`${path}: ${(error as Error).message}`], placeOf };
  }
  const parsed = configFileSchema(plugins, Object.keys(Object(data?.pools) as object)).safeParse(data ?? {});
  if (!parsed.success) return { faults: describeIssues(parsed.error, placeOf), placeOf };
  return { file: parsed.data, placeOf };
}

/** A schema would drop such a key instead of reporting it. */
function requireOwnKey(key: unknown, value: unknown): unknown {
  if (key === '__proto__') throw new Error('"__proto__" is not known');
  return value;
}

/** Where the value at the path begins, or the nearest that is there around it. */
function offsetOf(document: Document, path: Path): number | undefined {
  for (let depth = path.length; depth > 0; depth--) {
    const node = document.getIn(path.slice(0, depth), true) as
      | { readonly range?: readonly number[] }
      | undefined;
    if (node?.range) return node.range[0];
  }
  return undefined;
}

type Caller = Omit<Enrolled, 'keys'> & { readonly path: string };

function callersOf({ clusters, operators }: ConfigFile, path: string): readonly Caller[] {
  const beside = (file: string): string => resolve(dirname(path), file);
  const callers = Object.entries(clusters).map(([name, { keys, issuer, acceptAnyNode, pools }]): Caller => ({
    caller: { name, acceptAnyNode, pools },
    issuer: issuer ?? name,
    entry: ['clusters', name],
    path: beside(keys),
  }));
  if (!operators) return callers;
  const { keys, issuer } = operators;
  return [...callers, { caller: 'operator', issuer, entry: ['operators'], path: beside(keys) }];
}

type KeyFile = Caller & { readonly keys: readonly PublicKey[]; readonly faults: readonly string[] };

async function readKeys(caller: Caller): Promise<KeyFile> {
  const { path } = caller;
  const { text, fault } = await readText(path);
  if (text === undefined) return { ...caller, keys: [], faults: [fault] };
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return { ...caller, keys: [], faults: [`${path}: is not JSON`] };
  }
  const parsed = keySetSchema.safeParse(data);
  if (parsed.success) return { ...caller, keys: parsed.data.keys, faults: [] };
  return { ...caller, keys: [], faults: describeIssues(parsed.error, at => [path, at.join('.')].join(': ')) };
}

async function readText(
  path: string,
): Promise<
  { readonly text: string; readonly fault?: never } | { readonly text?: never; readonly fault: string }
> {
  try {
    return { text: await readFile(path, 'utf8') };
  } catch (error) {
    return { fault: `${path}: cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})` };
  }
}

/** All that is wrong, each with its place. Values are not shown: some may be secret. */
function describeIssues(error: z.ZodError, placeOf: (path: Path) => string): readonly string[] {
  return error.issues.flatMap(issue => {
    if (issue.code === 'unrecognized_keys')
      return issue.keys.map(key => `${placeOf([...issue.path, key])}: is not known`);
    if (issue.code === 'invalid_key')
      return issue.issues.map(({ message }) => `${placeOf(issue.path)}: ${message}`);
    const [initial = '', ...rest] = issue.message.replace(/^Invalid input: /, '');
    return [`${placeOf(issue.path)}: ${initial.toLowerCase()}${rest.join('')}`];
  });
}
