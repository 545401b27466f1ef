import { describeSettings, readSettings, type SettingsOf, type SettingsTable } from '../lib/settings.ts';
import { runProgram, type Running } from '../lib/lifecycle.ts';
import { createLog, type Log, type LogLevel } from '../lib/log.ts';
import { suggest } from '../lib/nearest.ts';

/** One command, loaded only when it is asked for. */
type Command = {
  readonly doc: string;
  readonly load: () => Promise<Loaded>;
};

/** `run` gets the settings, read and checked, and returns the exit status, or nothing when it goes on. */
type Loaded = {
  readonly settings: SettingsTable;
  readonly run: (values: never) => Promise<number | void>;
};

const commands: Readonly<Record<string, Command>> = {
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
  dev: {
    doc: 'all three for one machine, with image files as volumes or pools of your own',
    async load() {
      const { devSettings } = await import('../dev/config.ts');
      const { startDev } = await import('../dev/dev.ts');
      const start = (config: SettingsOf<typeof devSettings>): Promise<Running> =>
        startDev(config, how => failWith([how], 'dev'));
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

await main(process.argv.slice(2));

async function main([name, ...argv]: readonly string[]): Promise<void> {
  if (name === undefined || name === 'help' || isHelp(name)) {
    print(help());
    process.exitCode = name === undefined ? 1 : 0;
    return;
  }
  if (name === '--version') return print((await import('../lib/version.ts')).version);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command) {
    const known = Object.keys(commands);
    return failWith([`unknown command "${name}"${suggest(name, known)}; there are ${known.join(', ')}`]);
  }
  const { settings, run } = await command.load();
  if (argv.some(isHelp))
    return print(
      `fairlead ${name}: ${command.doc}\n\nSettings, as flags or variables (a flag wins):\n\n${describeSettings(settings)}`,
    );
  const { values, faults } = readSettings(settings, { argv, env: process.env });
  if (faults) return failWith(faults, name);
  const status = await run(values as never);
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

function help(): string {
  const width = Math.max(...Object.keys(commands).map(name => name.length));
  const list = Object.entries(commands).map(([name, { doc }]) => `  ${name.padEnd(width)}  ${doc}`);
  return `Fairlead, a remote CSI gateway.\n\nUsage: fairlead <command> [--flag value …]\n\n${list.join('\n')}\n\nfairlead <command> --help lists its settings.`;
}

function isHelp(word: string): boolean {
  return word === '--help' || word === '-h';
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function failWith(faults: readonly string[], name?: string): never {
  const who = name === undefined ? 'fairlead' : `fairlead ${name}`;
  for (const fault of faults) process.stderr.write(`${who}: ${fault}\n`);
  process.exit(1);
}
