import type { OperationId } from '../../../api/operations.ts';
import type { VolumeSpec } from '../../../api/volume.ts';
import { accessOf, nameOf, specOf } from './fixtures.ts';
import type { Kit } from './kit.ts';
import { idsOf, type AnyInput } from '../http/wire.ts';

/** A request of any operation that its schemas allow, for resources that are not there. */
export function inputFor(kit: Kit, id: OperationId): AnyInput {
  const fresh = kit.id();
  const bodies: Partial<Record<OperationId, object>> = {
    getCapacity: {},
    createVolume: specOf(kit, fresh),
    expandVolume: { requiredBytes: 1 },
    modifyVolume: { mutableParameters: {} },
    attachVolume: accessOf(kit),
    createSnapshot: { name: nameOf(fresh), volumeId: kit.id() },
    createGroup: { name: nameOf(fresh), volumeIds: [kit.id()] },
    putNode: {},
  };
  const body = bodies[id];
  const ids = Object.fromEntries(Object.keys(idsOf(id, {})).map(name => [name, fresh]));
  return { ...ids, ...(body && { body }) };
}

/** Bodies that are no request for a volume: not JSON, of another kind, with a member missing or wrong. */
export function badBodies(good: VolumeSpec): readonly string[] {
  const { name, capabilities, ...rest } = good;
  const wrong: readonly object[] = [
    { ...rest, capabilities },
    { ...rest, name },
    { ...good, name: '' },
    { ...good, capabilities: [] },
    { ...good, capabilities: [{ accessMode: 'NO_SUCH_MODE', accessType: 'mount' }] },
    { ...good, requiredBytes: -1 },
    { ...good, requiredBytes: 1.5 },
    { ...good, requiredBytes: '1048576' },
    { ...good, parameters: { size: 1 } },
  ];
  return ['', '{', 'null', '[]', '"text"', ...wrong.map(body => JSON.stringify(body))];
}

/** Bodies with a member that the schema does not have, at the top and further down. */
export function nestedStrangers(good: VolumeSpec): readonly object[] {
  const [way] = good.capabilities;
  return [
    { ...good, noSuchMember: true },
    { ...good, capabilities: [{ ...way, noSuchMember: true }] },
  ];
}
