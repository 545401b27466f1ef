import { reasonOf } from '../../src/lib/words/failures.ts';
import { describeYamlError } from '../../src/lib/words/yaml.ts';
import { readFile, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Document, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import type { Enrolment, KeyOwner } from '../callers/authenticate.ts';
import { callerName } from '../callers/caller.ts';
import { describeIssues } from '../../src/api/schemas/issues.ts';
import { callersOf, type IssuerKeysFile, type OwnKeysFile } from './callers.ts';
import { createEnrolment, type OwnKeys } from '../callers/enrolment.ts';
import { commonPoolSchema, type ConfigFile, configFileSchema, discovered } from './file.ts';
import { issuerKeySetSchema, keySetSchema } from '../callers/keys.ts';
import { type FaultlessParts, findFaultless } from './faultless.ts';
import { membersAt } from './members.ts';
import { type Data, writtenPoolsOf, withoutFaults } from './mend.ts';
import { findPlugins, type FoundPlugins, pluginOf, type Plugins } from '../pools/plugins.ts';
import { createTrust, type Trust } from '../callers/trust.ts';

/**
 * The configuration in effect: the file as parsed and as written, the plug-ins of its pools, and the keys of
 * callers.
 */
export type Configuration = {
  readonly file: ConfigFile;
  readonly data: Data;
  readonly plugins: Plugins;
  readonly enrolment: Enrolment & OwnKeys;
  readonly trust: Trust;
};

/**
 * The configuration in effect; the parts that a check can look at if the file has faults and no former configuration;
 * every fault of the file, with line and path; the faults of key files, with the cluster whose tokens they affect; and the
 * stamps of the files.
 */
export type ConfigurationResult = {
  readonly configuration?: Configuration;
  readonly faultless?: FaultlessParts & Pick<Configuration, 'data' | 'plugins'>;
  readonly faults: readonly string[];
  readonly keyFaults: readonly KeyFault[];
  readonly files: ReadonlyMap<string, string>;
};

export type KeyFault = { readonly cluster: string; readonly detail: string };

/** Leaves out the faults of retired clusters, whose keys no longer matter. */
export function keyFaultsInService(
  faults: readonly KeyFault[],
  retired: Pick<ReadonlySet<string>, 'has'> | undefined,
): readonly KeyFault[] {
  return faults.filter(({ cluster }) => !retired?.has(cluster));
}

type ReadOptions = {
  /** The previous configuration; a faulty part of the file stays as it was there. */
  readonly last?: Configuration | undefined;
  /** The directory where the lookup of packages starts; default: the directory of the file. */
  readonly packagesFrom?: string;
};

/** Reads the file and all files that it names. Never rejects. */
export async function readConfiguration(
  path: string,
  plugins: Plugins,
  { last, packagesFrom = dirname(path) }: ReadOptions = {},
): Promise<ConfigurationResult> {
  const reading: ReadState = { faults: [], keyFaults: [], files: new Map() };
  const found = await readConfigFile(path, plugins, { ...reading, last, packagesFrom });
  const { read = last, faultless } = found ?? {};
  const file = (read ?? faultless)?.file;
  if (!file) return reading;
  const callers = await readCallers(file, { ...reading, path, last });
  if (read) return { ...reading, configuration: { ...read, ...callers } };
  return { ...reading, ...(faultless && { faultless }) };
}

/** Returns a text that differs for each state of a file. */
export async function stampOf(path: string): Promise<string> {
  const found = await stat(path).catch(() => undefined);
  return found ? `${found.mtimeMs}:${found.ctimeMs}:${found.size}:${found.ino}` : 'none';
}

/** The file as it takes effect, or else its faultless parts. */
type FoundFile = {
  readonly read?: Omit<Configuration, 'enrolment' | 'trust'>;
  readonly faultless?: NonNullable<ConfigurationResult['faultless']>;
};

type ReadState = {
  readonly faults: string[];
  readonly keyFaults: KeyFault[];
  readonly files: Map<string, string>;
};

async function readConfigFile(
  path: string,
  plugins: Plugins,
  {
    last,
    packagesFrom,
    faults,
    files,
  }: ReadState & Pick<ReadOptions, 'last'> & { readonly packagesFrom: string },
): Promise<FoundFile | undefined> {
  const { text, fault } = await readText(path, files);
  if (text === undefined) return void faults.push(fault);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, schema: 'core' });
  const lineAt = (offset: number): string => `${path}:${lines.linePos(offset).line}`;
  const locate = (at: readonly PropertyKey[]): string => {
    const offset = offsetOf(document, at);
    return [offset === undefined ? path : lineAt(offset), at.map(String).join('.')]
      .filter(Boolean)
      .join(': ');
  };
  const malformed = [...document.errors, ...document.warnings];
  // One slip often breaks several rules on a line.
  const byLine = Map.groupBy(malformed, ({ pos }) => lines.linePos(pos[0]).line);
  faults.push(...byLine.values().map(([first = {}]) => `${path}${describeYamlError(first)}`));
  if (malformed.length > 0) return undefined;
  try {
    const data = (document.toJS({ reviver: requireOwnKey }) ?? {}) as Data;
    const found = await findPlugins(last?.plugins ?? plugins, backendsOf(data, last?.data), packagesFrom);
    const schemaOf = (all: Data) => configFileSchema(found, Object.keys(writtenPoolsOf(all)));
    const parse = (all: Data) => schemaOf(all).safeParse(all);
    const parsed = parse(data);
    const members = (at: readonly PropertyKey[]): readonly string[] => [
      ...membersAt(schemaOf(data), at),
      ...poolMembers(found, data, at),
    ];
    if (!parsed.success) faults.push(...describeIssues(parsed.error, locate, members));
    const read = parsed.success ? { file: parsed.data, data } : last && withoutFaults(parse, data, last.data);
    const { plugins: all } = found;
    if (read) return { read: { ...read, plugins: all } };
    return { faultless: { ...findFaultless(data, found, parsed.error?.issues ?? []), data, plugins: all } };
  } catch (error) {
    const isAlias = error instanceof ReferenceError;
    return void faults.push(
      `${path}${isAlias ? describeYamlError(Object(error)) : `: ${(error as Error).message}`}`,
    );
  }
}

/** Lists the members at a path within a pool that its backend adds. */
function poolMembers(found: FoundPlugins, data: Data, [part, pool, ...rest]: readonly PropertyKey[]) {
  if (part !== 'pools' || pool === undefined) return [];
  const entry = Object(writtenPoolsOf(data)[String(pool)]) as Data;
  const plugin = pluginOf(found.plugins, entry['backend']);
  const plugins = plugin ? [plugin] : Object.values(found.plugins);
  const schemas = [commonPoolSchema(found), ...plugins.map(({ settings }) => settings)];
  return schemas.flatMap(schema => membersAt(schema, rest));
}

/** Lists the backends that pools name, even in files with other faults. */
function backendsOf(...files: readonly (Data | undefined)[]): readonly string[] {
  const pools = files.flatMap(file => Object.values(writtenPoolsOf(file)));
  return pools.map(pool => (Object(pool) as Data)['backend']).filter(name => typeof name === 'string');
}

/** Refuses the key that a schema would drop silently. */
function requireOwnKey(key: unknown, value: unknown): unknown {
  if (key === '__proto__') throw new Error('"__proto__" is not known');
  return value;
}

function offsetOf(document: Document, path: readonly PropertyKey[]): number | undefined {
  const around = path.map((_, index) => document.getIn(path.slice(0, path.length - index), true));
  return (around.find(node => node !== undefined) as { readonly range?: readonly number[] } | undefined)
    ?.range?.[0];
}

async function readCallers(
  file: ConfigFile,
  { path, last, ...reading }: ReadState & { readonly path: string; readonly last: Configuration | undefined },
): Promise<Pick<Configuration, 'enrolment' | 'trust'>> {
  const { own, trusted } = callersOf(file);
  const report = ({ caller }: KeyOwner, detail: string): void =>
    void reading.keyFaults.push({ cluster: callerName(caller), detail });
  const readKeys = async <Key>(one: KeyOwner & { readonly keys: string }, schema: KeySetSchema<Key>) => {
    const { keys, faults } = await readKeySet(resolve(dirname(path), one.keys), schema, reading.files);
    for (const fault of faults) report(one, fault);
    return { keys, isAtFault: faults.length > 0 };
  };
  const readOwn = async (one: OwnKeysFile) => ({ ...one, ...(await readKeys(one, keySetSchema)) });
  const readIssuers = async (one: IssuerKeysFile) => ({
    ...one,
    ...(one.console?.secretFile !== undefined && {
      console: { ...one.console, secretFile: resolve(dirname(path), one.console.secretFile) },
    }),
    ...(one.keys === discovered ? { keys: undefined } : await readKeys(one, issuerKeySetSchema)),
  });
  const enrolled = await Promise.all(own.map(readOwn));
  const declared = await Promise.all(trusted.map(readIssuers));
  const trust = createTrust(declared, report, last?.trust);
  const ownKeys = await createEnrolment(enrolled, report, last?.enrolment);
  return { enrolment: { ...ownKeys, trusted: trust.trusted }, trust };
}

type KeySetSchema<Key> = z.ZodType<{ readonly keys: readonly Key[] }>;

/** The keys of a file: none of them when anything in it is at fault. */
async function readKeySet<Key>(path: string, schema: KeySetSchema<Key>, files: Map<string, string>) {
  const refuse = (...faults: readonly string[]) => ({ keys: [] as readonly Key[], faults });
  const { text, fault } = await readText(path, files);
  if (text === undefined) return refuse(fault);
  try {
    const parsed = schema.safeParse(JSON.parse(text));
    if (parsed.success) return { keys: parsed.data.keys, faults: [] };
    return refuse(...describeIssues(parsed.error, at => [path, at.join('.')].filter(Boolean).join(': ')));
  } catch {
    return refuse(`${path}: is not JSON`);
  }
}

type FileText = { readonly text: string | undefined; readonly fault: string };

async function readText(path: string, files: Map<string, string>): Promise<FileText> {
  // This comes first, so that a change during the read shows later.
  files.set(path, await stampOf(path));
  try {
    return { text: await readFile(path, 'utf8'), fault: '' };
  } catch (error) {
    return { text: undefined, fault: `${path}: cannot be read: ${reasonOf(error)}` };
  }
}
