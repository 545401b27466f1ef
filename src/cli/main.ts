import {
  describeSettings,
  readSettings,
  suggest,
  type SettingsOf,
  type SettingsTable,
} from '../lib/settings.ts';
import { describeStartFault, runProgram, type ProgramRun, type Running } from '../lib/lifecycle.ts';
import { createLog, type Log, type LogLevel } from '../lib/log.ts';

/**
 * What a command needs and does: `run` gets the settings, read and checked, and returns the exit status, or nothing when it
 * goes on. The setting `operand` may stand first without its flag.
 */
type Runnable = {
  readonly settings: SettingsTable;
  readonly operand?: string;
  readonly run: (values: never) => Promise<number | void>;
};

/** One command, or the commands below it; most are loaded only when they are asked for. */
type Loaded = Runnable | { readonly commands: Commands };
type Command = { readonly doc: string } & (Loaded | { readonly load: () => Promise<Loaded> });
type Commands = Readonly<Record<string, Command>>;
type Level = { readonly path: string; readonly commands: Commands };

const commands: Commands = {
  gateway: {
    doc: 'the hosted storage API: remembers, decides, drives pools',
    async load() {
      const { gatewaySettings: settings } = await import('../../gateway/config.ts');
      const { startGateway: start } = await import('../../gateway/main.ts');
      return program('gateway', { settings, start });
    },
  },
  controller: {
    doc: 'CSI Identity and Controller for one cluster, translated into storage API calls',
    async load() {
      const { controllerSettings: settings } = await import('../controller/config.ts');
      const { startController: start } = await import('../controller/main.ts');
      return program('controller', { settings, start });
    },
  },
  node: {
    doc: 'CSI Identity and Node for this machine: attaches, formats, mounts',
    async load() {
      const { nodeSettings: settings } = await import('../../node-agent/config.ts');
      const { startNodeAgent: start } = await import('../../node-agent/main.ts');
      return program('node', { settings, start });
    },
  },
  admin: {
    doc: 'what operators do: finds and repairs what the storage and the store do not agree on, restores',
    async load() {
      return { commands: (await import('./admin.ts')).adminCommands };
    },
  },
  enroll: {
    doc: "makes a cluster's key, and what its Helm release and the gateway need of it",
    load: async () => (await import('./enroll.ts')).enrollCommand,
  },
  init: {
    doc: 'writes a new project',
    load: async () => ({ commands: (await import('./init.ts')).initCommands }),
  },
  verify: {
    doc: "proves that a vendor's server serves the contract, also under faults",
    load: async () => (await import('./verify/verify.ts')).verifyCommand,
  },
  dev: {
    doc: 'all three for one machine, with image files as volumes or pools of your own',
    async load() {
      const { devSettings: settings } = await import('../dev/config.ts');
      const { startDev } = await import('../dev/dev.ts');
      const start = (config: SettingsOf<typeof settings>): Promise<Running> =>
        startDev(config, how => failWith([how], 'fairlead dev'));
      return program('dev', { settings, start, announce: ({ ready }) => print(JSON.stringify(ready)) });
    },
  },
  demo: {
    doc: "walks a volume's whole life on this machine and proves it (root)",
    async load() {
      const { demoSettings, runDemo } = await import('../dev/demo.ts');
      return { settings: demoSettings, run: runDemo };
    },
  },
};

await main(process.argv.slice(2), { path: 'fairlead', commands });

async function main([name, ...argv]: readonly string[], level: Level): Promise<void> {
  if (name === undefined || name === 'help' || isHelp(name)) {
    print(help(level));
    process.exitCode = name === undefined ? 1 : 0;
    return;
  }
  if (name === '--version') return print((await import('../lib/version.ts')).version);
  const command = Object.hasOwn(level.commands, name) ? level.commands[name] : undefined;
  if (!command) {
    const known = Object.keys(level.commands);
    const fault = `unknown command "${name}"${suggest(name, known)}; there are ${known.join(', ')}`;
    return failWith([fault], level.path);
  }
  const path = `${level.path} ${name}`;
  const loaded = 'load' in command ? await command.load() : command;
  if ('commands' in loaded) return main(argv, { path, commands: loaded.commands });
  if (argv.some(isHelp))
    return print(
      `${path}: ${command.doc}\n\nSettings, as flags or variables (a flag wins):\n\n${describeSettings(loaded.settings)}`,
    );
  const { values, faults } = readSettings(loaded.settings, {
    argv: withFlag(loaded.operand, argv),
    env: process.env,
  });
  if (faults) return failWith(faults, path);
  const status = await loaded
    .run(values as never)
    .catch((error: unknown) => failWith([describeStartFault(error)], path));
  if (typeof status === 'number') process.exitCode = status;
}

function withFlag(operand: string | undefined, argv: readonly string[]): readonly string[] {
  const [first = '-', ...rest] = argv;
  return operand === undefined || first.startsWith('-') ? argv : [`--${operand}`, first, ...rest];
}

type Startable<T extends SettingsTable> = Pick<ProgramRun, 'announce'> & {
  readonly settings: T;
  readonly start: (config: SettingsOf<T>, log: Log) => Promise<Running>;
};

/** A program that runs until it is asked to end. */
function program<T extends SettingsTable>(
  name: string,
  { settings, start, ...more }: Startable<T>,
): Runnable {
  return {
    settings,
    async run(config: SettingsOf<T>) {
      const log = createLog(name, config['log-level'] as LogLevel);
      await runProgram({ ...more, name, log, start: () => start(config, log) });
    },
  };
}

function help({ path, commands: known }: Level): string {
  const width = Math.max(...Object.keys(known).map(name => name.length));
  const list = Object.entries(known).map(([name, { doc }]) => `  ${name.padEnd(width)}  ${doc}`);
  return `Fairlead, a remote CSI gateway.\n\nUsage: ${path} <command> [--flag value …]\n\n${list.join('\n')}\n\n${path} <command> --help lists its settings.`;
}

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h';
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function failWith(faults: readonly string[], path: string): never {
  for (const fault of faults) process.stderr.write(`${path}: ${fault}\n`);
  process.exit(1);
}
