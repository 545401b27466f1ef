import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { StorageClient } from '../../src/api/client.ts';
import type { Call } from '../../src/api/http.ts';
import type { ProblemCode } from '../../src/api/problem.ts';
import { features, type Capabilities } from '../../src/api/storage.ts';
import { controllerSettings } from '../../src/controller/config.ts';
import { startController } from '../../src/controller/main.ts';
import { createController } from '../../src/controller/controller.ts';
import { createGroupController } from '../../src/controller/group-controller.ts';
import { createSnapshotMetadata } from '../../src/controller/snapshot-metadata.ts';
import type { CsiClient } from '../../src/csi/client.ts';
import { advertisedByDefault, type AdvertisedCapabilities } from '../../src/csi/identity.ts';
import { poll } from '../../src/lib/concurrency.ts';
import { clientOf, serveCsi } from './csi-serving.ts';
import { createMemoryLog } from './gateway.ts';
import { signerOf } from './gateway/signers.ts';
import { settingsOf, type Flags } from './program.ts';
import { temporaryDirectory, temporaryFile, type CleanupScope } from './temporary.ts';
import { sampleGroup, sampleSnapshot, sampleVolume } from '../fakes/storage-api.ts';

const pool = {
  accessModes: ['SINGLE_NODE_WRITER'],
  accessTypes: ['mount', 'block'],
  features: ['capacity'],
} satisfies Partial<Capabilities>;
/** The capabilities of a minimal storage. */
export const offered: Capabilities = {
  version: '1',
  ...pool,
  pools: [{ name: 'fast', backend: 'image', ...pool }],
};

/** The capabilities of a storage with all features, the default of tests. */
export const everything: Capabilities = { ...offered, features: [...features] };

/** A call of the Storage API: the operation, and its input without the call. */
type ApiCall = readonly [name: string, input: Readonly<Record<string, unknown>>];

/** A controller of cluster "a" on a socket, and its requests to the API. */
type OpenController = {
  readonly csi: CsiClient;
  readonly asked: readonly ApiCall[];
  readonly socketPath: string;
};

/** Serves a controller in front of a client that is a plain object; `client` overrides answers. */
export async function openController(
  t: CleanupScope,
  client: Partial<StorageClient> = {},
  storage: Capabilities & { readonly advertised?: AdvertisedCapabilities } = everything,
): Promise<OpenController> {
  const asked: ApiCall[] = [];
  const answers = Object.entries({ ...calmClient(), ...client });
  const recording = answers.map(([name, answer]) => [
    name,
    (input: ApiCall[1], call: Call): unknown => {
      // The input as it goes over the wire.
      asked.push([name, JSON.parse(JSON.stringify(input)) as ApiCall[1]]);
      return (answer as (...given: unknown[]) => unknown)(input, call);
    },
  ]);
  const options = {
    client: Object.fromEntries(recording) as StorageClient,
    capabilities: { get: () => storage, isKnown: () => true, close() {} },
    cluster: 'a',
    advertised: storage.advertised ?? advertisedByDefault,
  };
  const { csi, socketPath } = await serveCsi(t, {
    controller: createController(options),
    groups: createGroupController(options),
    metadata: createSnapshotMetadata(options),
  });
  return { csi, asked, socketPath };
}

/** A controller that runs in this process, with a client of its socket. */
export type RunningController = {
  readonly csi: CsiClient;
  readonly socketPath: string;
  readonly ready: Readonly<Record<string, string>>;
  readonly logLines: readonly string[];
  untilReady(): Promise<void>;
  close(): Promise<void>;
};

/** Starts the program with these settings, by default with the key of cluster `a`; it ends with the test. */
export async function runController(t: CleanupScope, flags: Flags): Promise<RunningController> {
  const socketPath = join(temporaryDirectory(t), 'csi.sock');
  const keyFile = 'token-file' in flags || temporaryFile(t, (await signerOf('a')).privateJwk);
  const { log, lines } = createMemoryLog();
  const given = {
    endpoint: `unix://${socketPath}`,
    cluster: 'a',
    ...(keyFile !== true && { 'key-file': keyFile }),
  };
  const running = await startController(settingsOf(controllerSettings, { ...given, ...flags }), log);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= running.close());
  t.after(close);
  const csi = clientOf(t, socketPath);
  const look = async () => (await csi.identity.Probe({})).ready?.value || undefined;
  return {
    csi,
    socketPath,
    ready: running.ready,
    logLines: lines,
    async untilReady() {
      assert.ok(await poll(look, { everyMs: 20, timeoutMs: 60_000 }), 'it never became ready');
    },
    close,
  };
}

/** Calls an RPC by its name; returns a stream as a list, and everything as plain data. */
export async function callRpc({ csi }: OpenController, rpc: string, request: object): Promise<unknown> {
  const rpcs = { ...csi.controller, ...csi.groupController, ...csi.snapshotMetadata };
  // Each RPC has its own types, and a row of a test only its name.
  const call = (rpcs as unknown as Record<string, ((request: object) => unknown) | undefined>)[rpc];
  const answer = call?.(request) ?? assert.fail(`${rpc} is no RPC`);
  const whole = answer instanceof Promise ? answer : Array.fromAsync(answer as AsyncIterable<unknown>);
  return JSON.parse(JSON.stringify(await whole));
}

/** A request, the expected request to the API, and a part of the answer or the error's code. */
export type Row = {
  readonly request: object;
  /** The API's answers that differ from success. */
  readonly api?: Partial<StorageClient>;
  readonly asked?: readonly ApiCall[];
  readonly answer?: object;
  readonly error?: { readonly code: ProblemCode; readonly detail?: RegExp };
};

/** Declares a test for each row; its title begins with the RPC. */
export function testRows(rows: Readonly<Record<string, Row>>): void {
  for (const [title, { request, api, asked, answer, error }] of Object.entries(rows))
    test(title, async t => {
      const served = await openController(t, api);
      const [rpc = ''] = title.split(' ');
      const work = callRpc(served, rpc, request);
      if (error) await assert.rejects(work, error);
      else assert.partialDeepStrictEqual(await work, answer ?? {});
      if (asked) assert.deepEqual(served.asked, asked);
    });
}

/** The attachment of a volume. */
export const attachment = {
  protocol: 'loop',
  attachmentId: 'x1',
  sizeBytes: 1_048_576,
  readonly: false,
  mayFormat: true,
  path: '/images/a.pvc-1',
} as const;

/** Makes a client that answers every call with success. */
function calmClient(): Partial<StorageClient> {
  return {
    getCapacity: async () => ({ availableBytes: 10, maximumVolumeBytes: 5, minimumVolumeBytes: 1 }),
    createVolume: async ({ volumeId: id, body: { name } }) => sampleVolume({ id, name, context: { k: 'v' } }),
    getVolume: async ({ volumeId: id }) => sampleVolume({ id }),
    listVolumes: async () => ({ volumes: [] }),
    deleteVolume: async () => {},
    validateVolume: async () => ({ confirmed: true }),
    attachVolume: async ({ volumeId, nodeId }) => ({
      volumeId,
      nodeId,
      state: 'attached',
      readonly: false,
      attachment,
    }),
    detachVolume: async () => {},
    detachVolumeFromAllNodes: async () => {},
    expandVolume: async ({ volumeId: id, body: { requiredBytes = 0 } }) =>
      sampleVolume({ id, sizeBytes: requiredBytes, nodeExpansionRequired: true }),
    modifyVolume: async ({ volumeId: id, body }) => sampleVolume({ id, ...body }),
    getVolumeHealth: async ({ volumeId }) => ({ volumeId, entries: [] }),
    listVolumeHealth: async () => ({ volumes: [] }),
    createSnapshot: async ({ snapshotId: id, body: { name, volumeId } }) =>
      sampleSnapshot({ id, name, volumeId }),
    getSnapshot: async ({ snapshotId: id }) => sampleSnapshot({ id }),
    listSnapshots: async () => ({ snapshots: [] }),
    deleteSnapshot: async () => {},
    createGroup: async ({ groupId: id, body: { name } }) => sampleGroup({ id, name }),
    getGroup: async ({ groupId: id }) => sampleGroup({ id }),
    deleteGroup: async () => {},
    listBlocks: async () => ({ sizeBytes: 1_048_576, blocks: [] }),
  };
}
