import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { Backend } from '../../../gateway/backend.ts';
import { backends } from '../../../gateway/backends/index.ts';
import { gatewaySettings } from '../../../gateway/config.ts';
import { startGateway, type GatewayOptions } from '../../../gateway/main.ts';
import { createClient, type StorageClient } from '../../../src/api/client.ts';
import type { Call } from '../../../src/api/http.ts';
import type { Volume, VolumeSpec } from '../../../src/api/volume.ts';
import type { Log } from '../../../src/lib/log.ts';
import type { Rule } from '../../fakes/faulty-backend/rules.ts';
import { settingsOf, startProgram, type Flags, type ProcessOptions } from '../program.ts';
import { storeIn } from '../stores/store-in.ts';
import { splitId, volumeSpec } from './cluster-calls.ts';
import { createMemoryLog, openMemory, temporaryDirectory, type CleanupScope } from '../gateway.ts';
import { signerOf, type Signer } from './signers.ts';

type Entries = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The content of a gateway's configuration file. */
type GatewayFile = {
  /** By default `one` in memory; `images` stands for a pool of image files that survive the gateway. */
  readonly pools?: Entries | 'images';
  /** By default `a` and `b`. A cluster without keys gets the keys of its signer. */
  readonly clusters?: Entries;
};

/** The options of a gateway that runs in this process, or in one of its own. */
export type GatewayRun = GatewayFile &
  Omit<GatewayOptions, 'env'> & {
    /** By default a new one. A configuration that is in it stays unless this run has pools or clusters. */
    readonly directory?: string;
    readonly flags?: Flags;
    readonly log?: Log;
    /** Members of the storage of pools of the backend `own`, in place of those of a memory. */
    readonly own?: Partial<Backend>;
    /** Runs `fairlead gateway` in a process of its own. */
    readonly process?: ProcessOptions;
    /** Runs it in a process of its own, with these faults and a journal of the storage's calls. */
    readonly faults?: readonly Rule[];
  };

/** A gateway that serves HTTP; it ends with the test. */
export type RunningGateway = {
  readonly url: string;
  /** All its addresses. */
  readonly ready: Readonly<Record<string, string>>;
  readonly directory: string;
  /** The store, as a value of `--store`. */
  readonly store: string;
  readonly pid: number;
  /** Its exit status or signal, if it has a process of its own. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Its log, if it runs in this process and is given no other. */
  readonly logLines: readonly string[];
  readonly signers: Readonly<Record<'a' | 'b' | 'operators', Signer>>;
  /** A client of cluster `a`, which closes with the test. */
  readonly client: StorageClient;
  /** Creates a volume for the cluster that its id begins with, as `openGateway` does. */
  create(id: string, spec?: Partial<VolumeSpec>): Promise<Volume>;
  /** Opens a client of another cluster. */
  clientOf(cluster: string): StorageClient;
  /** Ends it, or its process by this signal. */
  end(signal?: NodeJS.Signals): Promise<void>;
};

/** Starts a gateway from its settings: its program, with all its files in a directory. */
export async function runGateway(t: CleanupScope, run: GatewayRun = {}): Promise<RunningGateway> {
  const directory = await prepareGateway(t, run, run.directory);
  const store = await storeIn(directory);
  const flags = {
    listen: '127.0.0.1:0',
    config: join(directory, 'gateway.yaml'),
    store,
    ...((run.process ?? run.faults) && { 'claim-lease': '1s', 'log-level': 'error' }),
    ...run.flags,
  };
  const memory = createMemoryLog();
  const { end, ready, ...rest } = await start(
    { ...run, ...(run.own && pluginsOf(run.own)), log: run.log ?? memory.log, flags },
    directory,
  );
  t.after(() => end('SIGKILL'));
  const { gateway: url = '' } = ready;
  const clientOf = (cluster: string): StorageClient => {
    const client = createClient({ url, token: async () => (await signerOf(cluster)).sign() });
    t.after(() => client.close());
    return client;
  };
  const client = clientOf('a');
  const [a, b, operators] = await Promise.all([signerOf('a'), signerOf('b'), signerOf('operators')]);
  return {
    ...rest,
    url,
    ready,
    directory,
    store,
    logLines: memory.lines,
    signers: { a, b, operators },
    client,
    create(id, spec) {
      const { owner, name } = splitId(id);
      const by = owner === 'a' ? client : clientOf(owner);
      return by.createVolume({ volumeId: id, body: volumeSpec(name, spec) }, callWithin());
    },
    clientOf,
    end,
  };
}

/** Makes a call with this timeout. */
export function callWithin(ms = 60_000): Call {
  return { deadlineMs: Date.now() + ms };
}

function pluginsOf(own: Partial<Backend>): Pick<GatewayRun, 'plugins'> {
  const open = async () => ({ ...(await openMemory()), ...own });
  return { plugins: { ...backends, own: { settings: z.strictObject({}), open } } };
}

/** Writes a gateway's configuration and the keys of its callers; returns the directory. */
export async function prepareGateway(
  t: CleanupScope,
  { pools, clusters }: GatewayFile = {},
  directory = temporaryDirectory(t),
): Promise<string> {
  const at = (name: string): string => join(directory, name);
  if (!pools && !clusters && existsSync(at('gateway.yaml'))) return directory;
  mkdirSync(directory, { recursive: true });
  const keysOf = async (name: string): Promise<{ readonly keys: string }> => {
    const { publicJwk } = await signerOf(name);
    writeFileSync(at(`${name}.jwks.json`), JSON.stringify({ keys: [publicJwk] }));
    return { keys: `${name}.jwks.json` };
  };
  if (pools === 'images') mkdirSync(at('images'), { recursive: true });
  const images = { backend: 'image', dir: at('images'), capacity: '1Ti', topology: { zone: 'a' } };
  const callers = Object.entries(clusters ?? { a: {}, b: {} }).map(async ([name, entry]) => [
    name,
    'keys' in entry || 'serviceAccount' in entry ? entry : { ...(await keysOf(name)), ...entry },
  ]);
  const file = {
    pools: pools === 'images' ? { images } : (pools ?? { one: { backend: 'memory' } }),
    clusters: Object.fromEntries(await Promise.all(callers)) as Entries,
    operators: await keysOf('operators'),
  };
  writeFileSync(at('gateway.yaml'), JSON.stringify(file));
  return directory;
}

type GatewayProcess = Pick<RunningGateway, 'ready' | 'pid' | 'ended' | 'end'>;

async function start(
  {
    log,
    flags,
    faults,
    process: options,
    ...given
  }: GatewayRun & { readonly log: Log; readonly flags: Flags },
  directory: string,
): Promise<GatewayProcess> {
  if (options || faults) {
    const faulty = {
      node: [join(import.meta.dirname, '../../fakes/faulty-backend/gateway.ts')],
      env: { FAULT_RULES: JSON.stringify(faults), FAULT_JOURNAL: join(directory, 'journal') },
    };
    const program = startProgram('gateway', flags, { ...(faults && faulty), ...options });
    return { ...program, ready: await program.ready };
  }
  const running = await startGateway(settingsOf(gatewaySettings, flags), log, given);
  let closed: Promise<void> | undefined;
  const end = (): Promise<void> => (closed ??= running.close());
  return { ready: running.ready, pid: process.pid, ended: new Promise(() => {}), end };
}
