import { readFileSync } from 'node:fs';
import { logFormats, logLevels } from './log.ts';
import { reasonOf } from './words/failures.ts';
import { suggest } from './words/suggest.ts';
import { choice, hostPort, httpUrl, trueOrFalse } from './parsers.ts';

// A static import would load all of node:util at the start.
const { parseArgs } = process.getBuiltinModule('node:util');

/** A setting: a flag `--name` and a variable `FAIRLEAD_NAME`. The flag overrides the variable. */
export type Setting<T> = {
  readonly doc: string;
  /** Parses the text. An error's message names the fault and the remedy. */
  readonly parse: (text: string) => T;
  /** The default text. Without a default the setting is required, unless it is `optional`. */
  readonly default?: string;
  readonly optional?: boolean;
  /** A second variable, for names that others decided, such as CSI_ENDPOINT. */
  readonly variable?: string;
  /** The value may also come from a file, by `--name-file` or `FAIRLEAD_NAME_FILE`. */
  readonly file?: boolean;
  /** The flag alone means `true`. */
  readonly isSwitch?: boolean;
  /** A second flag of one letter. */
  readonly short?: string;
  /** As an operand it takes all following arguments. */
  readonly isList?: boolean;
};

/** A program's settings, keyed by flag name without its dashes. */
export type SettingsTable = Readonly<Record<string, Setting<unknown>>>;

/** The values of a table, keyed as the table is. */
export type SettingsOf<T extends SettingsTable> = {
  readonly [K in keyof T]: T[K] extends { readonly optional: true }
    ? ReturnType<T[K]['parse']> | undefined
    : ReturnType<T[K]['parse']>;
};

/** The setting of the log level, the same in all programs. */
export const logLevelSetting = {
  doc: `minimum level of logged lines: ${logLevels.join(', ')}`,
  parse: choice(...logLevels),
  default: 'info',
} as const;

/** The setting of the log's format, the same in all programs. */
export const logFormatSetting = {
  doc: `format of logged lines: text for people, or json; default: text on a terminal, json elsewhere`,
  parse: choice(...logFormats),
  optional: true,
} as const;

/** The parts of a switch: `--name`, `--name=false`, or `true` or `false` in its variable. */
export const onOrOff = { parse: trueOrFalse, default: 'false', isSwitch: true } as const;

/** The setting that permits unencrypted connections, the same for all programs that call the gateway. */
export const allowHttpSetting = {
  doc: 'allows an http:// address of another machine; tokens and data are then sent unencrypted',
  ...onOrOff,
} as const;

/** The setting of the tracing collector, the same in all programs that record spans. */
export const otlpEndpointSetting = {
  doc: 'address of an OpenTelemetry collector for traces (OTLP over HTTP), such as http://collector:4318; without it none are recorded',
  parse: httpUrl,
  optional: true,
  variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
} as const;

/** The setting of the server of probes and metrics, the same in all programs. */
export const metricsListenSetting = {
  doc: 'host:port of an HTTP server without authentication for /metrics, /healthz and, except for the controller, /readyz; without it there is none',
  parse: hostPort,
  optional: true,
} as const;

const prefix = 'FAIRLEAD_';

/** The sources of settings, by decreasing priority. */
export type Sources = {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The settings whose flags may be omitted, in this order. */
  readonly operands?: readonly string[] | undefined;
  /** Gives further values by flag name. It can read the flags and variables. Its error is reported as a fault. */
  readonly fallback?: ((given: (name: string) => string | undefined) => Fallback) | undefined;
};

type Fallback = Readonly<Record<string, string | undefined>>;

/**
 * Reads all settings from the command line and the environment. Reports all faults, at most one for each setting, beside
 * the sound values.
 */
export function readSettings<T extends SettingsTable>(
  table: T,
  { argv, env, operands = [], fallback }: Sources,
) {
  const faults: string[] = [];
  const known = flagsOf(table);
  const flags = readFlags(known, argv, { operands, faults });
  // A variable applies to all commands of a shell, so one that this command does not know is no fault here.
  const variables = readVariables(known, env, fallback ? [] : faults);
  const values: Record<string, unknown> = {};
  const given = (name: string): GivenText | undefined =>
    readText(name, { given: flags, sourceOf: flag => `--${flag}` }) ??
    readText(name, { given: variables, sourceOf: flag => usedVariable(flag, known, env) });
  const others = orFault(() => fallback?.(name => given(name)?.text), faults) ?? {};
  for (const [name, setting] of Object.entries(table)) {
    let source = '';
    try {
      const found = given(name);
      source = `${found?.source ?? `--${name}`}: `;
      const text = found?.text ?? others[name] ?? setting.default;
      if (text !== undefined) values[name] = setting.parse(text);
      else if (!setting.optional)
        faults.push(`--${name} is required (or ${variableOf(name)}): ${setting.doc}`);
    } catch (error) {
      faults.push(`${source}${(error as Error).message}`);
    }
  }
  if (faults.length === 0) return { values: values as SettingsOf<T> };
  // The fallback reads settings too, so it may have reported the same fault.
  return { faults: [...new Set(faults)], sound: values as Partial<SettingsOf<T>> };
}

/** Formats the table for `--help`: flag, variable, default and description. */
export function describeSettings(table: SettingsTable): string {
  return Object.entries(table)
    .map(([name, setting]) => {
      const { flags, doc, facts } = describeSetting(name, setting);
      return `  ${flags}\n      ${doc}\n      (${facts})`;
    })
    .join('\n');
}

/** Describes one setting: its flags, its description, and its variables with its default. */
export function describeSetting(
  name: string,
  { doc, variable, default: fallback, optional, file, short }: Setting<unknown>,
): { readonly flags: string; readonly doc: string; readonly facts: string } {
  const variables = [variableOf(name), ...(variable ? [variable] : [])].join(', ');
  const isOptional = optional || fallback === '';
  const state = fallback ? `default ${fallback}` : isOptional ? 'optional' : 'required';
  const also = file ? `; also as a file: --${name}-file, ${variableOf(name)}_FILE` : '';
  return {
    flags: `${short === undefined ? '' : `-${short}, `}--${name}`,
    doc,
    facts: `${variables}; ${state}${also}`,
  };
}

/** All values of each flag, in order; undefined for a flag without its value. */
type GivenValues = ReadonlyMap<string, readonly (string | undefined)[]>;

type Flags = ReadonlyMap<string, Pick<Setting<unknown>, 'isSwitch' | 'variable' | 'short' | 'isList'>>;

/** The flags of a table, including those for files. */
function flagsOf(table: SettingsTable): Flags {
  const settings = Object.entries(table);
  const files = settings.filter(([, { file }]) => file).map(([name]) => [`${name}-file`, {}] as const);
  return new Map([...settings, ...files]);
}

/** Returns undefined, and adds a fault, when `read` throws. */
function orFault<T>(read: () => T, faults: string[]): T | undefined {
  try {
    return read();
  } catch (error) {
    faults.push((error as Error).message);
    return undefined;
  }
}

function readFlags(
  known: Flags,
  argv: readonly string[],
  { operands, faults }: { readonly operands: readonly string[]; readonly faults: string[] },
): GivenValues {
  // Some runtimes have no command line, and no parseArgs.
  if (argv.length === 0) return new Map();
  const given = new Map<string, (string | undefined)[]>();
  const left = [...operands];
  const dashed = [...known.keys()].map(flag => `--${flag}`);
  const options = known.entries().map(([flag, { isSwitch, short }]) => {
    const type = isSwitch ? 'boolean' : 'string';
    return [flag, { type, ...(short !== undefined && { short }) }] as const;
  });
  const { tokens } = parseArgs({
    args: [...argv],
    options: Object.fromEntries(options),
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  for (const [index, token] of tokens.entries()) {
    if (token.kind === 'positional') addOperand(token.value, tokens[index - 1]);
    if (token.kind !== 'option') continue;
    const word = wordWithOneDash(token);
    if (word === undefined) addFlag(token);
    // The parser takes each letter of the word for a flag of its own.
    else if (tokens[index - 1]?.index !== token.index) addUnknown(word);
  }
  return given;

  function addUnknown(flag: string): void {
    const word = flag.replace(/^-(?!-)/, '--');
    faults.push(`unknown flag ${flag}${word.length > 3 ? suggest(word, dashed) : ''}`);
  }

  function addFlag(token: Extract<(typeof tokens)[number], { readonly kind: 'option' }>): void {
    const { name, rawName, value, inlineValue } = token;
    const setting = known.get(name);
    // A following argument that looks like a flag is not this flag's value.
    const own = inlineValue || !value?.startsWith('--') ? value : undefined;
    if (!setting) addUnknown(rawName);
    else given.set(name, [...(given.get(name) ?? []), own ?? (setting.isSwitch ? 'true' : undefined)]);
  }

  /** Returns a word such as `-config`, which is no flag of one letter with its value or further flags. */
  function wordWithOneDash({ index }: (typeof tokens)[number]): string | undefined {
    const [word = ''] = (argv[index] ?? '').split('=');
    if (!/^-[^-]./.test(word)) return undefined;
    const isShort = known.values().some(({ short }) => short === word[1]);
    return isShort && !known.has(word.slice(1)) ? undefined : word;
  }

  function strayFaults(value: string, before?: (typeof tokens)[number]): readonly string[] {
    // An unknown flag is reported itself, and this is its value.
    if (before?.kind === 'option' && wordWithOneDash(before) !== undefined) return [];
    const flag = before?.kind === 'option' && before.value === undefined ? before : undefined;
    if (flag && !known.has(flag.name)) return [];
    const advice = flag ? `; write ${flag.rawName}=${value}` : '';
    return [`unexpected argument "${value}"${advice}`];
  }

  function addOperand(value: string, before?: (typeof tokens)[number]): void {
    const [name] = left;
    if (name === undefined) return void faults.push(...strayFaults(value, before));
    const isList = known.get(name)?.isList;
    if (!isList) left.shift();
    // A list has one value on each line.
    const all = [...(isList ? (given.get(name) ?? []) : []), value];
    given.set(name, isList ? [`${all.join('\n')}\n`] : [...(given.get(name) ?? []), ...all]);
  }
}

function readVariables(flags: Flags, env: NodeJS.ProcessEnv, faults: string[]): GivenValues {
  const names = new Set(flags.keys().map(variableOf));
  for (const name of Object.keys(env))
    if (name.startsWith(prefix) && !names.has(name))
      faults.push(`unknown variable ${name}${suggest(name, names)}`);
  const values = flags
    .entries()
    .map(([flag, { variable = '' }]) => [flag, env[variableOf(flag)] ?? env[variable]] as const);
  return new Map(values.filter(([, value]) => value !== undefined).map(([flag, value]) => [flag, [value]]));
}

type GivenText = { readonly text: string; readonly source: string };

type Source = { readonly given: GivenValues; readonly sourceOf: (flag: string) => string };

/**
 * Reads the text of a setting from its value or its file. Both together are a fault, because neither should be ignored.
 * The message of each error starts with the flag or the variable.
 */
function readText(name: string, { given, sourceOf }: Source): GivenText | undefined {
  const file = `${name}-file`;
  const [value, path] = [name, file].map(flag => {
    const [first, ...more] = given.get(flag) ?? [];
    if (more.length > 0) throw new Error(`${sourceOf(flag)}: is given twice`);
    if (given.has(flag) && first === undefined) throw new Error(`${sourceOf(flag)}: needs a value`);
    return first;
  });
  if (value !== undefined && path)
    throw new Error(`${sourceOf(name)}: is given both as a value and as a file`);
  if (value !== undefined) return { text: value.trim(), source: sourceOf(name) };
  return path ? { text: readSettingFile(path, sourceOf(file)), source: sourceOf(file) } : undefined;
}

function readSettingFile(path: string, source: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    throw new Error(`${source}: "${path}" cannot be read: ${reasonOf(error)}`, { cause: error });
  }
}

/** The variable that gives a setting: its own, or its second one. */
function usedVariable(flag: string, known: Flags, env: NodeJS.ProcessEnv): string {
  const own = variableOf(flag);
  return env[own] === undefined ? (known.get(flag)?.variable ?? own) : own;
}

function variableOf(name: string): string {
  return prefix + name.toUpperCase().replaceAll('-', '_');
}
