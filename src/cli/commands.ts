import { runProgram, type ProgramRun, type RunningProgram } from '../lib/lifecycle.ts';
import { createLog, writeTogether, type Log, type LogFormat, type LogLevel } from '../lib/log.ts';
import type { SettingsOf, SettingsTable } from '../lib/settings.ts';
import type { Commands, Runnable } from './run.ts';

/** All commands. The code of each is loaded when it is called. */
export const commands: Commands = {
  gateway: {
    doc: 'runs the gateway: the hosted storage API, which keeps the records and drives the pools',
    examples: [
      'fairlead gateway --check --config /etc/fairlead/gateway.yaml --store /var/lib/fairlead/store.sqlite',
    ],
    async load() {
      const { gatewaySettings: settings } = await import('../../gateway/config.ts');
      const { startGateway } = await import('../../gateway/main.ts');
      type Config = SettingsOf<typeof settings>;
      return {
        settings,
        findFaults: async (sound: Partial<Config>) => (await loadPreflight()).findGatewayFaults(sound),
        async run(config: Config, io) {
          if (config.check) return (await loadPreflight()).checkGateway(config, io);
          const start = (own: Config, log: Log) =>
            startGateway(own, log).catch(async (error: unknown) =>
              (await loadPreflight()).throwAllFaults(own, error, io.notices),
            );
          return program('gateway', { settings, start }).run(config as never, io);
        },
      };
    },
  },
  controller: {
    doc: 'runs the CSI controller of one cluster, which calls the storage API',
    async load() {
      const { controllerSettings: settings } = await import('../controller/config.ts');
      const { startController: start } = await import('../controller/main.ts');
      return program('controller', { settings, start });
    },
  },
  node: {
    doc: 'runs the CSI node agent of this machine, which attaches, formats and mounts volumes',
    async load() {
      const { nodeSettings: settings } = await import('../../node-agent/config.ts');
      const { startNodeAgent: start } = await import('../../node-agent/main.ts');
      return program('node', { settings, start });
    },
  },
  bridge: {
    doc: 'makes an existing CSI driver a storage for a gateway: serves the vendor API over its controller plugin',
    examples: [
      'fairlead bridge --csi-endpoint unix:///csi/csi.sock --dir /var/lib/fairlead-bridge --token-file /etc/fairlead/bridge.token',
    ],
    async load() {
      const { bridgeSettings: settings } = await import('../bridge/config.ts');
      const { startBridge: start } = await import('../bridge/main.ts');
      return program('bridge', { settings, start });
    },
  },
  status: {
    doc: 'says whether everything works, and what needs attention',
    examples: ['fairlead status', 'fairlead status --output json'],
    load: async () => (await import('./commands/status.ts')).statusCommand,
  },
  get: {
    doc: 'lists volumes, snapshots, attachments, nodes, pools, clusters, operations, queues, the audit log or the last 24 hours',
    examples: [
      'fairlead get volumes                              # of all clusters',
      'fairlead get volumes --cluster east --sort-by -size -o wide',
      'fairlead get volumes -l pool=fast,state!=ready',
      'fairlead get volumes -o custom-columns=id,BYTES:.sizeBytes',
      'fairlead get volumes -o csv > volumes.csv',
      'fairlead get attachments east.pvc-1 -o json',
      'fairlead get operations --watch',
      'fairlead get audit-log east.pvc-1 --since 24h',
      'fairlead get history fast --since 1h',
      'fairlead get volumes --cluster east -o name --no-headers | xargs -n 1 fairlead explain',
    ],
    load: async () => ({ commands: (await import('./commands/get.ts')).getCommands }),
  },
  describe: {
    doc: 'shows one volume, snapshot, attachment, node, pool or cluster, and everything related to it',
    examples: ['fairlead describe volume east.pvc-1'],
    load: async () => ({ commands: (await import('./commands/describe.ts')).describeCommands }),
  },
  explain: {
    doc: 'says why a volume or snapshot is not ready, and how to mend it',
    examples: ['fairlead explain east.pvc-1                       # the reason why it waits'],
    load: async () => (await import('./commands/explain.ts')).explainCommand,
  },
  top: {
    doc: 'shows running operations, queues, pools and clusters, refreshed at each change',
    examples: ['fairlead top'],
    load: async () => (await import('./commands/top.ts')).topCommand,
  },
  console: {
    doc: 'prints a link that opens the console of the gateway in a browser',
    examples: ['fairlead console'],
    load: async () => (await import('./commands/console.ts')).consoleCommand,
  },
  admin: {
    doc: 'detaches, deletes, restores, shares, transfers and imports volumes, deletes snapshots, drains pools, retires clusters, checks and repairs storage against the store',
    examples: [
      'fairlead admin detach east.pvc-1 node-7 --dry-run',
      'fairlead admin delete-snapshot east.snap-1 --dry-run',
      'fairlead admin drain fast --dry-run',
      'fairlead admin retire-cluster east --snapshots delete --dry-run',
    ],
    async load() {
      const migrateStore = {
        doc: 'copies a SQLite store to PostgreSQL, then compares row counts and hashes',
        load: async () => (await import('../../gateway/admin/migrate-store.ts')).migrateStoreCommand,
      };
      const backupStore = {
        doc: 'copies a SQLite store to a file; the gateway may be running',
        load: async () => (await import('../../gateway/admin/backup-store.ts')).backupStoreCommand,
      };
      const offline = { 'backup-store': backupStore, 'migrate-store': migrateStore };
      return { commands: { ...(await import('./commands/admin.ts')).adminCommands, ...offline } };
    },
  },
  config: {
    doc: 'manages contexts: the address of a gateway and the credentials for it, under a name',
    examples: [
      'fairlead config set-context prod --gateway https://storage.example --key-file operator.jwk.json',
      'fairlead config use-context prod',
    ],
    load: async () => ({ commands: (await import('./commands/contexts.ts')).configCommands }),
  },
  completion: {
    doc: 'prints a completion script for a shell',
    examples: ['source <(fairlead completion bash)'],
    load: async () => ({
      commands: (await import('./commands/completion.ts')).completionCommands(() => commands),
    }),
  },
  version: {
    doc: 'shows the version of this command line and of the gateway',
    load: async () => (await import('./commands/version.ts')).versionCommand,
  },
  enroll: {
    doc: "creates a cluster's key, the values of its Helm release, and its entry for gateway.yaml",
    examples: ['fairlead enroll east --gateway https://storage.example --dir /etc/fairlead'],
    load: async () => (await import('./commands/enroll.ts')).enrollCommand,
  },
  init: {
    doc: 'creates a new project from a template',
    examples: ['fairlead init vendor /srv/acme --lang go'],
    load: async () => ({ commands: (await import('./commands/init.ts')).initCommands }),
  },
  verify: {
    doc: "tests whether a storage vendor's server keeps the contract, faults included",
    examples: ['fairlead verify http://127.0.0.1:8080 --token first --only FL-2.1-1'],
    load: async () => (await import('../kit/verify.ts')).verifyCommand,
  },
  dev: {
    doc: 'runs gateway, controller and node agent on this machine, with image files as volumes or your own pools',
    examples: ['fairlead dev --dir /var/lib/fairlead-dev'],
    async load() {
      const { devSettings: settings } = await import('../dev/config.ts');
      const { startDev } = await import('../dev/dev.ts');
      const { createDevRun } = await import('./dev.ts');
      const run = createDevRun((config: SettingsOf<typeof settings>, options) =>
        startDev(config, { ...options, findFaults: findConfigurationFaults }),
      );
      return program('dev', { settings, ...run });
    },
  },
  demo: {
    doc: "plays a volume's whole life on this machine and checks each step (needs root)",
    examples: ['fairlead demo --dir /var/lib/fairlead-dev'],
    async load() {
      const { demoSettings, runDemo } = await import('../dev/demo.ts');
      return { settings: demoSettings, run: runDemo };
    },
  },
};

function loadPreflight() {
  return import('../../gateway/preflight.ts');
}

async function findConfigurationFaults(path: string, packagesFrom?: string): Promise<readonly string[]> {
  return (await loadPreflight()).findConfigurationFaults(path, packagesFrom);
}

type Program<T extends SettingsTable> = Pick<ProgramRun, 'announce'> & {
  readonly settings: T;
  readonly start: (config: SettingsOf<T>, log: Log) => Promise<RunningProgram>;
};

/** Makes the command of a program, which runs until a signal ends it. */
function program<T extends SettingsTable>(name: string, { settings, start, ...more }: Program<T>): Runnable {
  return {
    settings,
    async run(config: SettingsOf<T>) {
      const format = config['log-format'] as LogFormat | undefined;
      const log = createLog(name, config['log-level'] as LogLevel, { write: writeTogether(), format });
      await runProgram({ ...more, name, log, settings: config, start: () => start(config, log) });
    },
  };
}
