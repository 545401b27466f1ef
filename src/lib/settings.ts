import { readFileSync } from 'node:fs';
import { suggest } from './nearest.ts';

// To import it is to load all that it would load late.
const { parseArgs } = process.getBuiltinModule('node:util');

/** One setting: a flag `--name` and a variable `FAIRLEAD_NAME`; a flag wins over the variable. */
export type Setting<T> = {
  readonly doc: string;
  /** Reads the text; an error's message says what is wrong with it. */
  readonly parse: (text: string) => T;
  /** The text taken when nothing is given; absent means that the setting must be given, unless `optional`. */
  readonly default?: string;
  readonly optional?: boolean;
  /** A second variable name, for names that others decided, such as CSI_ENDPOINT. */
  readonly variable?: string;
  /** May also be given as a path to a file that holds it, with `--name-file` or `FAIRLEAD_NAME_FILE`. */
  readonly file?: boolean;
  /** The flag may stand alone: then it means `true`. */
  readonly isSwitch?: boolean;
};

/** A program's settings, keyed by flag name without its dashes. */
export type SettingsTable = Readonly<Record<string, Setting<unknown>>>;

/** The values of a table, keyed as the table is. */
export type SettingsOf<T extends SettingsTable> = {
  readonly [K in keyof T]: T[K] extends { readonly optional: true }
    ? ReturnType<T[K]['parse']> | undefined
    : ReturnType<T[K]['parse']>;
};

/** Where settings are read from: the command line after the program's name, and the environment. */
export type SettingsSource = { readonly argv: readonly string[]; readonly env: NodeJS.ProcessEnv };

/** Either every value, or every fault found. */
export type SettingsResult<T extends SettingsTable> =
  | { readonly values: SettingsOf<T>; readonly faults?: never }
  | { readonly values?: never; readonly faults: readonly string[] };

const prefix = 'FAIRLEAD_';

/**
 * Reads all settings and reports all faults together, one for each setting: unknown names, missing ones, and values
 * that do not parse.
 */
export function readSettings<T extends SettingsTable>(table: T, source: SettingsSource): SettingsResult<T> {
  const { flags, faulty, faults } = readFlags(table, source.argv);
  faults.push(...unknownVariables(table, source.env));
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(table)) {
    if (faulty.has(name)) continue;
    try {
      const text = findText(name, setting, { flags, env: source.env })?.trim() ?? setting.default;
      if (text === undefined && !setting.optional)
        faults.push(`--${name} is required (or ${variableOf(name)}): ${setting.doc}`);
      if (text === undefined) continue;
      values[name] = setting.parse(text);
    } catch (error) {
      faults.push(`--${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return faults.length > 0 ? { faults } : { values: values as SettingsOf<T> };
}

/** The table as text for `--help`: flag, variable, default, and what it does. */
export function describeSettings(table: SettingsTable): string {
  return Object.entries(table)
    .map(([name, { doc, variable, default: fallback, optional, file }]) => {
      const variables = [variableOf(name), ...(variable ? [variable] : [])].join(', ');
      const state = fallback === undefined ? (optional ? 'optional' : 'required') : `default ${fallback}`;
      const also = file ? `; also as a file: --${name}-file, ${variableOf(name)}_FILE` : '';
      return `  --${name}\n      ${doc}\n      (${variables}; ${state}${also})`;
    })
    .join('\n');
}

/** The flags' values by flag, and which settings' flags are at fault. */
function readFlags(
  table: SettingsTable,
  argv: readonly string[],
): {
  readonly flags: ReadonlyMap<string, string>;
  readonly faulty: ReadonlySet<string>;
  readonly faults: string[];
} {
  const known = new Map(
    Object.entries(table).flatMap(([name, { file }]) =>
      (file ? [name, `${name}-file`] : [name]).map(flag => [flag, name] as const),
    ),
  );
  const options = Object.fromEntries(
    [...known].map(([flag, name]) => [
      flag,
      { type: table[name]?.isSwitch ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  const { tokens } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  const faults: string[] = [];
  const flags = new Map<string, string>();
  const faulty = new Set<string>();
  for (const token of tokens) {
    if (token.kind === 'positional') faults.push(`unexpected argument "${token.value}"`);
    if (token.kind !== 'option') continue;
    const { name: flag, rawName } = token;
    const name = known.get(flag);
    const value = token.value ?? (name !== undefined && table[name]?.isSwitch ? 'true' : undefined);
    const isTwice = flags.has(flag);
    if (name === undefined) faults.push(`unknown flag ${rawName}${suggest(flag, known.keys())}`);
    else if (!isTwice && value !== undefined && (token.inlineValue || !value.startsWith('--')))
      flags.set(flag, value);
    else if (!faulty.has(name)) {
      faults.push(isTwice ? `--${flag} is given twice` : `--${flag} needs a value`);
      faulty.add(name);
    }
  }
  return { flags, faulty, faults };
}

function unknownVariables(table: SettingsTable, env: NodeJS.ProcessEnv): readonly string[] {
  const known = new Set(
    Object.entries(table).flatMap(([name, { file }]) =>
      file ? [variableOf(name), `${variableOf(name)}_FILE`] : [variableOf(name)],
    ),
  );
  return Object.keys(env)
    .filter(name => name.startsWith(prefix) && !known.has(name))
    .map(name => `unknown variable ${name}${suggest(name, known)}`);
}

type Given = { readonly flags: ReadonlyMap<string, string>; readonly env: NodeJS.ProcessEnv };

/** A flag wins over a variable; a value and a file of one kind are a fault, since neither can be meant to lose. */
function findText(
  name: string,
  { variable: second = '', file }: Setting<unknown>,
  { flags, env }: Given,
): string | undefined {
  const variable = variableOf(name);
  const given = [
    { value: flags.get(name), path: flags.get(`${name}-file`), names: `--${name} and --${name}-file` },
    {
      value: env[variable] ?? env[second],
      path: file && env[`${variable}_FILE`],
      names: `${variable} and ${variable}_FILE`,
    },
  ];
  for (const { value, path, names } of given) {
    if (value !== undefined && path) throw new Error(`both ${names} are given`);
    if (value !== undefined) return value;
    if (path) return readTextFile(path);
  }
  return undefined;
}

function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new Error(`cannot read file "${path}" (${code})`, { cause: error });
  }
}

function variableOf(name: string): string {
  return prefix + name.toUpperCase().replaceAll('-', '_');
}
