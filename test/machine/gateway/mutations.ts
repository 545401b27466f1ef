import assert from 'node:assert/strict';
import { toNodeId } from '../../../src/api/ids.ts';
import type { VolumeSpec } from '../../../src/api/volume.ts';
import type { Target } from '../../fakes/faulty-backend/rules.ts';
import { mounted, volumeSpec } from '../../harness/gateway.ts';
import type { crashPoints } from '../../fakes/faulty-backend/rules.ts';
import { callWithin, runGateway, type RunningGateway } from '../../harness/gateway/program.ts';
import type { CleanupScope } from '../../harness/temporary.ts';
import { askAndLose, askPatiently, type Ask } from './process.ts';

const mebibyte = 2 ** 20;
const copyOf = (volumeId: string): Partial<VolumeSpec> => ({ source: { kind: 'volume', volumeId } });
const create = (name: string, spec: Partial<VolumeSpec> = {}): Ask => {
  return (client, call) => client.createVolume({ volumeId: `a.${name}`, body: volumeSpec(name, spec) }, call);
};
/** The node of all mutations. Its key lets it have attachments with secrets. */
export const nodeId = toNodeId({ name: 'n1', key: 'hSDwCYkwp1R0i33ctD73Wg2_Og0mOBr066SpjqqbTmo' });
const attach = (name: string): Ask => {
  const body = { capability: mounted, readonly: false };
  return (client, call) => client.attachVolume({ volumeId: `a.${name}`, nodeId, body }, call);
};
const snapshot = (name: string): Ask => {
  const body = { name, volumeId: 'a.source' };
  return (client, call) => client.createSnapshot({ snapshotId: `a.${name}`, body }, call);
};
const group = (name: string): Ask => {
  const body = { name, volumeIds: ['a.source', 'a.tuned'] };
  return (client, call) => client.createGroup({ groupId: `a.${name}`, body }, call);
};

/** The requests that make the objects that exist before any fault, on pools without groups. */
export const fixturesWithoutGroups: readonly Ask[] = [
  ...['gone', 'source', 'plain', 'held', 'grown', 'tuned'].map(name => create(name)),
  attach('held'),
  snapshot('old'),
];

/** The requests that make the objects that exist before any fault. */
export const fixtures: readonly Ask[] = [...fixturesWithoutGroups, group('pair')];

/** The names of the volumes that exist after all mutations, sorted. */
export const volumesAfter = ['copy', 'grown', 'held', 'made', 'plain', 'source', 'tuned'];

/** A change of the storage, and the request that causes it. */
export type Mutation = readonly [Target, Ask];

/**
 * Lists one mutation of each kind, with mutable parameters that the pool accepts. `unitBytes` is the size of the pool's
 * smallest volume. Neighbours use different methods, so that a retry does not meet the next crash.
 */
export function createMutations(
  mutableParameters: Readonly<Record<string, string>>,
  unitBytes = mebibyte,
): readonly Mutation[] {
  const tuned = { mutableParameters: { ...mutableParameters } };
  const grown = { requiredBytes: 3 * unitBytes };
  return [
    ['create', create('made')],
    ['delete', (client, call) => client.deleteVolume({ volumeId: 'a.gone' }, call)],
    ['create', create('copy', copyOf('a.source'))],
    ['attach', attach('plain')],
    ['detach', (client, call) => client.detachVolume({ volumeId: 'a.held', nodeId }, call)],
    ['snapshot', snapshot('cut')],
    ['snapshot-delete', (client, call) => client.deleteSnapshot({ snapshotId: 'a.old' }, call)],
    ['expand', (client, call) => client.expandVolume({ volumeId: 'a.grown', body: grown }, call)],
    ['modify', (client, call) => client.modifyVolume({ volumeId: 'a.tuned', body: tuned }, call)],
    ['group', group('both')],
    ['group-delete', (client, call) => client.deleteGroup({ groupId: 'a.pair' }, call)],
  ];
}

type KillPlan = {
  readonly directory: string;
  readonly point: (typeof crashPoints)[number];
  readonly afterKill?: () => Promise<void>;
};

/**
 * Kills a gateway at this point of each mutation. Each next gateway first completes the mutation before. The last one
 * stays incomplete.
 */
export async function killInEach(
  t: CleanupScope,
  mutations: readonly Mutation[],
  { directory, point, afterKill }: KillPlan,
): Promise<void> {
  let unfinished: Ask | undefined;
  for (const [method, ask] of mutations) {
    const running = await runGateway(t, {
      directory,
      faults: [{ on: [method], call: 1, fault: 'crash', point }],
    });
    if (unfinished) await askPatiently(running, unfinished);
    await askAndLose(running, ask);
    await afterKill?.();
    unfinished = ask;
  }
}

/** The moment of an interruption: before or after the storage does the work of a call. */
export type Moment = 'before' | 'after';

/** The way of calls to a storage. `interrupt` runs at each call that changes something; an error cuts the call off. */
export type StorageWay = { interrupt(moment: Moment, call: string): Promise<void> };

type InterruptionPlan = {
  readonly way: StorageWay;
  readonly moment: Moment;
  readonly interrupt: () => Promise<void>;
};

/** Completes each mutation, with one interruption at each different call with which it changes the storage. */
export async function interruptEach(
  gateway: RunningGateway,
  mutations: readonly Mutation[],
  { way, moment, interrupt }: InterruptionPlan,
): Promise<void> {
  for (const [target, ask] of mutations) {
    const interrupted = new Set<string>();
    way.interrupt = async (now, call) => {
      if (now !== moment || interrupted.has(call)) return;
      interrupted.add(call);
      await interrupt();
    };
    await askPatiently(gateway, ask);
    assert.ok(interrupted.size > 0, `"${target}" does not change the storage`);
  }
  way.interrupt = async () => {};
}

/**
 * Fails unless repeated requests get the same answers, and exactly the required volumes are there. Returns them with the
 * snapshots.
 */
export async function requireComplete(gateway: RunningGateway, mutations: readonly Mutation[]) {
  for (const [, ask] of mutations) {
    const answer = await askPatiently(gateway, ask);
    assert.deepEqual(await askPatiently(gateway, ask), answer);
  }
  const { volumes } = await gateway.client.listVolumes({}, callWithin(10_000));
  const { snapshots } = await gateway.client.listSnapshots({}, callWithin(10_000));
  assert.deepEqual(
    volumes.map(({ id, state, pending }) => ({ id, state, pending })),
    volumesAfter.map(name => ({ id: `a.${name}`, state: 'ready', pending: undefined })),
  );
  const attached = volumes.flatMap(({ id, attachments }) => attachments.map(({ state }) => `${id} ${state}`));
  assert.deepEqual(attached, ['a.plain attached']);
  return { volumes, snapshots };
}
