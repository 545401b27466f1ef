import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { snapshotOf } from '../../deploy/render.ts';
import type { StorageClient } from '../../src/api/client.ts';
import { poll, withinTime } from '../../src/lib/concurrency.ts';
import { volumeSpec } from '../harness/gateway.ts';
import { callWithin, runGateway, type RunningGateway } from '../harness/gateway/program.ts';
import { noPostgres as skip, sharePostgres } from '../harness/postgres.ts';
import { useStores } from '../harness/stores/store-in.ts';
import { startBalancer } from '../machine/gateway/replicas/balancer.ts';
import { addressOf, connectTo, prepareVendorPool } from '../machine/gateway/replicas/fleet.ts';
import { startCountedVendor } from '../machine/gateway/replicas/vendor.ts';

const server = sharePostgres();
useStores(async () => `postgres:${await (await server()).createDatabase()}`);

/** The time of a create at the storage, in milliseconds: longer than a gateway's default `--shutdown-grace`. */
const createMs = 5_000;
/** The number of clients, so many that each replica has creates at any time. */
const clientCount = 12;
/** The time limit that the chart gives the sidecars' calls, in milliseconds. */
const callMs = 60_000;

const deployment = readDeployment();

test(
  `${deployment.replicas} replicas are replaced with the chart's probes and times, and no create fails`,
  { skip },
  async t => {
    const { vendor, start, service } = await prepare(t);
    const members: Member[] = [];
    for (let member = 0; member < deployment.replicas; member++) members.push(await start());
    const { created, failures, end } = startClients(t, service.connect);
    await sleep(createMs);
    for (const old of members) {
      await start();
      await service.terminate(old);
    }
    await end();

    assert.deepEqual(failures, []);
    assert.equal(service.refused(), 0, 'connections reached a replica that had ended');
    assert.deepEqual(
      await Promise.all(members.map(({ gateway }) => gateway.ended)),
      members.map(() => 0),
    );
    const stored = vendor.disk.list('volume').map(({ spec }) => (spec as { readonly name: string }).name);
    assert.deepEqual(stored.toSorted(), created.toSorted());
    t.diagnostic(`${created.length} creates`);
  },
);

/** Starts clients that create one volume after another until `end`, or the end of the test. */
function startClients(t: TestContext, connect: () => StorageClient) {
  const created: string[] = [];
  const failures: unknown[] = [];
  const over = new AbortController();
  t.after(() => over.abort());
  const work = Array.from({ length: clientCount }, async (_, number) => {
    const client = connect();
    for (let round = 0; !over.signal.aborted; round++) {
      const name = `c${number}-${round}`;
      const volume = { volumeId: `a.${name}`, body: volumeSpec(name) };
      await client.createVolume(volume, callWithin(callMs)).then(
        () => created.push(volume.volumeId),
        (error: unknown) => failures.push(error),
      );
    }
  });
  const end = async (): Promise<void> => {
    over.abort();
    await Promise.all(work);
  };
  return { created, failures, end };
}

/** A replica as its node and the endpoints of the Service see it. */
type Member = { readonly gateway: RunningGateway; isEndpoint: boolean };

/** Prepares a storage, the replicas' settings, and a Service with the replicas that are ready. */
async function prepare(t: TestContext) {
  const vendor = await startCountedVendor(t, undefined, async ({ method }) => {
    if (method === 'PUT') await sleep(createMs);
  });
  const directory = await prepareVendorPool(t, vendor);
  const members: Member[] = [];
  const balancer = await startBalancer(t, () =>
    members.filter(({ isEndpoint }) => isEndpoint).map(({ gateway }) => addressOf(gateway)),
  );
  const flags = {
    ...deployment.flags,
    'claim-lease': undefined,
    'metrics-listen': '127.0.0.1:0',
    'key-file': join(directory, 'keys.json'),
  };

  /** Starts a replica, which is an endpoint once its readiness probe succeeds. */
  async function start(): Promise<Member> {
    const member = { gateway: await runGateway(t, { directory, process: {}, flags }), isEndpoint: false };
    members.push(member);
    const isUp = async () => (await isReady(member.gateway)) || undefined;
    const isInTime = await poll(isUp, { everyMs: deployment.periodMs, timeoutMs: 60_000 });
    assert.ok(isInTime, 'the replica is never ready');
    member.isEndpoint = true;
    return member;
  }

  /** Ends a replica as kubelet does. The nodes learn shortly before its SIGTERM that it is no endpoint. */
  async function terminate(member: Member): Promise<void> {
    const { preStopMs, graceMs } = deployment;
    setTimeout(() => (member.isEndpoint = false), preStopMs * 0.8);
    await sleep(preStopMs);
    const ended = member.gateway.end('SIGTERM');
    if (!(await withinTime(ended, graceMs - preStopMs))) await member.gateway.end('SIGKILL');
  }

  const connect = (): StorageClient => connectTo(t, balancer.port);
  return { vendor, start, service: { connect, terminate, refused: balancer.refused } };
}

async function isReady({ ready }: RunningGateway): Promise<boolean> {
  const signal = AbortSignal.timeout(deployment.timeoutMs);
  const answer = await fetch(`http://${ready['metrics']}/readyz`, { signal }).catch(() => undefined);
  return answer?.ok ?? false;
}

/** Reads the numbers of the chart's Deployment, and the flags that decide how a replica starts and ends. */
function readDeployment() {
  const manifests = parseAllDocuments(snapshotOf('replicas')).map(document => document.toJS());
  const { replicas, strategy, template } = manifests.find(({ kind }) => kind === 'Deployment').spec;
  assert.deepEqual(strategy.rollingUpdate, { maxSurge: 1, maxUnavailable: 0 });
  const [{ args, lifecycle, readinessProbe }] = template.spec.containers;
  const given = (args as readonly string[]).map(arg => /^--([a-z-]+)=?(.*)$/.exec(arg) ?? []);
  const flags = given
    .filter(([, name = '']) => ['shutdown-grace', 'keep-store-version'].includes(name))
    .map(([, name = '', value]) => [name, value || 'true']);
  assert.equal(flags.length, 2);
  return {
    replicas: Number(replicas),
    flags: Object.fromEntries(flags) as Readonly<Record<string, string>>,
    preStopMs: 1_000 * lifecycle.preStop.sleep.seconds,
    graceMs: 1_000 * template.spec.terminationGracePeriodSeconds,
    periodMs: 1_000 * readinessProbe.periodSeconds,
    timeoutMs: 1_000 * readinessProbe.timeoutSeconds,
  };
}
