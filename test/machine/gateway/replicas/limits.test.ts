import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import type { Quota } from '../../../../gateway/callers/cluster.ts';
import type { Engine, Sql } from '../../../../gateway/store.ts';
import { moveReservation, readUsage } from '../../../../gateway/tables/reservations.ts';
import { asProblem, type Problem } from '../../../../src/api/problem.ts';
import { clusters, openGateway, openMemory, volumeSpec, type Gateway } from '../../../harness/gateway.ts';
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
const [inFlight, roundSize, rounds] = [96, 200, isFull ? 13 : 1];

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

/** The size of a requested volume, and the refusal if there was one. */
type Outcome = { readonly name: string; readonly bytes: number; readonly problem: Problem | undefined };
/** The usage after the race, and the outcome of each create. */
type Race = Used & { readonly outcomes: readonly Outcome[] };

for (const limit of sample('limits', all, 2))
  test(
    `creates of several gateways near the end of ${limit.what} get all of it and not more`,
    { skip },
    async t => {
      const race = await prepare(t, limit);
      for (let round = 0; round < rounds; round++) assertExact(limit, await race(round));
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
      const race = await prepare(t, limit, weaken(changes));
      let over = 0;
      for (let round = 0; over <= 0 && round < 5; round++) over = overrunOf(limit, await race(round));
      assert.ok(over > 0, limit.what);
    }
  });

/** Replaces some functions of the store's transactions. */
function weaken(changes: Partial<Sql>) {
  return (engine: Engine): Engine => ({
    ...engine,
    transaction: work => engine.transaction(sql => work({ ...sql, ...changes })),
  });
}

/** Fails if more was created than the limit allows, or if a refused create would fit beside all others. */
function assertExact(limit: Limit, race: Race): void {
  assert.ok(overrunOf(limit, race) <= 0, JSON.stringify(race));
  const refused = race.outcomes.flatMap(({ bytes, problem }) => (problem ? [{ bytes, problem }] : []));
  for (const { problem } of refused) assert.equal(problem.code, 'RESOURCE_EXHAUSTED', problem.message);
  assert.ok(refused.length > 0 && refused.length < roundSize);
  const minBytes = Math.min(...refused.map(({ bytes }) => bytes));
  const volumes = race.volumes + 1;
  assert.ok(overrunOf(limit, { bytes: race.bytes + minBytes, volumes }) > 0, JSON.stringify(race));
}

/** Returns by how much the usage exceeds the limit; zero or less if it does not. */
function overrunOf({ totalBytes, quota }: Limit, { bytes, volumes }: Used): number {
  const limits = [totalBytes, quota?.bytes, quota?.pools?.['main']?.bytes];
  return Math.max(
    bytes - Math.min(...limits.map(one => one ?? Infinity)),
    volumes - (quota?.volumes ?? Infinity),
  );
}

/** Starts the gateways. The returned function races one round, and then deletes the volumes of the round. */
async function prepare(
  t: TestContext,
  { totalBytes, quota, bytes: bytesBefore, volumes: volumesBefore }: Limit,
  wrapEngine?: (engine: Engine) => Engine,
): Promise<(round: number) => Promise<Race>> {
  const store = `postgres:${await (await server()).createDatabase()}`;
  const backend: Backend = { ...(await openMemory(unlimited)), capacity: async () => ({ totalBytes }) };
  const options = { store, backend, ...(wrapEngine && { wrapEngine }) };
  const gateways: Gateway[] = [];
  while (gateways.length < gatewayCount) gateways.push(await openGateway<Backend>(t, options));
  const [{ engine, volumes } = assert.fail()] = gateways;
  const cluster = { ...clusters.a, ...(quota && { quota }) };
  await engine.transaction(async sql => {
    const used = { nonce: '', pool: 'main', segments: undefined, cluster: 'a' };
    for (let volume = 0; volume < volumesBefore; volume++)
      await moveReservation(sql, undefined, { ...used, reservedBytes: bytesBefore / volumesBefore });
  });

  async function create(index: number, round: number): Promise<Outcome> {
    const name = `${round}-${index}`;
    const bytes = (sizes[index % sizes.length] ?? 0) * mebibyte;
    const gateway = gateways[index % gatewayCount] as Gateway;
    const spec = volumeSpec(name, { requiredBytes: bytes });
    const problem = await findRefusal(() => gateway.volumes.create(cluster, `a.${name}`, spec));
    return { name, bytes, problem };
  }

  return async round => {
    const outcomes: Outcome[] = [];
    const indexes = Array.from({ length: roundSize }, (_, index) => index).values();
    const work = async (): Promise<void> => {
      for (const index of indexes) outcomes.push(await create(index, round));
    };
    await Promise.all(Array.from({ length: inFlight }, work));
    const made = await engine.reader.all(
      'select coalesce(sum(reserved_bytes), 0) as bytes, count(*) as volumes from volumes',
    );
    const [usage] = await readUsage(engine.reader, 'a');
    const used = {
      bytes: bytesBefore + Number(made[0]?.['bytes']),
      volumes: volumesBefore + Number(made[0]?.['volumes']),
    };
    assert.deepEqual(usage, { pool: 'main', snapshots: 0, ...used });
    const created = outcomes.filter(({ problem }) => !problem).values();
    const remove = async (): Promise<void> => {
      for (const { name } of created)
        assert.equal(await findRefusal(() => volumes.delete(cluster, `a.${name}`)), undefined);
    };
    await Promise.all([remove(), remove(), remove(), remove()]);
    return { outcomes, ...used };
  };
}

/**
 * Returns the final refusal; undefined after a success. On a busy machine a connection, a lock or a claim may not last,
 * and callers then try again.
 */
async function findRefusal(ask: () => Promise<unknown>): Promise<Problem | undefined> {
  return untilFinal(ask).then(() => undefined, asProblem);
}
