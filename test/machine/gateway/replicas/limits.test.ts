import assert from 'node:assert/strict';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import type { Quota } from '../../../../gateway/callers/cluster.ts';
import { isId } from '../../../../gateway/local/files.ts';
import type { Engine, Sql } from '../../../../gateway/store.ts';
import { openPostgres } from '../../../../gateway/stores/postgres.ts';
import { moveReservation, readUsage } from '../../../../gateway/tables/reservations.ts';
import { asProblem, type Problem } from '../../../../src/api/problem.ts';
import type { VolumeSpec } from '../../../../src/api/volume.ts';
import type { Call } from '../../../../src/api/http.ts';
import { clusters, openGateway, openMemory, volumeSpec, type Gateway } from '../../../harness/gateway.ts';
import { runGateway, type GatewayRun } from '../../../harness/gateway/program.ts';
import { memoryDirectory } from '../../../harness/model/run.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { isFull, sample } from '../../../harness/sample.ts';
import { untilFinal } from '../process.ts';

const server = sharePostgres();

const mebibyte = 2 ** 20;
/** The limit of bytes, and the bytes of a volume that exists before the race. */
const [maxBytes, usedBytes] = [4_096 * mebibyte, 3_500 * mebibyte];
/** The limit of volumes, and the number of volumes that exist before the race. */
const [maxVolumes, usedVolumes] = [300, 260];
const gatewayCount = 3;
/** The creates in flight, the creates of a round, and the number of rounds. */
const [inFlight, roundSize, rounds] = isFull ? [96, 200, 14] : [96, 120, 2];

/** The time of a create with its repetitions, in milliseconds: 96 of them may compute on one busy processor. */
const patienceMs = 600_000;

/** Sizes in mebibytes. 16 is the largest one that a transaction with a share may add. */
const sizes = [1, 2, 3, 5, 16, 17, 40];

/** A limit, and the usage before the race. */
type Limit = Used & { readonly what: string; readonly totalBytes: number; readonly quota?: Quota };
type Used = { readonly bytes: number; readonly volumes: number };

const mostBytes: Used = { bytes: usedBytes, volumes: 1 };
const mostVolumes: Used = { bytes: usedVolumes * mebibyte, volumes: usedVolumes };
const unlimited = 2 ** 50;
const all: readonly Limit[] = [
  { what: 'the capacity of a pool', totalBytes: maxBytes, ...mostBytes },
  { what: 'a quota of bytes', totalBytes: unlimited, quota: { bytes: maxBytes }, ...mostBytes },
  {
    what: 'a quota of bytes in a pool',
    totalBytes: unlimited,
    quota: { pools: { main: { bytes: maxBytes } } },
    ...mostBytes,
  },
  { what: 'a quota of volumes', totalBytes: unlimited, quota: { volumes: maxVolumes }, ...mostVolumes },
];

/** Gateways on one store and one storage. */
type Fleet = {
  readonly gateways: readonly {
    create(id: string, spec: VolumeSpec, call: Call): Promise<unknown>;
    delete(id: string, call: Call): Promise<unknown>;
  }[];
  readonly engine: Engine;
  /** Lists the ids of the volumes in the storage. */
  listStored(): Promise<readonly string[]>;
};

/** The size of a requested volume, and the refusal if there was one. */
type Outcome = { readonly bytes: number; readonly problem: Problem | undefined };
/** The usage after the race, the largest usage of the storage meanwhile, and the outcome of each create. */
type Race = Used & { readonly peak: Used; readonly outcomes: readonly Outcome[] };

for (const limit of sample('limits', all, 1))
  test(
    `creates by ${gatewayCount} processes near the end of ${limit.what} get all of it and not more`,
    { skip },
    async t => {
      const race = await prepare(limit, await startProcesses(t, limit));
      for (let round = 0; round < rounds; round++) {
        const deletes = round % 2 === 1;
        const ended = await race({ round, deletes });
        for (const used of [ended, ended.peak]) assert.ok(overrunOf(limit, used) <= 0, JSON.stringify(ended));
        assertRefusals(limit, ended, deletes);
      }
      t.diagnostic(`${rounds * roundSize} creates`);
    },
  );

const without = {
  'without locks': { lock: async () => {}, share: async () => {} },
  'with shares alone': { lock: async () => {} },
};
for (const [what, changes] of Object.entries(without))
  test(`${what}, the same creates get more than there is`, { skip }, async t => {
    for (const limit of sample(what, all, 1)) {
      const race = await prepare(limit, await openWeakened(t, limit, changes));
      let over = 0;
      for (let round = 0; over <= 0 && round < 5; round++)
        over = overrunOf(limit, (await race({ round })).peak);
      assert.ok(over > 0, limit.what);
    }
  });

/** Starts `fairlead gateway` in several processes, which share a directory of volumes. */
async function startProcesses(t: TestContext, { totalBytes, quota }: Limit): Promise<Fleet> {
  const urlFile = await (await server()).createDatabase();
  const directory = memoryDirectory(t);
  const root = join(directory, 'volumes');
  mkdirSync(root);
  const run: GatewayRun = {
    directory,
    pools: { main: { backend: 'dir', dir: root, capacity: totalBytes, nfs: { server: 'nas', path: '/' } } },
    clusters: { a: quota ? { quota } : {} },
    // With the short lease of other tests, a busy machine would lose claims.
    flags: { store: `postgres:${urlFile}`, 'claim-lease': undefined },
    process: {},
  };
  const gateways: Fleet['gateways'][number][] = [];
  while (gateways.length < gatewayCount) {
    const { client } = await runGateway(t, run);
    gateways.push({
      create: (volumeId, body, call) => client.createVolume({ volumeId, body }, call),
      delete: (volumeId, call) => client.deleteVolume({ volumeId }, call),
    });
  }
  const engine = await openPostgres(urlFile);
  t.after(() => engine.close());
  return { gateways, engine, listStored: async () => readdirSync(root).filter(isId) };
}

/** Opens gateways in this process, with some functions of the store's transactions replaced. */
async function openWeakened(
  t: TestContext,
  { totalBytes, quota }: Limit,
  changes: Partial<Sql>,
): Promise<Fleet> {
  const store = `postgres:${await (await server()).createDatabase()}`;
  const backend = { ...(await openMemory(unlimited)), capacity: async () => ({ totalBytes }) };
  const wrapEngine = (whole: Engine): Engine => ({
    ...whole,
    transaction: work => whole.transaction(sql => work({ ...sql, ...changes })),
  });
  const opened: Gateway[] = [];
  while (opened.length < gatewayCount)
    opened.push(await openGateway<Backend>(t, { store, backend, wrapEngine }));
  const cluster = { ...clusters.a, ...(quota && { quota }) };
  const gateways = opened.map(({ volumes }) => ({
    create: (id: string, spec: VolumeSpec) => volumes.create(cluster, id, spec),
    delete: (id: string) => volumes.delete(cluster, id),
  }));
  const [{ engine } = assert.fail()] = opened;
  return { gateways, engine, listStored: () => Array.fromAsync(backend.list?.() ?? []) };
}

/** Fails if the limit refused too many creates: without deletions meanwhile, a refused one would exceed the limit. */
function assertRefusals(limit: Limit, race: Race, deletes: boolean): void {
  const refused = race.outcomes.flatMap(({ bytes, problem }) => (problem ? [{ bytes, problem }] : []));
  for (const { problem } of refused) assert.equal(problem.code, 'RESOURCE_EXHAUSTED', problem.message);
  assert.ok(refused.length > 0 && refused.length < roundSize);
  const minBytes = Math.min(...refused.map(({ bytes }) => bytes));
  const more = { bytes: race.bytes + minBytes, volumes: race.volumes + 1 };
  assert.ok(deletes || overrunOf(limit, more) > 0, JSON.stringify(race));
}

/** Returns by how much the usage exceeds the limit; zero or less if it does not. */
function overrunOf({ totalBytes, quota }: Limit, { bytes, volumes }: Used): number {
  const limits = [totalBytes, quota?.bytes, quota?.pools?.['main']?.bytes];
  return Math.max(
    bytes - Math.min(...limits.map(one => one ?? Infinity)),
    volumes - (quota?.volumes ?? Infinity),
  );
}

/**
 * Reserves the usage before the race. The returned function races one round, and then deletes the round's volumes. With
 * `deletes`, each second volume is deleted during the race.
 */
async function prepare(before: Limit, { gateways, engine, listStored }: Fleet) {
  await engine.transaction(async sql => {
    const used = { nonce: '', pool: 'main', segments: undefined, cluster: 'a' };
    for (let volume = 0; volume < before.volumes; volume++)
      await moveReservation(sql, undefined, { ...used, reservedBytes: before.bytes / before.volumes });
  });
  const sumOf = (bytes: readonly number[]): Used => ({
    bytes: before.bytes + bytes.reduce((sum, one) => sum + one, 0),
    volumes: before.volumes + bytes.length,
  });
  const usedInStorage = async (): Promise<Used> =>
    sumOf((await listStored()).map(id => bytesOf(Number(id.split('-').at(-1)))));

  const at = (index: number): Fleet['gateways'][number] => gateways[index % gateways.length] ?? assert.fail();

  const create = (id: string, index: number): Promise<Problem | undefined> =>
    findRefusal(call => {
      const spec = volumeSpec(id.replace('a.', ''), { requiredBytes: bytesOf(index) });
      return at(index).create(id, spec, call);
    });

  async function remove(id: string, index: number): Promise<void> {
    // Another gateway than the one that created it.
    const refusal = await findRefusal(call => at(index + 1).delete(id, call));
    assert.equal(refusal, undefined);
  }

  /** Reads the usage after a race, which records, reservations and storage agree about. */
  async function readUsed(): Promise<Used> {
    const rows = await engine.reader.all('select reserved_bytes from volumes');
    const used = sumOf(rows.map(row => Number(row['reserved_bytes'])));
    const nothing = { snapshots: 0, deletedBytes: 0, deletedVolumes: 0 };
    assert.deepEqual(await readUsage(engine.reader, 'a'), [{ pool: 'main', ...nothing, ...used }]);
    assert.deepEqual(await usedInStorage(), used);
    return used;
  }

  return async ({ round, deletes = false }: { readonly round: number; readonly deletes?: boolean }) => {
    const [outcomes, left]: [Outcome[], [id: string, index: number][]] = [[], []];
    const peak = { bytes: 0, volumes: 0 };
    await forEachOf(Array(roundSize).keys(), inFlight, async index => {
      const id = `a.${round}-${index}`;
      const problem = await create(id, index);
      const stored = await usedInStorage();
      for (const kind of ['bytes', 'volumes'] as const) peak[kind] = Math.max(peak[kind], stored[kind]);
      outcomes.push({ bytes: bytesOf(index), problem });
      if (problem) return;
      if (deletes && outcomes.length % 2 === 1) await remove(id, index);
      else left.push([id, index]);
    });
    const race: Race = { ...(await readUsed()), peak, outcomes };
    await forEachOf(left.values(), gatewayCount, ([id, index]) => remove(id, index));
    return race;
  };
}

function bytesOf(index: number): number {
  return (sizes[index % sizes.length] ?? 0) * mebibyte;
}

/** Works on all members, and on at most `concurrency` at a time. */
async function forEachOf<T>(
  members: IterableIterator<T>,
  concurrency: number,
  work: (member: T) => Promise<unknown>,
): Promise<void> {
  const workAlone = async (): Promise<void> => {
    for (const member of members) await work(member);
  };
  await Promise.all(Array.from({ length: concurrency }, workAlone));
}

/**
 * Returns the final refusal; undefined after a success. On a busy machine a connection, a lock or a claim may not last,
 * and callers then try again.
 */
async function findRefusal(ask: (call: Call) => Promise<unknown>): Promise<Problem | undefined> {
  return untilFinal(ask, patienceMs).then(() => undefined, asProblem);
}
