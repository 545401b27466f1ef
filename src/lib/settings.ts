import { readFileSync } from 'node:fs';

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
  /** Never printed; may be given as a file, too. */
  readonly secret?: boolean;
  /** Another setting of the table that must be given when this one is. */
  readonly with?: string;
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
  const faults: string[] = [];
  const { flags, faulty } = readFlags(table, source.argv, faults);
  faults.push(...unknownVariables(table, source.env));
  const values: Record<string, unknown> = {};
  const given = new Set(faulty);
  for (const [name, setting] of Object.entries(table)) {
    if (faulty.has(name)) continue;
    let text: string | undefined;
    try {
      text = findText(name, setting, { flags, env: source.env })?.trim();
      if (text !== undefined) {
        given.add(name);
        values[name] = setting.parse(text);
      } else if (!setting.optional)
        faults.push(`--${name} is required (or ${variableOf(name)}): ${setting.doc}`);
    } catch (error) {
      given.add(name);
      const message = error instanceof Error ? error.message : String(error);
      faults.push(`--${name}: ${setting.secret && text ? message.replaceAll(text, '…') : message}`);
    }
  }
  for (const [name, { with: other }] of Object.entries(table))
    if (other !== undefined && given.has(name) && !given.has(other))
      faults.push(`--${name} is given without --${other}`);
  return faults.length > 0 ? { faults } : { values: values as SettingsOf<T> };
}

/** True when a setting may be given as the path of a file that holds it. */
export function takesFile({ file, secret }: Setting<unknown>): boolean {
  return file === true || secret === true;
}

/** The table as text for `--help`: flag, variable, default, and what it does. */
export function describeSettings(table: SettingsTable): string {
  return Object.entries(table)
    .map(([name, setting]) => {
      const variables = [variableOf(name), ...(setting.variable ? [setting.variable] : [])].join(', ');
      const state =
        setting.default !== undefined
          ? `default ${setting.default}`
          : setting.optional
            ? 'optional'
            : 'required';
      const file = takesFile(setting) ? `; also as a file: --${name}-file, ${variableOf(name)}_FILE` : '';
      return `  --${name}\n      ${setting.doc}\n      (${variables}; ${state}${file})`;
    })
    .join('\n');
}

/** The flags' values, and which settings' flags are at fault. */
function readFlags(
  table: SettingsTable,
  argv: readonly string[],
  faults: string[],
): { readonly flags: ReadonlyMap<string, string>; readonly faulty: ReadonlySet<string> } {
  const known = new Map(
    Object.entries(table).flatMap(([name, setting]) =>
      (takesFile(setting) ? [name, `${name}-file`] : [name]).map(flag => [flag, name] as const),
    ),
  );
  const options = Object.fromEntries([...known.keys()].map(name => [name, { type: 'string' as const }]));
  const { tokens } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  const flags = new Map<string, string>();
  const faulty = new Set<string>();
  for (const token of tokens) {
    if (token.kind === 'positional') faults.push(`unexpected argument "${token.value}"`);
    if (token.kind !== 'option') continue;
    const { name: flag, value } = token;
    const name = known.get(flag);
    const isTwice = flags.has(flag);
    if (name === undefined) faults.push(`unknown flag ${token.rawName}`);
    else if (!isTwice && value !== undefined && (token.inlineValue || !value.startsWith('--')))
      flags.set(flag, value);
    else if (!faulty.has(name)) {
      faults.push(isTwice ? `--${flag} is given twice` : `--${flag} needs a value`);
      faulty.add(name);
    }
  }
  return { flags, faulty };
}

function unknownVariables(table: SettingsTable, env: NodeJS.ProcessEnv): string[] {
  const known = new Set(
    Object.entries(table).flatMap(([name, setting]) =>
      takesFile(setting) ? [variableOf(name), `${variableOf(name)}_FILE`] : [variableOf(name)],
    ),
  );
  return Object.keys(env)
    .filter(name => name.startsWith(prefix) && !known.has(name))
    .map(name => `unknown variable ${name}`);
}

type Given = { readonly flags: ReadonlyMap<string, string>; readonly env: NodeJS.ProcessEnv };

/** A flag wins over a variable; a value and a file of one kind are a fault, since neither can be meant to lose. */
function findText(name: string, setting: Setting<unknown>, { flags, env }: Given): string | undefined {
  const variable = variableOf(name);
  const direct = env[variable] ?? (setting.variable ? env[setting.variable] : undefined);
  if (!takesFile(setting)) return flags.get(name) ?? direct ?? setting.default;
  const given = [
    { value: flags.get(name), file: flags.get(`${name}-file`), names: `--${name} and --${name}-file` },
    { value: direct, file: env[`${variable}_FILE`], names: `${variable} and ${variable}_FILE` },
  ];
  for (const { value, file, names } of given) {
    if (value !== undefined && file !== undefined) throw new Error(`both ${names} are given`);
    if (value !== undefined) return value;
    if (file !== undefined) return readTextFile(file);
  }
  return setting.default;
}

function readTextFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(
      `cannot read file "${path}" (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`,
      { cause: error },
    );
  }
}

function variableOf(name: string): string {
  return prefix + name.toUpperCase().replaceAll('-', '_');
}
