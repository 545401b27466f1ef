import {
  describeSettings,
  readSettings,
  suggest,
  type SettingsOf,
  type SettingsTable,
} from '../lib/settings.ts';
import { describeStartFault, runProgram, type Running } from '../lib/lifecycle.ts';
import { createLog, type Log, type LogLevel } from '../lib/log.ts';

/** One command, loaded only when it is asked for. */
type Command = {
  readonly doc: string;
  readonly load: () => Promise<Loaded>;
};

/**
 * What a command needs and does: `run` gets the settings, read and checked, and returns the exit status, or nothing when
 * it goes on. Or the commands below it.
 */
type Loaded =
  | { readonly settings: SettingsTable; readonly run: (values: never) => Promise<number | void> }
  | { readonly commands: Commands };

type Commands = Readonly<Record<string, Command>>;

const commands: Commands = {
  gateway: {
    doc: 'the hosted storage API: remembers, decides, drives pools',
    async load() {
      const { gatewaySettings } = await import('../../gateway/config.ts');
      const { startGateway } = await import('../../gateway/main.ts');
      return program('gateway', { settings: gatewaySettings, start: startGateway });
    },
  },
  controller: {
    doc: 'CSI Identity and Controller for one cluster, translated into storage API calls',
    async load() {
      const { controllerSettings } = await import('../controller/config.ts');
      const { startController } = await import('../controller/main.ts');
      return program('controller', { settings: controllerSettings, start: startController });
    },
  },
  node: {
    doc: 'CSI Identity and Node for this machine: attaches, formats, mounts',
    async load() {
      const { nodeSettings } = await import('../../node-agent/config.ts');
      const { startNodeAgent } = await import('../../node-agent/main.ts');
      return program('node', { settings: nodeSettings, start: startNodeAgent });
    },
  },
  admin: {
    doc: 'what operators do: finds and repairs what the storage and the store do not agree on, restores',
    async load() {
      const { adminCommands } = await import('./admin.ts');
      const loaded = Object.entries(adminCommands).map(([name, command]): [string, Command] => [
        name,
        { doc: command.doc, load: async () => command },
      ]);
      return { commands: Object.fromEntries(loaded) };
    },
  },
  dev: {
    doc: 'all three for one machine, with image files as volumes or pools of your own',
    async load() {
      const { devSettings } = await import('../dev/config.ts');
      const { startDev } = await import('../dev/dev.ts');
      const start = (config: SettingsOf<typeof devSettings>): Promise<Running> =>
        startDev(config, how => failWith([how], { path: 'fairlead dev' }));
      return program('dev', { settings: devSettings, start, announce: printReady });
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

async function main(
  [name, ...argv]: readonly string[],
  level: { readonly path: string; readonly commands: Commands },
): Promise<void> {
  if (name === undefined || name === 'help' || isHelp(name)) {
    print(help(level));
    process.exitCode = name === undefined ? 1 : 0;
    return;
  }
  if (name === '--version') return print((await import('../lib/version.ts')).version);
  const command = Object.hasOwn(level.commands, name) ? level.commands[name] : undefined;
  if (!command) {
    const known = Object.keys(level.commands);
    return failWith(
      [`unknown command "${name}"${suggest(name, known)}; there are ${known.join(', ')}`],
      level,
    );
  }
  const path = `${level.path} ${name}`;
  const loaded = await command.load();
  if ('commands' in loaded) return main(argv, { path, commands: loaded.commands });
  if (argv.some(isHelp))
    return print(
      `${path}: ${command.doc}\n\nSettings, as flags or variables (a flag wins):\n\n${describeSettings(loaded.settings)}`,
    );
  const { values, faults } = readSettings(loaded.settings, { argv, env: process.env });
  if (faults) return failWith(faults, { path });
  const status = await loaded
    .run(values as never)
    .catch((error: unknown) => failWith([describeStartFault(error)], { path }));
  if (typeof status === 'number') process.exitCode = status;
}

type Startable<T extends SettingsTable> = {
  readonly settings: T;
  readonly start: (config: SettingsOf<T>, log: Log) => Promise<Running>;
  readonly announce?: (running: Running) => void;
};

/** A program that runs until it is asked to end. */
function program<T extends SettingsTable>(name: string, { settings, start, announce }: Startable<T>): Loaded {
  return {
    settings,
    async run(config: SettingsOf<T>) {
      const log = createLog(name, config['log-level'] as LogLevel);
      await runProgram({ name, log, start: () => start(config, log), ...(announce && { announce }) });
    },
  };
}

function printReady({ ready }: Running): void {
  print(JSON.stringify(ready));
}

function help({ path, commands: known }: { readonly path: string; readonly commands: Commands }): string {
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

function failWith(faults: readonly string[], { path }: { readonly path: string }): never {
  for (const fault of faults) process.stderr.write(`${path}: ${fault}\n`);
  process.exit(1);
}
