import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Document, LineCounter, parseDocument } from 'yaml';
import type { Enrolment } from '../http/auth.ts';
import { describeIssues } from '../volumes/validate.ts';
import { createEnrolment, type Enrolled, keySetSchema } from './enrolment.ts';
import { type ConfigFile, configFileSchema, type Plugins, type PoolEntry } from './file.ts';

/** What the configuration file and the key files that it names say. */
export type Configuration = {
  readonly pools: ReadonlyMap<string, PoolEntry>;
  readonly enrolment: Enrolment;
};

/** The configuration, or every fault together, each with its line and path; and the stamps of the files that were read. */
export type ConfigurationResult = {
  readonly configuration?: Configuration;
  readonly faults: readonly string[];
  readonly files: ReadonlyMap<string, string>;
};

/** Reads the file and all that it names. Never rejects. */
export async function readConfiguration(path: string, plugins: Plugins): Promise<ConfigurationResult> {
  const reading: Reading = { faults: [], files: new Map() };
  const { faults, files } = reading;
  const read = await readConfigFile(path, plugins, reading);
  if (!read) return { faults, files };
  const { file, locate } = read;
  const callers = callersOf(file, path);
  const enrolled = await Promise.all(callers.map(caller => readKeys(caller, reading)));
  const enrolment = await createEnrolment(enrolled, (entry, fault) =>
    faults.push(`${locate(entry)}: ${fault}`),
  );
  if (faults.length > 0) return { faults, files };
  return { configuration: { pools: new Map(Object.entries(file.pools)), enrolment }, faults, files };
}

/** Differs for each state of a file. */
export async function stampOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  return found ? `${found.mtimeMs}:${found.size}:${found.ino}` : 'none';
}

type Reading = { readonly faults: string[]; readonly files: Map<string, string> };
type Path = readonly PropertyKey[];
type Locate = (path: Path) => string;

async function readConfigFile(
  path: string,
  plugins: Plugins,
  reading: Reading,
): Promise<{ readonly file: ConfigFile; readonly locate: Locate } | undefined> {
  const { faults } = reading;
  const text = await readText(path, reading);
  if (text === undefined) return undefined;
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number): string => `${path}:${lines.linePos(offset).line}`;
  const locate: Locate = at => {
    const offset = offsetOf(document, at);
    return [offset === undefined ? path : lineAt(offset), at.map(String).join('.')]
      .filter(Boolean)
      .join(': ');
  };
  const malformed = [...document.errors, ...document.warnings];
  faults.push(...malformed.map(({ pos, message }) => `${lineAt(pos[0])}: ${message}`));
  if (malformed.length > 0) return undefined;
  try {
    const data = (document.toJS({ reviver: requireOwnKey }) ?? {}) as { readonly pools?: unknown };
    const poolNames = Object.keys(Object(data.pools) as object);
    const parsed = configFileSchema(plugins, poolNames).safeParse(data);
    if (parsed.success) return { file: parsed.data, locate };
    faults.push(...describeIssues(parsed.error, locate));
  } catch (error) {
    faults.push(`${path}: ${(error as Error).message}`);
  }
  return undefined;
}

/** A schema would drop such a key instead of reporting it. */
function requireOwnKey(key: unknown, value: unknown): unknown {
  if (key === '__proto__') throw new Error('"__proto__" is not known');
  return value;
}

/** Where the value at the path begins, or the nearest that is there around it. */
function offsetOf(document: Document, path: Path): number | undefined {
  const around = path.map((_, index) => document.getIn(path.slice(0, path.length - index), true));
  return (around.find(node => node !== undefined) as { readonly range?: readonly number[] } | undefined)
    ?.range?.[0];
}

type Caller = Omit<Enrolled, 'keys'> & { readonly path: string };

function callersOf({ clusters, operators }: ConfigFile, config: string): readonly Caller[] {
  const beside = (file: string): string => resolve(dirname(config), file);
  const callers = Object.entries(clusters).map(([name, { keys, issuer, acceptAnyNode, pools }]): Caller => ({
    caller: { name, acceptAnyNode, pools },
    issuer: issuer ?? name,
    entry: ['clusters', name],
    path: beside(keys),
  }));
  if (!operators) return callers;
  const path = beside(operators.keys);
  return [...callers, { caller: 'operator', issuer: 'operators', entry: ['operators'], path }];
}

async function readKeys({ path, ...caller }: Caller, reading: Reading): Promise<Enrolled> {
  const { faults } = reading;
  const text = await readText(path, reading);
  if (text === undefined) return { ...caller, keys: [] };
  try {
    const parsed = keySetSchema.safeParse(JSON.parse(text));
    if (parsed.success) return { ...caller, keys: parsed.data.keys };
    faults.push(...describeIssues(parsed.error, at => [path, at.join('.')].filter(Boolean).join(': ')));
  } catch {
    faults.push(`${path}: is not JSON`);
  }
  return { ...caller, keys: [] };
}

async function readText(path: string, { faults, files }: Reading): Promise<string | undefined> {
  try {
    // Before it is read: a change while it is read shows later.
    files.set(path, await stampOf(path));
    return await readFile(path, 'utf8');
  } catch (error) {
    faults.push(`${path}: cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`);
    return undefined;
  }
}
