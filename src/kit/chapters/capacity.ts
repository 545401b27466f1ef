import type { VolumeSource } from '../../api/volume.ts';
import { expect, skip } from '../finding.ts';
import { holdTogether } from '../fixtures/barrier.ts';
import { snapshotInput } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import type { MutationId } from '../fixtures/mutations.ts';
import type { Answer } from '../http/calls.ts';
import type { AnyInput } from '../http/exchange.ts';
import type { CallOptions } from '../http/wire.ts';
import { must, should, type Chapter } from '../requirement.ts';

const times = 3;
const crowd = 3;

/** The requirements of chapter 7, section 3. */
export const capacity = {
  'FL-7.3-1': must(
    '`availableBytes` is a whole number, and the limits of volume sizes lie within those of the capabilities.',
    'capacity',
  ).check(async kit => {
    const { availableBytes, minimumVolumeBytes = 0, maximumVolumeBytes = Infinity } = await readCapacity(kit);
    expect(Number.isSafeInteger(availableBytes), `"availableBytes" is a whole number, not ${availableBytes}`);
    const { minimumBytes, maximumBytes } = kit.sizes;
    const isNamed = kit.capabilities.limits !== undefined;
    const isWithin = !isNamed || minimumVolumeBytes === 0 || minimumVolumeBytes >= minimumBytes;
    expect(isWithin, `"minimumVolumeBytes" is at least ${minimumBytes}, not ${minimumVolumeBytes}`);
    const isBelow = maximumVolumeBytes === Infinity || maximumVolumeBytes <= maximumBytes;
    expect(isBelow, `"maximumVolumeBytes" is at most ${maximumBytes}, not ${maximumVolumeBytes}`);
  }),
  'FL-7.3-2': must(
    'A volume larger than `availableBytes` is created in full, or is RESOURCE_EXHAUSTED or OUT_OF_RANGE and leaves nothing.',
    'capacity',
  ).check(async kit => {
    const { availableBytes } = await readCapacity(kit);
    const { stepBytes } = kit.sizes;
    const volumeId = kit.id();
    const requiredBytes = (Math.floor(availableBytes / stepBytes) + 1) * stepBytes;
    if (!Number.isSafeInteger(requiredBytes))
      throw skip(`${availableBytes} available bytes are more than a request can ask for`);
    const { code, body, exchange } = await kit.settle('createVolume', {
      volumeId,
      body: kit.specOf(volumeId, { requiredBytes }),
    });
    if (code === undefined)
      return expect(
        body.sizeBytes >= requiredBytes,
        `at least ${requiredBytes} bytes, not ${body.sizeBytes}`,
        exchange,
      );
    const isFull = code === 'RESOURCE_EXHAUSTED' || code === 'OUT_OF_RANGE';
    expect(isFull, `success, RESOURCE_EXHAUSTED or OUT_OF_RANGE, not ${code}`, exchange);
    await kit.expectNoVolume(volumeId);
  }),
  'FL-7.3-3': must(
    'Deleting a volume, a copy or a snapshot gives all its bytes back, also those of an expansion, and a refused request takes none.',
    'capacity',
  ).check(async kit => {
    const requiredBytes = countedSize(kit);
    for (const [name, use] of Object.entries(usesOf(kit, requiredBytes))) {
      const lost = await minOf(async () => {
        const before = await readCapacity(kit);
        for (let again = 0; again < times; again++) await use((id, input) => kit.done(id, input as never));
        return before.availableBytes - (await readCapacity(kit)).availableBytes;
      });
      const isBack = lost < (requiredBytes * times) / 2;
      expect(isBack, `deleting ${times} ${name} gives all their bytes back; ${lost} bytes are missing`);
    }
  }),
  'FL-7.3-4': should(
    'Creating a volume takes its bytes from `availableBytes` once, even if the request is repeated.',
    'capacity',
  ).check(async kit => {
    const requiredBytes = countedSize(kit);
    const taken = await minOf(async () => {
      const before = await readCapacity(kit);
      const volumeId = kit.id();
      const body = kit.specOf(volumeId, { requiredBytes });
      for (let again = 0; again < 4; again++) await kit.done('createVolume', { volumeId, body });
      const now = await readCapacity(kit);
      await kit.done('deleteVolume', { volumeId });
      return before.availableBytes - now.availableBytes;
    });
    const isOnce = taken < requiredBytes * 2;
    expect(isOnce, `a volume of ${requiredBytes} bytes takes its size once, not ${taken} bytes`);
  }),
  'FL-7.3-5': must(
    'If the server refuses requests for which there is no space, concurrent ones do not share the same space.',
    'capacity',
  ).check(async kit => {
    const requiredBytes = await largerHalf(kit);
    const { id: first } = await kit.createVolume({ requiredBytes });
    await kit.done('deleteVolume', { volumeId: first });
    const isCounted = await requireOwnSpace(kit, {
      name: 'volumes',
      take: (volumeId, more) =>
        kit.settle('createVolume', { volumeId, body: kit.specOf(volumeId, { requiredBytes }) }, more),
      remove: volumeId => kit.done('deleteVolume', { volumeId }),
    });
    if (!isCounted) throw skip('the vendor creates volumes beyond its available bytes');
    if (kit.has('expand')) await expandTogether(kit, requiredBytes);
    if (kit.has('snapshots') || kit.has('clone')) await copyTogether(kit);
  }),
} satisfies Chapter;

/** Returns a size with space for one volume and not for two. */
async function largerHalf(kit: Kit): Promise<number> {
  if (kit.hasForeign) throw skip('other volumes at the server may change the available bytes');
  const { availableBytes } = await readCapacity(kit);
  const { stepBytes, maximumBytes } = kit.sizes;
  const sizeBytes = Math.ceil((availableBytes * 0.6) / stepBytes) * stepBytes;
  if (sizeBytes <= kit.smallSize(2) || sizeBytes > maximumBytes || !Number.isSafeInteger(sizeBytes))
    throw skip(`no volume can take more than half of the ${availableBytes} available bytes`);
  return sizeBytes;
}

/** A kind of request that takes space, by the id of its new resource, and the deletion of this resource. */
type SpaceTaker = {
  /** The name of the resources. */
  readonly name: string;
  readonly take: (id: string, more?: CallOptions) => Promise<Pick<Answer, 'code' | 'exchange'>>;
  readonly remove: (id: string) => Promise<unknown>;
};

/** Throws a fault if requests at once share the space for one. Returns false if one after the other finds space for two. */
async function requireOwnSpace(kit: Kit, { name, take, remove }: SpaceTaker): Promise<boolean> {
  const [first, second] = [kit.id(), kit.id()];
  const codes = [(await take(first)).code, (await take(second)).code];
  for (const id of [first, second]) await remove(id);
  if (codes[0] !== undefined || codes[1] !== 'RESOURCE_EXHAUSTED') return false;
  const ids = Array.from({ length: crowd }, () => kit.id());
  const network = holdTogether(crowd);
  const answers = await Promise.all(ids.map(id => take(id, { network })));
  const made = answers.filter(({ code }) => code === undefined).length;
  const expected = `at most one of ${crowd} ${name} gets the space that is enough for one, not ${made}`;
  expect(made <= 1, expected, answers.at(-1)?.exchange);
  for (const id of ids) await remove(id);
  return true;
}

/** Throws a fault if snapshots or clones share the space of one, where each takes the space of its volume. */
async function copyTogether(kit: Kit): Promise<void> {
  const requiredBytes = kit.smallSize(16);
  const { availableBytes } = await readCapacity(kit);
  const { stepBytes, maximumBytes } = kit.sizes;
  // Beside the volume and all others there is space for one and a half copies.
  const otherBytes = Math.floor((availableBytes - 2.5 * requiredBytes) / stepBytes) * stepBytes;
  if (otherBytes < requiredBytes) return;
  const { id: volumeId } = await kit.createVolume({ requiredBytes });
  const other = kit.id();
  const body = kit.specOf(other, { requiredBytes: Math.min(otherBytes, maximumBytes) });
  const { code } = await kit.settle('createVolume', { volumeId: other, body });
  if (code === undefined && kit.has('snapshots'))
    await requireOwnSpace(kit, {
      name: 'snapshots',
      take: (snapshotId, more) => kit.settle('createSnapshot', snapshotInput(snapshotId, volumeId), more),
      remove: snapshotId => kit.done('deleteSnapshot', { snapshotId }),
    });
  const source = { kind: 'volume', volumeId } as const;
  if (code === undefined && kit.has('clone'))
    await requireOwnSpace(kit, {
      name: 'clones',
      take: (id, more) =>
        kit.settle('createVolume', { volumeId: id, body: kit.specOf(id, { source, requiredBytes }) }, more),
      remove: id => kit.done('deleteVolume', { volumeId: id }),
    });
  for (const id of [other, volumeId]) await kit.done('deleteVolume', { volumeId: id });
}

/** Throws a fault if two volumes grow into the same space. */
async function expandTogether(kit: Kit, requiredBytes: number): Promise<void> {
  const volumes = [await kit.createVolume(), await kit.createVolume()];
  const network = holdTogether(volumes.length);
  const calls = volumes.map(({ id: volumeId }) =>
    kit.settle('expandVolume', { volumeId, body: { requiredBytes } }, { network }),
  );
  const answers = await Promise.all(calls);
  const grown = answers.filter(({ code }) => code === undefined).length;
  expect(grown <= 1, `at most one of two volumes grows into the last space`, answers.at(-1)?.exchange);
  for (const { id: volumeId } of volumes) await kit.done('deleteVolume', { volumeId });
}

export function readCapacity(kit: Kit) {
  return kit.done('getCapacity', { body: { capabilities: kit.specOf(kit.id()).capabilities } });
}

/** Returns a size that is larger than usual fluctuations of the available bytes. */
export function countedSize(kit: Kit): number {
  if (!kit.has('capacity')) throw skip('the vendor does not offer capacity');
  if (kit.hasForeign) throw skip('other volumes at the server may change the available bytes');
  return kit.smallSize(64);
}

type Send = (id: MutationId, input: AnyInput) => Promise<unknown>;

/** Makes a resource by a request that takes space, which `send` sends, and deletes the resource. */
export type SpaceUse = (send: Send) => Promise<void>;

/** Makes the kinds of work that take bytes and give them back, by the names of the deleted resources. */
export function usesOf(kit: Kit, requiredBytes: number): Readonly<Record<string, SpaceUse>> {
  const create = async (send: Send, source?: VolumeSource): Promise<void> => {
    const volumeId = kit.id();
    const body = kit.specOf(volumeId, { requiredBytes, ...(source && { source }) });
    await send('createVolume', { volumeId, body });
    await kit.done('deleteVolume', { volumeId });
  };
  const using =
    (bytes: number, use: (send: Send, volumeId: string) => Promise<unknown>): SpaceUse =>
    async send => {
      const { id: volumeId } = await kit.createVolume({ requiredBytes: bytes });
      await use(send, volumeId);
      await kit.done('deleteVolume', { volumeId });
    };
  const refuse = async (_: Send, volumeId: string): Promise<void> => {
    const impossible = { ...kit.specOf(kit.id()), requiredBytes, limitBytes: requiredBytes - 1 };
    await kit.settle('createVolume', { volumeId: kit.id(), body: impossible });
    const other = { ...kit.specOf(volumeId), requiredBytes: requiredBytes * 2 };
    await kit.settle('createVolume', { volumeId, body: other });
    if (!kit.has('clone')) return;
    const missing = kit.specOf(kit.id(), { requiredBytes, source: { kind: 'volume', volumeId: kit.id() } });
    await kit.settle('createVolume', { volumeId: kit.id(), body: missing });
  };
  const expand = (send: Send, volumeId: string) =>
    send('expandVolume', { volumeId, body: { requiredBytes } });
  const snapshot = async (send: Send, volumeId: string): Promise<void> => {
    const snapshotId = kit.id();
    await send('createSnapshot', snapshotInput(snapshotId, volumeId));
    // A snapshot whose request was given up may be missing.
    const { code } = await kit.settle('getSnapshot', { snapshotId });
    if (code === undefined) await kit.untilReady(() => kit.done('getSnapshot', { snapshotId }));
    await kit.done('deleteSnapshot', { snapshotId });
  };
  const restore = async (send: Send, volumeId: string): Promise<void> => {
    const { id: snapshotId } = await kit.takeSnapshot(volumeId);
    await create(send, { kind: 'snapshot', snapshotId });
    await kit.done('deleteSnapshot', { snapshotId });
  };
  const clone = (send: Send, volumeId: string) => create(send, { kind: 'volume', volumeId });
  return {
    volumes: send => create(send),
    'volumes of refused requests': using(requiredBytes, refuse),
    ...(kit.has('expand') && { 'expanded volumes': using(kit.smallSize(), expand) }),
    ...(kit.has('snapshots') && { snapshots: using(requiredBytes, snapshot) }),
    ...(kit.has('clone') && { clones: using(requiredBytes, clone) }),
    ...(kit.has('restore') && { 'restored volumes': using(requiredBytes, restore) }),
  };
}

/** Returns the smallest of a few measurements: other users of the same disks make a single one too large. */
export async function minOf(measure: () => Promise<number>): Promise<number> {
  let min = Infinity;
  for (let again = 0; again < times && min > 0; again++) min = Math.min(min, await measure());
  return min;
}
