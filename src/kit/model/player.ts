import type { OperationId } from '../../api/operations.ts';
import { idsOf, snapshotInput } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import type { AnyInput } from '../http/exchange.ts';
import type { Call, Observation, World } from './world.ts';

/** Sends calls of the model to the vendor. Each of the model's short names stands for a fresh id. */
export interface Player {
  /** Sends the call, and repeats it until it is done. */
  play(call: Call, more?: PlayOptions): Promise<Observation>;
  /** Describes the first difference between the vendor's state and the world; undefined when they agree. */
  differenceTo(world: World): Promise<string | undefined>;
}

type PlayOptions = {
  /** True to send the call once more before, and to lose that answer. */
  readonly isLost?: boolean;
  /** Delays the call, once its connection to the vendor is open, until the promise resolves. */
  readonly until?: () => Promise<unknown>;
};

/** The short names of the model's resources. */
export const names = { volumes: ['v1', 'v2', 'v3'], nodes: ['n1', 'n2'], snapshots: ['s1', 's2'] } as const;

/** Creates a player with fresh ids for all names, and with its nodes recorded at the vendor. */
export async function createPlayer(kit: Kit): Promise<Player> {
  const all = [...names.volumes, ...names.snapshots];
  const nodes = await Promise.all(names.nodes.map(async name => [name, await kit.createNode()] as const));
  const ids = new Map<string, string>([...all.map(name => [name, kit.id()] as const), ...nodes]);
  const idOf = (name: string): string => ids.get(name) ?? '';

  async function compareVolume(name: string, world: World, listed: ReadonlySet<string>) {
    const [id, known, node] = [idOf(name), world.volumes[name], world.nodes[name]];
    const label = `volume ${name} ("${id}")`;
    const { code, body } = await kit.settle('getVolume', { volumeId: id });
    const isThere = code === undefined;
    if (isThere !== (known !== undefined)) return `${label} ${isThere ? 'exists' : 'does not exist'}`;
    if (listed.has(id) !== isThere)
      return isThere
        ? `${label} is missing in the list`
        : `${label} is in the list, though it does not exist`;
    if (!known || !isThere) return undefined;
    const minBytes = known.units * kit.smallSize();
    if (body.sizeBytes < minBytes) return `${label} has ${body.sizeBytes} bytes, not ${minBytes}`;
    const found = body.attachments.map(({ nodeId }) => nodeId).join(', ');
    const wanted = node === undefined ? '' : idOf(node);
    return found === wanted ? undefined : `${label} is attached to "${found}", not to "${wanted}"`;
  }

  return {
    async play(call, { isLost = false, until } = {}) {
      const [operation, input] = toRequest(kit, call, idOf);
      if (isLost) await kit.lose(operation, input as never, { kind: 'cut-answer' });
      const more = until && ({ network: { kind: 'hold', until, isDialled: true } } as const);
      const { code, isRepeated } = await kit.settle(operation, input as never, more);
      return { call, code, isRepeated };
    },
    async differenceTo(world) {
      const listed = new Set(idsOf(await kit.listAll('listVolumes')));
      for (const name of names.volumes) {
        const difference = await compareVolume(name, world, listed);
        if (difference) return difference;
      }
      if (!kit.has('snapshots')) return undefined;
      for (const name of names.snapshots) {
        const { code } = await kit.settle('getSnapshot', { snapshotId: idOf(name) });
        const isThere = code === undefined;
        if (isThere !== (world.snapshots[name] !== undefined))
          return `snapshot ${name} ("${idOf(name)}") ${isThere ? 'exists' : 'does not exist'}`;
      }
      return undefined;
    },
  };
}

function toRequest(kit: Kit, call: Call, idOf: (name: string) => string): readonly [OperationId, AnyInput] {
  const volumeId = 'volume' in call ? idOf(call.volume) : '';
  switch (call.kind) {
    case 'create': {
      const requiredBytes = kit.smallSize(call.units);
      return ['createVolume', { volumeId, body: kit.specOf(volumeId, { requiredBytes }) }];
    }
    case 'restore': {
      const source = { kind: 'snapshot', snapshotId: idOf(call.snapshot) } as const;
      return ['createVolume', { volumeId, body: kit.specOf(volumeId, { requiredBytes: 0, source }) }];
    }
    case 'delete':
      return ['deleteVolume', { volumeId }];
    case 'read':
      return ['getVolume', { volumeId }];
    case 'attach':
      return ['attachVolume', { volumeId, nodeId: idOf(call.node), body: kit.accessOf() }];
    case 'detach':
      return ['detachVolume', { volumeId, nodeId: idOf(call.node) }];
    case 'expand':
      return ['expandVolume', { volumeId, body: { requiredBytes: kit.smallSize(call.units) } }];
    case 'snapshot':
      return ['createSnapshot', snapshotInput(idOf(call.snapshot), volumeId)];
    case 'unsnapshot':
      return ['deleteSnapshot', { snapshotId: idOf(call.snapshot) }];
  }
}
