import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createClient } from '../../../src/api/client.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';
import type { CsiClient } from '../../../src/csi/client.ts';
import { crashPoints } from '../../fakes/faulty-backend/rules.ts';
import { bridgeCommand, startDriver, startGroupStorage } from '../../fakes/storages/bridged.ts';
import { startVendor, type RunningVendor } from '../../fakes/storages/reference.ts';
import { clientOf, serveCsi } from '../../harness/csi-serving.ts';
import { callWithin, runGateway, type RunningGateway } from '../../harness/gateway/program.ts';
import { directoryOf, noRoot } from '../../harness/machine.ts';
import { sample } from '../../harness/sample.ts';
import {
  createMutations,
  fixtures,
  interruptEach,
  killInEach,
  requireComplete,
  type Moment,
  type StorageWay,
} from '../gateway/mutations.ts';
import { prepareDirectory } from '../gateway/process.ts';

const skip = noRoot;
const mutations = createMutations({ label: 'tuned' });

for (const point of sample('points', crashPoints, 1))
  test(
    `a gateway killed ${point} in each mutation, together with its bridge and its driver, loses and repeats nothing`,
    { skip },
    async t => {
      const chain = await startChain(t);
      const { directory, bridge, driver } = chain;
      const afterKill = async (): Promise<void> => {
        await bridge.kill();
        await driver.restart();
        await bridge.start();
      };
      await killInEach(t, mutations, { directory, point, afterKill });
      await assertWhole(t, await runGateway(t, { directory, faults: [] }), chain);
    },
  );

const kills = ['bridge', 'driver'].flatMap(victim =>
  ['before', 'after'].map(moment => ({ victim, moment: moment as Moment })),
);

for (const { victim, moment } of sample('kills', kills, 1))
  test(
    `a ${victim} that is killed ${moment} the driver's work in each mutation loses and repeats nothing`,
    { skip },
    async t => {
      const chain = await startChain(t);
      const { directory, bridge, driver } = chain;
      const gateway = await runGateway(t, { directory, faults: [] });
      let restarted: Promise<void> | undefined;
      const restart = async (): Promise<void> => {
        if (victim === 'driver') return driver.restart();
        await bridge.kill();
        await bridge.start();
      };
      const interrupt = async (): Promise<void> => {
        await restarted;
        restarted = restart();
        // A dead driver gives no answer; a dead bridge hears none.
        if (victim === 'bridge') return;
        await restarted;
        throw unavailableProblem('the driver was killed');
      };
      await interruptEach(gateway, mutations, { way: chain.way, moment, interrupt });
      await restarted;
      await assertWhole(t, gateway, chain);
    },
  );

type Chain = Awaited<ReturnType<typeof startChain>>;

/** Starts a driver with all features and a bridge over it, prepares a gateway over the bridge, and creates the first objects. */
async function startChain(t: TestContext) {
  const dir = directoryOf(t);
  const { flags } = await startGroupStorage(t, dir);
  const driver = await startMortalDriver(t, dir, flags);
  const way: StorageWay = { interrupt: async () => {} };
  const { socketPath } = await serveCsi(t, {
    controller: forward(driver.calls, 'controller', way),
    groups: forward(driver.calls, 'groupController', way),
    advertised: ['group-snapshots'],
  });
  const env = { CSI_ENDPOINT: `unix://${socketPath}`, NODE_ID: driver.nodeId };
  const bridge = await startVendor(t, { command: bridgeCommand, env });
  const rest = { backend: 'rest', url: bridge.url, token: 'token', tries: 2, breakFor: '200ms' };
  const attachments = { protocols: ['csi'], drivers: ['csi.test'] };
  const directory = await prepareDirectory(t, { old: { ...rest, attachments } });
  writeFileSync(join(directory, 'token'), bridge.token);
  const first = await runGateway(t, { directory, faults: [] });
  for (const ask of fixtures) await ask(first.client, callWithin(30_000));
  await first.end('SIGKILL');
  return { way, directory, bridge, driver };
}

async function startMortalDriver(t: TestContext, dir: string, flags: object) {
  let { driver } = await startDriver(t, dir, { ...flags });
  const { nodeId, controller } = driver;
  return {
    nodeId,
    /** The calls of the driver that runs now. */
    calls: clientOf(t, controller),
    async restart(): Promise<void> {
      await driver.end('SIGKILL');
      ({ driver } = await startDriver(t, dir, { ...flags }));
    },
  };
}

/** Hands each call of a service on to the driver, with an interruption before and after its work. */
function forward(calls: CsiClient, service: 'controller' | 'groupController', way: StorageWay) {
  const forwarded = Object.entries<(request: object) => Promise<object>>(calls[service]).map(
    ([rpc, call]) => [
      rpc,
      async (request: object) => {
        const isRead = /^(List|.*Get)/.test(rpc);
        if (!isRead) await way.interrupt('before', rpc);
        const answer = await call(request);
        if (!isRead) await way.interrupt('after', rpc);
        return answer;
      },
    ],
  );
  return Object.fromEntries(forwarded);
}

/** Fails unless repeated requests get the same answers, and the driver's own lists agree with the gateway's. */
async function assertWhole(
  t: TestContext,
  gateway: RunningGateway,
  { bridge, driver }: Chain,
): Promise<void> {
  const { volumes, snapshots } = await requireComplete(gateway, mutations);
  assert.equal(snapshots.length, 3);
  const { entries } = await driver.calls.controller.ListVolumes({});
  const sizes = entries.map(({ volume }) => Number(volume?.capacity_bytes));
  assert.deepEqual(sizes.toSorted(), volumes.map(({ sizeBytes }) => sizeBytes).toSorted());
  const published = entries.flatMap(({ status }) => status?.published_node_ids ?? []);
  assert.deepEqual(published, [driver.nodeId]);
  const taken = await driver.calls.controller.ListSnapshots({});
  assert.equal(taken.entries.length, snapshots.length);
  await assertRecords(t, bridge);
}

/** Fails if the bridge has a record that the gateway has not. */
async function assertRecords(t: TestContext, bridge: RunningVendor): Promise<void> {
  const far = createClient({ url: bridge.url, token: () => bridge.token });
  t.after(() => far.close());
  const { volumes } = await far.listVolumes({}, callWithin(10_000));
  const { snapshots } = await far.listSnapshots({}, callWithin(10_000));
  assert.deepEqual([volumes.length, snapshots.length], [7, 3]);
}
