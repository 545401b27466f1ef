import { readFileSync } from 'node:fs';
import { logLevels } from './log.ts';
import { choice, httpUrl } from './parsers.ts';

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
  /** A second flag of one letter. */
  readonly short?: string;
  /** As an operand it takes all that follow. */
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

/** The setting of what is logged, the same in all programs. */
export const logLevelSetting = {
  doc: `the least level of what is logged: ${logLevels.join(', ')}`,
  parse: choice(...logLevels),
  default: 'info',
} as const;

/** The setting of whether tokens and data may go over a network unencrypted, the same for all that call the gateway. */
export const allowHttpSetting = {
  doc: 'true takes an http:// address of another machine, over which tokens and data go unencrypted',
  parse: choice('true', 'false'),
  default: 'false',
  isSwitch: true,
} as const;

/** The setting of where spans are sent, the same in all programs that record some. */
export const otlpEndpointSetting = {
  doc: 'address of an OpenTelemetry collector that takes OTLP over HTTP, such as http://collector:4318, for traces; without it none are recorded',
  parse: httpUrl,
  optional: true,
  variable: 'OTEL_EXPORTER_OTLP_ENDPOINT',
} as const;

const prefix = 'FAIRLEAD_';

/** Where settings come from, the first before the last. */
export type Sources = {
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** The settings that may stand without their flags, in this order. */
  readonly operands?: readonly string[] | undefined;
  /** What else is set, by flag name; it is told what flags and variables say. What it throws is a fault. */
  readonly fallback?: ((given: (name: string) => string | undefined) => Fallback) | undefined;
};

type Fallback = Readonly<Record<string, string | undefined>>;

/** Reads all settings from the command line and the environment; reports all faults, one for each setting. */
export function readSettings<T extends SettingsTable>(
  table: T,
  { argv, env, operands = [], fallback }: Sources,
) {
  const faults: string[] = [];
  const known = flagsOf(table);
  const flags = readFlags(known, argv, { operands, faults });
  // What is set for all commands of a shell is not for each of them.
  const variables = readVariables(known, env, fallback ? [] : faults);
  const values: Record<string, unknown> = {};
  const given = (name: string): string | undefined => readText(name, flags) ?? readText(name, variables);
  const others = orFault(() => fallback?.(given), faults) ?? {};
  for (const [name, setting] of Object.entries(table)) {
    try {
      const text = given(name) ?? others[name] ?? setting.default;
      if (text !== undefined) values[name] = setting.parse(text);
      else if (!setting.optional)
        faults.push(`--${name} is required (or ${variableOf(name)}): ${setting.doc}`);
    } catch (error) {
      faults.push(`--${name}: ${(error as Error).message}`);
    }
  }
  return faults.length > 0 ? { faults } : { values: values as SettingsOf<T> };
}

/** The table as text for `--help`: flag, variable, default, and what it does. */
export function describeSettings(table: SettingsTable): string {
  return Object.entries(table)
    .map(([name, { doc, variable, default: fallback, optional, file, short }]) => {
      const variables = [variableOf(name), ...(variable ? [variable] : [])].join(', ');
      const state = fallback === undefined ? (optional ? 'optional' : 'required') : `default ${fallback}`;
      const also = file ? `; also as a file: --${name}-file, ${variableOf(name)}_FILE` : '';
      return `  ${short === undefined ? '' : `-${short}, `}--${name}\n      ${doc}\n      (${variables}; ${state}${also})`;
    })
    .join('\n');
}

/** What was given for each flag, as often as it was given; undefined for a flag without its value. */
type Given = ReadonlyMap<string, readonly (string | undefined)[]>;

type Flags = ReadonlyMap<string, Pick<Setting<unknown>, 'isSwitch' | 'variable' | 'short' | 'isList'>>;

/** Every flag of a table, those for files among them. */
function flagsOf(table: SettingsTable): Flags {
  const settings = Object.entries(table);
  const files = settings.filter(([, { file }]) => file).map(([name]) => [`${name}-file`, {}] as const);
  return new Map([...settings, ...files]);
}

/** What does not fit is a fault, and undefined. */
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
): Given {
  // Not every runtime has a command line to read.
  if (argv.length === 0) return new Map();
  const given = new Map<string, (string | undefined)[]>();
  const left = [...operands];
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
  for (const token of tokens) {
    if (token.kind === 'positional') addOperand(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value, inlineValue } = token;
    const setting = known.get(name);
    // What follows a flag and looks like the next one is not its value.
    const own = inlineValue || !value?.startsWith('--') ? value : undefined;
    if (!setting) faults.push(`unknown flag ${rawName}${suggest(name, known.keys())}`);
    else given.set(name, [...(given.get(name) ?? []), own ?? (setting.isSwitch ? 'true' : undefined)]);
  }
  return given;

  function addOperand(value: string): void {
    const [name] = left;
    if (name === undefined) return void faults.push(`unexpected argument "${value}"`);
    const isList = known.get(name)?.isList;
    if (!isList) left.shift();
    // A list has one value on each line.
    const all = [...(isList ? (given.get(name) ?? []) : []), value];
    given.set(name, isList ? [`${all.join('\n')}\n`] : [...(given.get(name) ?? []), ...all]);
  }
}

function readVariables(flags: Flags, env: NodeJS.ProcessEnv, faults: string[]): Given {
  const names = new Set(flags.keys().map(variableOf));
  for (const name of Object.keys(env))
    if (name.startsWith(prefix) && !names.has(name))
      faults.push(`unknown variable ${name}${suggest(name, names)}`);
  const values = flags
    .entries()
    .map(([flag, { variable = '' }]) => [flag, env[variableOf(flag)] ?? env[variable]] as const);
  return new Map(values.filter(([, value]) => value !== undefined).map(([flag, value]) => [flag, [value]]));
}

/** A value and a file of one kind are a fault, since neither can be meant to lose. */
function readText(name: string, given: Given): string | undefined {
  const [value, path] = [name, `${name}-file`].map(flag => {
    const [first, ...more] = given.get(flag) ?? [];
    if (more.length > 0) throw new Error('is given twice');
    if (given.has(flag) && first === undefined) throw new Error('needs a value');
    return first;
  });
  if (value !== undefined && path) throw new Error('is given both as a value and as a file');
  return (value ?? (path ? readFileSync(path, 'utf8') : undefined))?.trim();
}

function variableOf(name: string): string {
  return prefix + name.toUpperCase().replaceAll('-', '_');
}

/** The word that a mistyped or shortened one is likely to mean, as ` (did you mean "x"?)`; empty when none is near. */
export function suggest(typed: string, words: Iterable<string>): string {
  let best = { word: '', distance: Math.min(3, Math.ceil(typed.length / 2)) };
  for (const word of words) {
    const distance = typed.length > 1 && word.startsWith(typed) ? 0.5 : editDistance(typed, word);
    if (distance < best.distance) best = { word, distance };
  }
  return best.word === '' ? '' : ` (did you mean "${best.word}"?)`;
}

/** How many letters must be put in, left out or changed to make one word of the other (Levenshtein). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (letter === b[j - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
