import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import type { Call } from '../../../../src/api/http.ts';
import type { StorageClient } from '../../../../src/api/client.ts';
import { Problem, problemTable } from '../../../../src/api/problem.ts';
import { mounted, volumeSpec } from '../../../harness/gateway.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { isFull } from '../../../harness/sample.ts';
import { useStores } from '../../../harness/stores/store-in.ts';
import { runGateway, type RunningGateway } from '../../../harness/gateway/program.ts';
import { prepareDirectory } from '../process.ts';
import { hashOf } from '../../../harness/values.ts';

const replicas = 3;
/** In a usual run each replica is killed once. */
const kills = isFull ? 200 : replicas;
const workers = 6;
const server = sharePostgres({ isDurable: true });
const mebibyte = 2 ** 20;
const attachment = { capability: mounted, readonly: false };

/** Selects the volumes for one writer that are or may be attached to several nodes. */
const doubles = 'select volume_id from attachments group by volume_id having count(*) > 1';

/**
 * Sends a request to any replica, and after every failure that is not final to another one, as sidecars behind a
 * balancer do.
 */
type Ask = <T>(work: (client: StorageClient, call: Call) => Promise<T>) => Promise<T>;

test(`replicas that are killed ${kills} times under load lose and repeat nothing`, { skip }, async t => {
  const { createDatabase, query } = await server();
  const database = 'killed';
  useStores(async () => `postgres:${await createDatabase(database)}`);
  const directory = await prepareDirectory(t);
  const slots: RunningGateway[] = [];
  while (slots.length < replicas) slots.push(await runGateway(t, { directory, faults: [] }));
  const ask = createAsk(slots);
  const over = new AbortController();
  const hashes = new Map<string, string>();
  const working = Promise.all(
    Array.from({ length: workers }, async (_, worker) => {
      for (let round = 0; !over.signal.aborted; round++)
        await live(ask, { directory, hashes, name: `w${worker}-r${round % 2}`, round });
    }),
  );
  const failed = working.then(() => assert.fail('the load ended before its time'));
  const killing = killAll(t, { directory, slots }, async () =>
    assert.deepEqual(await query(doubles, database), []),
  );
  await Promise.race([killing, failed]);
  over.abort();
  await working;
  assert.ok(hashes.size > 0);
  await assertWhole(ask, directory, hashes);
  const left = await query('select * from claims where until_ms > 0', database);
  assert.deepEqual(left, []);
});

async function killAll(
  t: TestContext,
  { directory, slots }: { readonly directory: string; readonly slots: RunningGateway[] },
  check: () => Promise<void>,
): Promise<void> {
  for (let kill = 0; kill < kills; kill++) {
    const slot = kill % replicas;
    await sleep(Math.random() * 200);
    const dying = slots[slot];
    if (dying) {
      await dying.end('SIGKILL');
      await dying.client.close();
    }
    await check();
    slots[slot] = await runGateway(t, { directory, faults: [] });
  }
}

function createAsk(slots: readonly RunningGateway[]): Ask {
  return async work => {
    for (const deadlineMs = Date.now() + 60_000; ;) {
      const { client } = slots[Math.floor(Math.random() * slots.length)] ?? assert.fail();
      try {
        return await work(client, { deadlineMs: Date.now() + 10_000 });
      } catch (error) {
        if (error instanceof Problem && problemTable[error.code].final) throw error;
        if (Date.now() > deadlineMs) throw error;
        await sleep(50);
      }
    }
  };
}

type Life = {
  readonly directory: string;
  /** The data of each existing volume, as hashes. */
  readonly hashes: Map<string, string>;
  readonly name: string;
  readonly round: number;
};

/**
 * Runs a part of a volume's life: create, write, two concurrent attaches; every third volume is expanded and deleted.
 */
async function live(ask: Ask, { directory, hashes, name, round }: Life): Promise<void> {
  const volumeId = `a.${name}`;
  const imageOf = (id: string): string => join(directory, 'images', `${id}.img`);
  await ask((client, call) => client.createVolume({ volumeId, body: volumeSpec(name) }, call));
  if (!hashes.has(volumeId)) {
    writeFileSync(imageOf(volumeId), randomBytes(4_096), { flag: 'r+' });
    hashes.set(volumeId, hashOf(imageOf(volumeId), mebibyte));
  }
  const nodes = ['n1', 'n2'];
  const attached = await Promise.allSettled(
    nodes.map(nodeId =>
      ask((client, call) => client.attachVolume({ volumeId, nodeId, body: attachment }, call)),
    ),
  );
  assert.equal(attached.filter(({ status }) => status === 'fulfilled').length, 1, volumeId);
  for (const one of attached)
    if (one.status === 'rejected')
      assert.equal((one.reason as Problem).code, 'FAILED_PRECONDITION', String(one.reason));
  for (const nodeId of nodes) await ask((client, call) => client.detachVolume({ volumeId, nodeId }, call));
  if (round % 3 !== 2) return;
  const larger = { requiredBytes: 2 * mebibyte };
  await ask((client, call) => client.expandVolume({ volumeId, body: larger }, call));
  assert.equal(statSync(imageOf(volumeId)).size, 2 * mebibyte, volumeId);
  assert.equal(hashOf(imageOf(volumeId), mebibyte), hashes.get(volumeId), volumeId);
  await ask((client, call) => client.deleteVolume({ volumeId }, call));
  hashes.delete(volumeId);
}

/** Fails unless the listed, the stored and the expected volumes are the same, with their data. */
async function assertWhole(ask: Ask, directory: string, hashes: ReadonlyMap<string, string>): Promise<void> {
  const { volumes } = await ask((client, call) => client.listVolumes({}, call));
  const ids = [...hashes.keys()].sort();
  assert.deepEqual(
    volumes.map(({ id, state, attachments }) => [id, state, attachments.length]),
    ids.map(id => [id, 'ready', 0]),
  );
  const images = readdirSync(join(directory, 'images')).filter(name => name.endsWith('.img'));
  assert.deepEqual(
    images.sort(),
    ids.map(id => `${id}.img`),
  );
  for (const [id, hash] of hashes)
    assert.equal(hashOf(join(directory, 'images', `${id}.img`), mebibyte), hash, id);
}
