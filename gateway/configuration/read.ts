import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Document, LineCounter, parseDocument } from 'yaml';
import type { Enrolment } from '../http/auth.ts';
import { callerName, type Caller } from '../tenancy/caller.ts';
import { describeIssues } from '../volumes/validate.ts';
import { createEnrolment, type Enrolled, keySetSchema } from './enrolment.ts';
import { type ConfigFile, configFileSchema } from './file.ts';
import { type Data, withoutFaults } from './mend.ts';
import { findPlugins, type Plugins } from './plugins.ts';

/**
 * What of the configuration file is in effect, as it is read and as it is written, by what its pools are opened, and who
 * may call by its key files.
 */
export type Configuration = {
  readonly file: ConfigFile;
  readonly data: Data;
  readonly plugins: Plugins;
  readonly enrolment: Enrolment;
};

/**
 * The configuration, as far as it can be had; every fault of the file together, each with its line and path; the faults of
 * key files, with the cluster whose tokens each costs; and the stamps of the files that were read.
 */
export type ConfigurationResult = {
  readonly configuration?: Configuration;
  readonly faults: readonly string[];
  readonly keyFaults: readonly KeyFault[];
  readonly files: ReadonlyMap<string, string>;
};

/** What is wrong with the keys of a cluster, or of the operators. */
export type KeyFault = { readonly cluster: string; readonly detail: string };

/** Reads the file and all that it names. A part of the file that is bad stays as it was in `last`. Never rejects. */
export async function readConfiguration(
  path: string,
  plugins: Plugins,
  last?: Configuration,
): Promise<ConfigurationResult> {
  const reading: Reading = { faults: [], keyFaults: [], files: new Map() };
  const read = (await readConfigFile(path, plugins, { ...reading, last })) ?? last;
  if (!read) return reading;
  const enrolled = await Promise.all(keyFilesOf(read.file, path).map(one => readKeys(one, reading)));
  const enrolment = await createEnrolment(
    enrolled,
    ({ caller }, detail) => reading.keyFaults.push({ cluster: callerName(caller), detail }),
    last?.enrolment,
  );
  return { ...reading, configuration: { ...read, enrolment } };
}

/** Differs for each state of a file. */
export async function stampOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  return found ? `${found.mtimeMs}:${found.ctimeMs}:${found.size}:${found.ino}` : 'none';
}

type Reading = {
  readonly faults: string[];
  readonly keyFaults: KeyFault[];
  readonly files: Map<string, string>;
};

async function readConfigFile(
  path: string,
  plugins: Plugins,
  { last, faults, files }: Reading & { readonly last: Configuration | undefined },
): Promise<Omit<Configuration, 'enrolment'> | undefined> {
  const { text, fault } = await readText(path, files);
  if (text === undefined) return void faults.push(fault);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number): string => `${path}:${lines.linePos(offset).line}`;
  const locate = (at: readonly PropertyKey[]): string => {
    const offset = offsetOf(document, at);
    return [offset === undefined ? path : lineAt(offset), at.map(String).join('.')]
      .filter(Boolean)
      .join(': ');
  };
  const malformed = [...document.errors, ...document.warnings];
  faults.push(...malformed.map(({ pos, message }) => `${lineAt(pos[0])}: ${message}`));
  if (malformed.length > 0) return undefined;
  try {
    const data = (document.toJS({ reviver: requireOwnKey }) ?? {}) as Data;
    const found = await findPlugins(last?.plugins ?? plugins, backendsOf(data, last?.data), dirname(path));
    const parse = (all: Data) =>
      configFileSchema(found, Object.keys(Object(all['pools']) as object)).safeParse(all);
    const parsed = parse(data);
    if (!parsed.success) faults.push(...describeIssues(parsed.error, locate));
    const read = parsed.success ? { file: parsed.data, data } : last && withoutFaults(parse, data, last.data);
    return read && { ...read, plugins: found.plugins };
  } catch (error) {
    return void faults.push(`${path}: ${(error as Error).message}`);
  }
}

/** The backends that pools name, whatever else is wrong with the files. */
function backendsOf(...files: readonly (Data | undefined)[]): readonly string[] {
  const pools = files.flatMap(file => Object.values(Object(file?.['pools']) as Data));
  return pools.map(pool => (Object(pool) as Data)['backend']).filter(name => typeof name === 'string');
}

/** A schema would drop such a key instead of reporting it. */
function requireOwnKey(key: unknown, value: unknown): unknown {
  if (key === '__proto__') throw new Error('"__proto__" is not known');
  return value;
}

/** Where the value at the path begins, or the nearest that is there around it. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number | undefined {
  const around = path.map((_, index) => document.getIn(path.slice(0, path.length - index), true));
  return (around.find(node => node !== undefined) as { readonly range?: readonly number[] } | undefined)
    ?.range?.[0];
}

type KeyFile = Omit<Enrolled, 'keys'> & { readonly path: string };

/** The files with the keys of callers. */
function keyFilesOf({ clusters, operators }: ConfigFile, config: string): readonly KeyFile[] {
  const files: KeyFile[] = [];
  const add = (caller: Caller, issuer: string, file: string | undefined): void => {
    if (file !== undefined) files.push({ caller, issuer, path: resolve(dirname(config), file) });
  };
  for (const [name, { keys, readers, issuer = name, ...rest }] of Object.entries(clusters)) {
    const cluster = { name, ...rest };
    add({ role: 'controller', cluster }, issuer, keys);
    add({ role: 'reader', cluster }, issuer, readers);
  }
  add({ role: 'operator' }, 'operators', operators?.keys);
  add({ role: 'reader' }, 'operators', operators?.readers);
  return files;
}

/** The keys of a caller: none of them when anything in the file is at fault. */
async function readKeys({ path, ...owner }: KeyFile, { keyFaults, files }: Reading): Promise<Enrolled> {
  const cluster = callerName(owner.caller);
  const { text, fault } = await readText(path, files);
  const refuse = (...details: readonly string[]): Enrolled => {
    keyFaults.push(...details.map(detail => ({ cluster, detail })));
    return { ...owner, keys: [] };
  };
  if (text === undefined) return refuse(fault);
  try {
    const parsed = keySetSchema.safeParse(JSON.parse(text));
    if (parsed.success) return { ...owner, keys: parsed.data.keys };
    return refuse(...describeIssues(parsed.error, at => [path, at.join('.')].filter(Boolean).join(': ')));
  } catch {
    return refuse(`${path}: is not JSON`);
  }
}

type Text = { readonly text: string | undefined; readonly fault: string };

async function readText(path: string, files: Map<string, string>): Promise<Text> {
  // Before it is read: a change while it is read shows later.
  files.set(path, await stampOf(path));
  try {
    return { text: await readFile(path, 'utf8'), fault: '' };
  } catch (error) {
    const fault = `${path}: cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`;
    return { text: undefined, fault };
  }
}
