import { describeStartFault, runProgram, type Running } from '../lib/lifecycle.ts';
import { createLog, type Log, type LogLevel } from '../lib/log.ts';
import {
  describeSettings,
  readSettings,
  type Setting,
  type SettingsOf,
  type SettingsSource,
  type SettingsTable,
} from '../lib/settings.ts';
import type { GatewayConfig } from '../../gateway/config.ts';
import type { DevConfig } from '../dev/config.ts';

/** One program of the command line, loaded only when it is asked for. */
type Program = { readonly doc: string; readonly load: () => Promise<Loaded> };

type Loaded = {
  readonly settings: SettingsTable;
  /** Told in place of the settings alone. */
  readonly help?: string;
  run(argv: readonly string[]): Promise<void>;
};

const programs: Readonly<Record<string, Program>> = {
  gateway: { doc: 'the hosted storage API: remembers, decides, drives a backend', load: loadGateway },
  controller: {
    doc: 'CSI Identity and Controller for one cluster, translated into storage API calls',
    load: loadController,
  },
  node: { doc: 'CSI Identity and Node for this machine: attaches, formats, mounts', load: loadNode },
  admin: { doc: 'finds what the store and the storage do not agree on, repairs, restores', load: loadAdmin },
  dev: { doc: 'all three for one machine, with image files as volumes', load: loadDev },
  demo: { doc: "walks a volume's whole life on this machine and proves it (root)", load: loadDemo },
};

await main(process.argv.slice(2));

async function main([name, ...argv]: readonly string[]): Promise<void> {
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') {
    process.stdout.write(help());
    process.exitCode = name === undefined ? 1 : 0;
    return;
  }
  if (name === '--version') {
    const { version } = await import('../lib/version.ts');
    process.stdout.write(`${version}\n`);
    return;
  }
  const program = Object.hasOwn(programs, name) ? programs[name] : undefined;
  if (!program)
    failWith([`unknown program "${name}"; there are ${Object.keys(programs).join(', ')}`], 'fairlead');
  const { settings, help: text, run } = await program.load();
  if (argv.includes('--help') || argv.includes('-h')) {
    process.stdout.write(
      text ??
        `fairlead ${name}: ${program.doc}\n\nSettings, as flags or variables (a flag wins):\n\n${describeSettings(settings)}\n`,
    );
    return;
  }
  await run(argv);
}

function help(): string {
  const width = Math.max(...Object.keys(programs).map(name => name.length));
  const list = Object.entries(programs).map(([name, { doc }]) => `  ${name.padEnd(width)}  ${doc}`);
  return `Fairlead, a remote CSI gateway.\n\nUsage: fairlead <program> [--flag value …]\n\n${list.join('\n')}\n\nfairlead <program> --help lists its settings.\n`;
}

function failWith(faults: readonly string[], name: string): never {
  for (const fault of faults) process.stderr.write(`${name}: ${fault}\n`);
  process.exit(1);
}

type Startable<Config> = {
  readonly name: string;
  readonly settings: SettingsTable;
  readonly read: (source: SettingsSource) => ConfigResult<Config>;
  readonly start: (config: Config, log: Log) => Promise<Running>;
  readonly announce?: (running: Running) => void;
};

type ConfigResult<Config> =
  | { readonly config: Config; readonly logLevel: LogLevel; readonly faults?: never }
  | { readonly config?: never; readonly faults: readonly string[] };

/** A program that runs until it is told to end. */
function service<Config>({ name, settings, read, start, announce }: Startable<Config>): Loaded {
  return {
    settings,
    async run(argv) {
      const result = read({ argv, env: process.env });
      if (result.faults) failWith(result.faults, `fairlead ${name}`);
      const log = createLog(name, result.logLevel);
      const { config } = result;
      await runProgram({ name, log, start: () => start(config, log), ...(announce && { announce }) });
    },
  };
}

/** Reads a table whose values are the program's config as they are. */
function readTable<T extends SettingsTable & { readonly 'log-level': Setting<LogLevel> }>(
  table: T,
): (source: SettingsSource) => ConfigResult<SettingsOf<T>> {
  return source => {
    const { values, faults } = readSettings(table, source);
    return faults ? { faults } : { config: values, logLevel: values['log-level'] as LogLevel };
  };
}

async function loadGateway(): Promise<Loaded> {
  const [{ gatewaySettings, readGatewayConfig }, { startGateway }] = await Promise.all([
    import('../../gateway/config.ts'),
    import('../../gateway/main.ts'),
  ]);
  const read = (source: SettingsSource): ConfigResult<GatewayConfig> => {
    const { config, faults } = readGatewayConfig(source);
    return faults ? { faults } : { config, logLevel: config.logLevel };
  };
  return service({ name: 'gateway', settings: gatewaySettings, read, start: startGateway });
}

async function loadController(): Promise<Loaded> {
  const [{ controllerSettings }, { startController }] = await Promise.all([
    import('../controller/config.ts'),
    import('../controller/main.ts'),
  ]);
  return service({
    name: 'controller',
    settings: controllerSettings,
    read: readTable(controllerSettings),
    start: startController,
  });
}

async function loadNode(): Promise<Loaded> {
  const { nodeSettings } = await import('../../node-agent/config.ts');
  const { startNodeAgent } = await import('../../node-agent/main.ts');
  return service({
    name: 'node',
    settings: nodeSettings,
    read: readTable(nodeSettings),
    start: startNodeAgent,
  });
}

async function loadAdmin(): Promise<Loaded> {
  const [{ adminSettings, readAdminConfig }, { describeAdmin, runAdmin }] = await Promise.all([
    import('../../gateway/admin/config.ts'),
    import('../../gateway/admin/command.ts'),
  ]);
  return {
    settings: adminSettings,
    help: describeAdmin(),
    async run(argv) {
      const { config, faults } = readAdminConfig({ argv, env: process.env });
      if (faults) failWith(faults, 'fairlead admin');
      try {
        const { text, status } = await runAdmin(config, createLog('admin', config.gateway.logLevel));
        process.stdout.write(text);
        process.exitCode = status;
      } catch (error) {
        failWith([describeStartFault(error)], 'fairlead admin');
      }
    },
  };
}

async function loadDev(): Promise<Loaded> {
  const [{ devSettings }, { startDev }] = await Promise.all([
    import('../dev/config.ts'),
    import('../dev/dev.ts'),
  ]);
  const start = (config: DevConfig): Promise<Running> => startDev(config, failDev);
  return service({
    name: 'dev',
    settings: devSettings,
    read: readTable(devSettings),
    start,
    announce: printReady,
  });
}

function failDev(how: string): never {
  failWith([how], 'fairlead dev');
}

function printReady({ ready }: Running): void {
  process.stdout.write(`${JSON.stringify(ready)}\n`);
}

async function loadDemo(): Promise<Loaded> {
  const { demoSettings, runDemo } = await import('../dev/demo.ts');
  return {
    settings: demoSettings,
    async run(argv) {
      const { values, faults } = readSettings(demoSettings, { argv, env: process.env });
      if (faults) failWith(faults, 'fairlead demo');
      process.exitCode = await runDemo(values);
    },
  };
}
