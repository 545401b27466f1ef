// Runs beside Ceph for `test/storage/cinder/crash.test.ts`: kills everything between a cluster and Ceph.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  connectCinder,
  type Cinder,
  type CinderResource,
  type Kind,
} from '../../../../examples/cinder/cinder.ts';
import { gibibyte } from '../../../../examples/cinder/names.ts';
import { createClient } from '../../../../src/api/client.ts';
import { Problem, unavailableProblem } from '../../../../src/api/problem.ts';
import { startCinder } from '../../../cinder/cinder.ts';
import { addType } from '../../../cinder/types.ts';
import { crashPoints } from '../../../fakes/faulty-backend/rules.ts';
import { runGateway } from '../../../harness/gateway/program.ts';
import { directoryOf } from '../../../harness/machine.ts';
import { sample } from '../../../harness/sample.ts';
import {
  createMutations,
  fixturesWithoutGroups,
  interruptEach,
  killInEach,
  requireComplete,
  type Moment,
} from '../../../machine/gateway/mutations.ts';
import { askPatiently, listAll, prepareDirectory, type Ask } from '../../../machine/gateway/process.ts';
import { ask, readImage, writeImage } from '../../inside/cluster.ts';
import { restartServer, startChain, type Chain, type Environment } from './chain.ts';
import { killBusyDriver, killDriver } from './processes.ts';

const mutations = createMutations({ type: 'tuned' }, gibibyte)
  .filter(([target]) => !target.startsWith('group'))
  .map(([target, change]) => [target, target === 'modify' ? repeatRefused(change) : change] as const);
const text = 'data from before the first failure';
/** The time after which a state that Cinder's driver left does not change any more, in milliseconds. */
const leftMs = 10_000;

/** The states that Cinder's driver may leave, and the state that an operator sets for the next attempt. */
const leftStates = [
  { kind: 'volume', left: ['extending', 'retyping'], status: 'available' },
  { kind: 'snapshot', left: ['deleting'], status: 'error' },
] as const;
let pools = 0;

type Stage = Chain & { readonly cinder: Cinder; readonly pool: string; readonly directory: string };
type Attachments = {
  readonly attachments: readonly { readonly volume_id: string; readonly status: string }[];
};
type Kill = {
  readonly what: string;
  readonly moment: Moment;
  readonly kill: (stage: Stage) => Promise<void>;
};

const kills: readonly Kill[] = [
  { what: 'examples/cinder, killed before each change at Cinder', moment: 'before', kill: restartServer },
  { what: 'examples/cinder, killed after each change at Cinder', moment: 'after', kill: restartServer },
  { what: "Cinder's driver, killed before each change", moment: 'before', kill: killDriver },
  {
    what: "Cinder's driver, killed during each change",
    moment: 'before',
    async kill(stage) {
      await killBusyDriver();
      await sleep(leftMs);
      await resetStates(stage);
    },
  },
];

test('a pool over Cinder', async t => {
  const env = await startCinder(t, directoryOf(t));
  await addType(env, 'tuned', { 'test:name': 'tuned' });
  for (const point of sample('points', crashPoints, 1))
    await t.test(`a gateway, killed ${point} in each mutation with examples/cinder`, async inner => {
      const stage = await prepare(inner, env);
      const afterKill = () => restartServer(stage);
      await killInEach(inner, mutations, { directory: stage.directory, point, afterKill });
      await assertWhole(inner, stage);
    });
  for (const { what, moment, kill } of sample('kills', kills, 1))
    await t.test(`${what} in each mutation`, async inner => {
      const stage = await prepare(inner, env);
      const gateway = await runGateway(inner, { directory: stage.directory, faults: [] });
      let killed: Promise<void> | undefined;
      const interrupt = async (): Promise<void> => {
        await killed;
        // The call goes on: Cinder may serve a request of a server that is dead.
        killed = kill(stage);
      };
      await interruptEach(gateway, mutations, { way: stage.way, moment, interrupt });
      await killed;
      await gateway.end('SIGKILL');
      await assertWhole(inner, stage);
    });
});

/**
 * Repeats a change of the type that is refused. Cinder gives no reason, so the server cannot tell a change that an
 * operator ended from one that the storage refuses.
 */
function repeatRefused(change: Ask): Ask {
  return async (client, call) => {
    try {
      return await change(client, call);
    } catch (error) {
      const isRefused = error instanceof Problem && error.code === 'FAILED_PRECONDITION';
      throw isRefused ? unavailableProblem(error.detail) : error;
    }
  };
}

/** Creates the first objects in a new pool, with data in one of them. */
async function prepare(t: TestContext, env: Environment): Promise<Stage> {
  const chain = await startChain(t, env);
  const pool = `p${pools++}`;
  const { url, token } = chain.server;
  const rest = { backend: 'rest', url, token: 'token', tries: 2, breakFor: '200ms' };
  const directory = await prepareDirectory(t, { [pool]: rest });
  writeFileSync(join(directory, 'token'), token);
  const first = await runGateway(t, { directory, faults: [] });
  for (const fixture of fixturesWithoutGroups) await askPatiently(first, fixture);
  await first.end('SIGKILL');
  const stage = { ...chain, pool, directory, cinder: connectCinder(env) };
  const source = (await listOwn(stage, 'volume')).find(({ name }) => name?.includes('.a.source.'));
  writeImage(`rbd/volume-${source?.id}`, 0, Buffer.from(text));
  return stage;
}

/** Sets the states that Cinder never leaves by itself after its driver's death, as an operator does. */
async function resetStates(stage: Stage): Promise<void> {
  for (const { kind, left, status } of leftStates)
    for (const found of await listOwn(stage, kind))
      if (left.some(state => state === found.status))
        await stage.cinder.send('POST', `/${kind}s/${found.id}/action`, { 'os-reset_status': { status } });
}

async function listOwn({ cinder, pool }: Stage, kind: Kind): Promise<readonly CinderResource[]> {
  return (await cinder.list(kind)).filter(({ name }) => name?.split('.')[1] === pool);
}

/** Fails unless the gateway, the server, Cinder and Ceph have the same objects, each once. */
async function assertWhole(t: TestContext, stage: Stage): Promise<void> {
  const { server, cinder, directory } = stage;
  const near = await requireComplete(await runGateway(t, { directory, faults: [] }), mutations);
  const far = createClient({ url: server.url, token: () => server.token });
  t.after(() => far.close());
  const all = (await listAll(far)).filter(({ id }) => id.split('.')[1] === stage.pool);
  assert.deepEqual(
    all.map(({ name, sizeBytes }) => [name, sizeBytes]).toSorted(),
    near.volumes.map(({ id, sizeBytes }) => [id, sizeBytes]),
  );
  const volumes = await listOwn(stage, 'volume');
  assert.deepEqual(
    volumes.map(({ name, size, status }) => [name, size * gibibyte, status]).toSorted(),
    all
      .map(({ id, sizeBytes, attachments }) => [id, sizeBytes, attachments[0] ? 'in-use' : 'available'])
      .toSorted(),
  );
  const snapshots = await listOwn(stage, 'snapshot');
  assert.deepEqual([near.snapshots.length, snapshots.length], [1, 1]);
  const idOf = (name: string) => volumes.find(found => found.name?.includes(`.a.${name}.`))?.id;
  const ids = new Set(volumes.map(({ id }) => id));
  const { attachments } = (await cinder.send('GET', '/attachments/detail')) as Attachments;
  assert.deepEqual(
    attachments.filter(({ volume_id: id }) => ids.has(id)).map(one => [one.volume_id, one.status]),
    [[idOf('plain'), 'attached']],
  );
  const images = ask<readonly string[]>('rbd ls rbd');
  assert.deepEqual(
    images.toSorted(),
    (await cinder.list('volume')).map(({ id }) => `volume-${id}`).toSorted(),
  );
  for (const image of [idOf('copy'), `${idOf('source')}@snapshot-${snapshots[0]?.id}`])
    assert.equal(readImage(`rbd/volume-${image}`, text.length).toString(), text);
}
