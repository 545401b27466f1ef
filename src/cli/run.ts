import { toTerminal } from '../api/http/printable.ts';
import { createTerminal } from './output/terminal.ts';
import { describeStartFault } from '../lib/lifecycle.ts';
import { describeSettings, readSettings, type SettingsTable, type Sources } from '../lib/settings.ts';
import { createNotices, type Notices } from '../lib/words/notice.ts';
import { suggest } from '../lib/words/suggest.ts';
import { maxOf } from '../lib/numbers.ts';

/** The streams and the environment of a command: data goes to `out`, everything else to `err`. */
export type Io = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: NodeJS.ProcessEnv;
  /** Shows the reason for a command's wait; absent: nothing is shown. */
  readonly notices?: Notices;
  /** The width of the terminal that `err` leads to; undefined for a file or a pipe. */
  readonly errColumns?: number | undefined;
  /** True when `out` is a terminal, not a file or a pipe. */
  readonly isTerminal: boolean;
  /** Colours the text, unless the user has turned colours off. */
  readonly style: (format: Colour, text: string) => string;
  /** Marks the command's own control sequences, so that they reach the terminal; all other ones are escaped. */
  readonly steer?: (sequences: string) => string;
  /** Ends a command that repeats, such as `--watch`; without it a signal ends the process. */
  readonly signal?: AbortSignal;
};

/** A style that `node:util` knows. */
export type Colour = 'yellow' | 'red' | 'bold';

/**
 * A command's settings and its work. `run` gets the settings checked, and returns the exit status, or nothing for a program
 * that keeps running.
 */
export type Runnable = {
  readonly settings: SettingsTable;
  /** Settings that may be given without their flags, in this order. */
  readonly operands?: readonly string[];
  /** The meanings of exit statuses that do not say that the command failed. */
  readonly exits?: Readonly<Record<number, string>>;
  /** Gives settings that neither flags nor variables set. A command with it ignores variables that only other commands know. */
  readonly fallback?: (env: NodeJS.ProcessEnv) => NonNullable<Sources['fallback']>;
  /** Lists faults of the files that sound settings name, to report them beside faults of other settings. */
  readonly findFaults?: (sound: never) => Promise<readonly string[]>;
  readonly run: (values: never, io: Io) => Promise<number | void>;
};

type LoadedCommand = Runnable | { readonly commands: Commands };

/** A command with its description. With `load`, its code is loaded when it is called. `aliases` are other names. */
export type Command = {
  readonly doc: string;
  readonly aliases?: readonly string[];
  readonly examples?: readonly string[];
} & (LoadedCommand | { readonly load: () => Promise<LoadedCommand> });

export type Commands = Readonly<Record<string, Command>>;

/** A group of commands, with the words that lead to it, such as `fairlead get`. */
type Level = { readonly path: string; readonly commands: Commands };

/** A command that is not a group, with all the words that call it. `aliases` are other words that call it. */
export type ListedCommand = {
  readonly path: string;
  readonly aliases: readonly string[];
  readonly doc: string;
  readonly command: Runnable;
};

/** Loads and lists every command of a level and of the levels below it, in the order of the tables. */
export async function listCommands({ path, commands }: Level): Promise<readonly ListedCommand[]> {
  const all: ListedCommand[] = [];
  for (const [name, command] of Object.entries(commands)) {
    const loaded = await load(command);
    const own = `${path} ${name}`;
    if ('commands' in loaded) all.push(...(await listCommands({ path: own, commands: loaded.commands })));
    else {
      const aliases = (command.aliases ?? []).map(alias => `${path} ${alias}`);
      all.push({ path: own, aliases, doc: command.doc, command: loaded });
    }
  }
  return all;
}

/**
 * Runs the command that `argv` names, and returns its exit status: 1, with a line on `err` for each fault, when it fails.
 * Text from elsewhere that the command prints cannot steer the terminal.
 */
export async function runCommand(argv: readonly string[], level: Level, io: Io): Promise<number | undefined> {
  const [out, err] = [createTerminal(io.out), createTerminal(io.err)];
  return run(argv, level, {
    out: out.write,
    err: err.write,
    env: io.env,
    get isTerminal() {
      return io.isTerminal;
    },
    style: (format, text) => out.own(io.style(format, toTerminal(text))),
    steer: out.own,
    get notices() {
      return createNotices({
        write: err.write,
        steer: err.own,
        prefix: `${level.path}: `,
        columns: io.errColumns,
      });
    },
    ...(io.signal && { signal: io.signal }),
  });
}

async function run([name, ...argv]: readonly string[], level: Level, io: Io): Promise<number | undefined> {
  const fail = (faults: readonly string[], path: string): number => {
    for (const fault of faults) io.err(`${path}: ${fault}\n`);
    return 1;
  };
  // `help get volumes` is `get volumes --help`.
  if (name === 'help' && argv.length > 0) return run([...argv, '--help'], level, io);
  if (name === undefined || name === 'help' || isHelp(name)) {
    io.out(help(level));
    return name === undefined ? 1 : 0;
  }
  const [known = '', command] = find(level.commands, name) ?? [];
  if (!command) {
    const names = Object.keys(level.commands);
    const aliases = Object.values(level.commands).flatMap(one => one.aliases ?? []);
    return fail(
      [
        `unknown command "${name}"${suggest(name, [...names, ...aliases])}; the commands are ${names.join(', ')}`,
      ],
      level.path,
    );
  }
  const path = `${level.path} ${known}`;
  const loaded = await load(command);
  if ('commands' in loaded) return run(argv, { path, commands: loaded.commands }, io);
  if (argv.some(isHelp)) {
    io.out(helpOf(path, command.doc, loaded));
    return 0;
  }
  const { values, faults } = await readAll(loaded, argv, io.env);
  if (faults) return fail(faults, path);
  try {
    return (await loaded.run(values as never, io)) ?? undefined;
  } catch (error) {
    return fail([describeStartFault(error, values)], path);
  }
}

/** Reads the settings. Their faults include faults of the files that sound settings name. */
async function readAll(
  { settings, operands, fallback, findFaults }: Runnable,
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ readonly values?: object; readonly faults?: readonly string[] }> {
  const { values, faults, sound } = readSettings(settings, {
    argv,
    env,
    operands,
    fallback: fallback?.(env),
  });
  if (values) return { values };
  return { faults: [...faults, ...((await findFaults?.(sound as never)) ?? [])] };
}

const settingsHelp = 'Settings, as flags or environment variables (a flag wins):\n\n';

export function usageOf(path: string, { settings, operands = [] }: Runnable): string {
  const words = operands.map(name => {
    const { isList, optional } = settings[name] ?? {};
    const word = `${name.toUpperCase().replace(/S$/, isList ? '' : 'S')}${isList ? ' …' : ''}`;
    return optional ? `[${word}]` : word;
  });
  return [path, ...words, '[--flag value …]'].join(' ');
}

function helpOf(path: string, doc: string, command: Runnable): string {
  const { settings, exits = {} } = command;
  const statuses = Object.entries(exits).map(one => `\nExit status ${one.join(': ')}\n`);
  return `${path}: ${doc}\n\nUsage: ${usageOf(path, command)}\n\n${settingsHelp}${describeSettings(settings)}\n${statuses.join('')}`;
}

function find(commands: Commands, name: string): readonly [string, Command] | undefined {
  return Object.entries(commands).find(([known, { aliases = [] }]) => [known, ...aliases].includes(name));
}

function help({ path, commands: known }: Level): string {
  const rows = Object.entries(known).map(([name, { doc, aliases = [] }]) => ({
    names: [name, ...aliases].join(', '),
    doc,
  }));
  const width = maxOf(rows.map(({ names }) => names.length));
  const list = rows.map(({ names, doc }) => `  ${names.padEnd(width)}  ${doc}`);
  return `Fairlead, a remote CSI gateway.\n\nUsage: ${path} <command> [--flag value …]\n\n${list.join('\n')}\n\nRun ${path} help <command>, or ${path} <command> --help, for its settings.\n`;
}

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h';
}

async function load(command: Command): Promise<LoadedCommand> {
  return 'load' in command ? command.load() : command;
}
