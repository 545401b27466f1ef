import { toNodeId } from '../../../src/api/ids.ts';
import type { VolumeSpec } from '../../../src/api/volume.ts';
import type { Target } from '../../fakes/faulty-backend/rules.ts';
import { mounted, volumeSpec } from '../../harness/gateway.ts';
import type { crashPoints } from '../../fakes/faulty-backend/rules.ts';
import { runGateway } from '../../harness/gateway/program.ts';
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
const grown = { requiredBytes: 3 * mebibyte };

/** The requests that make the objects that exist before any fault. */
export const fixtures: readonly Ask[] = [
  ...['gone', 'source', 'plain', 'held', 'grown', 'tuned'].map(name => create(name)),
  attach('held'),
  snapshot('old'),
  group('pair'),
];

/** A change of the storage, and the request that causes it. */
export type Mutation = readonly [Target, Ask];

/**
 * Lists one mutation of each kind, with mutable parameters that the pool accepts. Neighbours use different methods, so
 * that a retry does not meet the next crash.
 */
export function createMutations(mutableParameters: Readonly<Record<string, string>>): readonly Mutation[] {
  const tuned = { mutableParameters: { ...mutableParameters } };
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
