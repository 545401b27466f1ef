import { runProgram, type ProgramRun, type Running } from '../lib/lifecycle.ts';
import { createLog, writeTogether, type Log, type LogLevel } from '../lib/log.ts';
import type { SettingsOf, SettingsTable } from '../lib/settings.ts';
import type { Commands, Runnable } from './run.ts';

/** All commands. Each program is loaded only when it is asked for. */
export const commands: Commands = {
  gateway: {
    doc: 'the hosted storage API: remembers, decides, drives pools',
    async load() {
      const { gatewaySettings: settings } = await import('../../gateway/config.ts');
      const { startGateway: start } = await import('../../gateway/main.ts');
      const served = program('gateway', { settings, start });
      return {
        ...served,
        async run(config: SettingsOf<typeof settings>, io) {
          if (config.check !== 'true') return served.run(config as never, io);
          return (await import('../../gateway/configuration/check.ts')).checkGateway(config, io);
        },
      };
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
  get: {
    doc: 'lists what operators see: volumes, snapshots, attachments, nodes, pools, clusters, operations, queues, the log',
    load: async () => ({ commands: (await import('./get.ts')).getCommands }),
  },
  describe: {
    doc: 'shows one of them with all that belongs to it',
    load: async () => ({ commands: (await import('./describe.ts')).describeCommands }),
  },
  explain: {
    doc: 'says what a volume or a snapshot waits for, and what to do about it',
    load: async () => (await import('./explain.ts')).explainCommand,
  },
  top: {
    doc: 'shows what runs, what waits, and who has what, as it changes',
    load: async () => (await import('./top.ts')).topCommand,
  },
  admin: {
    doc: 'what operators do: finds and repairs what the storage and the store do not agree on, restores',
    async load() {
      const migrateStore = {
        doc: 'copies a SQLite store to PostgreSQL, and compares counts and hashes',
        load: async () => (await import('../../gateway/admin/migrate-store.ts')).migrateStoreCommand,
      };
      const backupStore = {
        doc: 'copies a SQLite store to a file, also while its gateway runs',
        load: async () => (await import('../../gateway/admin/backup-store.ts')).backupStoreCommand,
      };
      const offline = { 'backup-store': backupStore, 'migrate-store': migrateStore };
      return { commands: { ...(await import('./admin.ts')).adminCommands, ...offline } };
    },
  },
  config: {
    doc: 'contexts: each names a gateway, and the key or token that proves to it who asks',
    load: async () => ({ commands: (await import('./contexts.ts')).configCommands }),
  },
  completion: {
    doc: 'writes what completes these commands in a shell',
    load: async () => ({ commands: (await import('./completion.ts')).completionCommands(() => commands) }),
  },
  enroll: {
    doc: "makes a cluster's key, the values of its Helm release, and its entry in the gateway's configuration",
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
        startDev(config, how => {
          process.stderr.write(`fairlead dev: ${how}\n`);
          process.exit(1);
        });
      return program('dev', { settings, start, announce });
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

/** For whoever started it: where it is reached. */
function announce({ ready }: Running): void {
  process.stdout.write(`${JSON.stringify(ready)}\n`);
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
      const log = createLog(name, config['log-level'] as LogLevel, writeTogether());
      await runProgram({ ...more, name, log, start: () => start(config, log) });
    },
  };
}
