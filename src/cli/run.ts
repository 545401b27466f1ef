import { describeStartFault } from '../lib/lifecycle.ts';
import {
  describeSettings,
  readSettings,
  suggest,
  type SettingsTable,
  type Sources,
} from '../lib/settings.ts';

/** What a command speaks with: data goes to `out`, all else to `err`. */
export type Io = {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly env: NodeJS.ProcessEnv;
  /** Somebody looks at what goes out, now. */
  readonly isTerminal: boolean;
  /** The text in a colour of `node:util`, where the one who looks at it wants colours. */
  readonly style: (format: Colour, text: string) => string;
  /** Ends what goes on and on; without it a signal ends the process. */
  readonly signal?: AbortSignal;
};

/** A colour that means something. */
export type Colour = 'yellow' | 'red' | 'bold';

/**
 * What a command needs and does: `run` gets the settings, read and checked, and returns the exit status, or nothing when it
 * goes on. The settings of `operands` may stand in this order without their flags. One with a `fallback` is one of many
 * commands of a shell, and takes no offence at variables that others of them know.
 */
export type Runnable = {
  readonly settings: SettingsTable;
  readonly operands?: readonly string[];
  readonly fallback?: (env: NodeJS.ProcessEnv) => NonNullable<Sources['fallback']>;
  readonly run: (values: never, io: Io) => Promise<number | void>;
};

/** One command, or the commands below it; most are loaded only when they are asked for. */
export type Loaded = Runnable | { readonly commands: Commands };

/** A command as it is listed. `alias` is another name of it. */
export type Command = { readonly doc: string; readonly alias?: string } & (
  | Loaded
  | { readonly load: () => Promise<Loaded> }
);

/** Commands by their names. */
export type Commands = Readonly<Record<string, Command>>;

/** Commands, and what stands before their names. */
type Level = { readonly path: string; readonly commands: Commands };

/** A command that does something, and the words that call it. */
export type Listed = { readonly path: string; readonly doc: string; readonly command: Runnable };

/** Every command of a table and of those below it, in its order, each loaded. */
export async function listCommands({ path, commands }: Level): Promise<readonly Listed[]> {
  const all: Listed[] = [];
  for (const [name, command] of Object.entries(commands)) {
    const loaded = await load(command);
    const own = `${path} ${name}`;
    if ('commands' in loaded) all.push(...(await listCommands({ path: own, commands: loaded.commands })));
    else all.push({ path: own, doc: command.doc, command: loaded });
  }
  return all;
}

/** Runs the command that is named, and returns the exit status: 1 with a line on `err` for each fault. */
export async function runCommand(
  [name, ...argv]: readonly string[],
  level: Level,
  io: Io,
): Promise<number | undefined> {
  const fail = (faults: readonly string[], path: string): number => {
    for (const fault of faults) io.err(`${path}: ${fault}\n`);
    return 1;
  };
  if (name === undefined || name === 'help' || isHelp(name)) {
    io.out(help(level));
    return name === undefined ? 1 : 0;
  }
  const [known = '', command] = find(level.commands, name) ?? [];
  if (!command) {
    const names = Object.keys(level.commands);
    return fail(
      [`unknown command "${name}"${suggest(name, names)}; there are ${names.join(', ')}`],
      level.path,
    );
  }
  const path = `${level.path} ${known}`;
  const loaded = await load(command);
  if ('commands' in loaded) return runCommand(argv, { path, commands: loaded.commands }, io);
  if (argv.some(isHelp)) {
    io.out(
      `${path}: ${command.doc}\n\nUsage: ${usageOf(path, loaded)}\n\n${settingsHelp}${describeSettings(loaded.settings)}\n`,
    );
    return 0;
  }
  const { settings, operands } = loaded;
  const fallback = loaded.fallback?.(io.env);
  const { values, faults } = readSettings(settings, { argv, env: io.env, operands, fallback });
  if (faults) return fail(faults, path);
  try {
    return (await loaded.run(values as never, io)) ?? undefined;
  } catch (error) {
    return fail([describeStartFault(error)], path);
  }
}

const settingsHelp = 'Settings, as flags or variables (a flag wins):\n\n';

/** How the command is called. */
export function usageOf(path: string, { settings, operands = [] }: Runnable): string {
  const words = operands.map(name => {
    const { isList, optional } = settings[name] ?? {};
    const word = `${name.toUpperCase().replace(/S$/, isList ? '' : 'S')}${isList ? ' …' : ''}`;
    return optional ? `[${word}]` : word;
  });
  return [path, ...words, '[--flag value …]'].join(' ');
}

function find(commands: Commands, name: string): readonly [string, Command] | undefined {
  return Object.entries(commands).find(([known, { alias }]) => name === known || name === alias);
}

function help({ path, commands: known }: Level): string {
  const width = Math.max(...Object.keys(known).map(name => name.length));
  const list = Object.entries(known).map(([name, { doc }]) => `  ${name.padEnd(width)}  ${doc}`);
  return `Fairlead, a remote CSI gateway.\n\nUsage: ${path} <command> [--flag value …]\n\n${list.join('\n')}\n\n${path} <command> --help lists its settings.\n`;
}

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h';
}

async function load(command: Command): Promise<Loaded> {
  return 'load' in command ? command.load() : command;
}
