import { readParameterSchema } from '../../api/schemas/parameters.ts';
import { accessModes } from '../../api/storage.ts';
import type { Volume, VolumeSource, VolumeSpec } from '../../api/volume.ts';
import { expect, skip } from '../finding.ts';
import { holdTogether } from '../fixtures/barrier.ts';
import { expectOne, nameOf } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { sameJson } from '../../lib/json.ts';
import { findMutable, modifications } from '../fixtures/mutations.ts';
import { leaveShared } from './sharing.ts';
import { must, type Chapter } from '../requirement.ts';

const crowd = 8;
/** Tolerated difference between the clocks of the vendor and of this machine. */
const clockMs = 24 * 3_600_000;

/** The requirements of chapter 3, sections 1 to 4. */
export const volumes = {
  'FL-3.1-1': must(
    'Creating a volume answers 201, or 202 until it is done; then the volume is `ready` with the requested name and parameters.',
  ).check(async kit => {
    const volumeId = kit.id();
    const body = kit.specOf(volumeId);
    const first = await kit.ask('createVolume', { volumeId, body });
    const isNew = first.status === 201 || first.status === 202;
    expect(isNew, `201 or 202 for a new volume, not ${first.status}`, first.exchange);
    await kit.done('createVolume', { volumeId, body });
    const volume = await kit.done('getVolume', { volumeId });
    expect(
      volume.state === 'ready' && volume.name === nameOf(volumeId),
      `state "ready" and name "${nameOf(volumeId)}", not "${volume.state}" and "${volume.name}"`,
    );
    expect(
      sameJson(volume.parameters, kit.parameters),
      `the requested parameters ${JSON.stringify(kit.parameters)}, not ${JSON.stringify(volume.parameters)}`,
    );
  }),
  'FL-3.1-2': must('`sizeBytes` is at least `requiredBytes` and at most `limitBytes`.').check(async kit => {
    const { stepBytes } = kit.sizes;
    const small = kit.smallSize();
    for (const [requiredBytes, limitBytes] of [
      [small, small],
      [small + 1, small + stepBytes],
      [small, small * 4],
      [small * 3, 0],
      [1, small * 2],
    ] as const) {
      const { sizeBytes } = await kit.createVolume({ requiredBytes, limitBytes });
      const isWithin = sizeBytes >= requiredBytes && (limitBytes === 0 || sizeBytes <= limitBytes);
      expect(isWithin, `a size from ${requiredBytes} to ${limitBytes || 'any'} bytes, not ${sizeBytes}`);
    }
  }),
  'FL-3.1-3': must(
    'Without `requiredBytes` the vendor chooses a size above 0 and within `limitBytes`.',
  ).check(async kit => {
    const limitBytes = kit.smallSize(2);
    const { sizeBytes } = await kit.createVolume({ requiredBytes: 0, limitBytes });
    expect(
      sizeBytes > 0 && sizeBytes <= limitBytes,
      `a size from 1 to ${limitBytes} bytes, not ${sizeBytes}`,
    );
  }),
  'FL-3.1-4': must(
    '`requiredBytes` above `limitBytes` is INVALID_ARGUMENT or OUT_OF_RANGE, and leaves no volume.',
  ).check(async kit => {
    const limitBytes = kit.smallSize();
    await kit.refuseVolume({ requiredBytes: limitBytes + 1, limitBytes }, [
      'INVALID_ARGUMENT',
      'OUT_OF_RANGE',
    ]);
  }),
  'FL-3.1-5': must('A capability that is not offered is INVALID_ARGUMENT, and leaves no volume.').check(
    async kit => {
      const mode = accessModes.find(one => !kit.capabilities.accessModes.includes(one));
      if (!mode) throw skip('the vendor offers every access mode');
      await kit.refuseVolume({ capabilities: [kit.capabilityOf(mode)] }, ['INVALID_ARGUMENT']);
    },
  ),
  'FL-3.1-6': must('`createdAt` is an ISO 8601 time within a day of the request.').check(async kit => {
    const { createdAt } = await kit.createVolume();
    const isIso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(createdAt);
    expect(isIso, `"createdAt" is a time such as 2026-01-31T12:00:00.000Z, not "${createdAt}"`);
    const isNow = Math.abs(Date.parse(createdAt) - Date.now()) < clockMs;
    expect(isNow, `"createdAt" is at most a day from now, not ${createdAt}`);
  }),
  'FL-3.1-7': must(
    'Parameters that do not match the published schema are INVALID_ARGUMENT, and leave no volume.',
  ).check(async kit => {
    const schema = kit.capabilities.parameters?.volume;
    const strange = { ...kit.parameters, 'no-such-parameter': 'x' };
    if (!schema || readParameterSchema(schema).findFaults(strange).length === 0)
      throw skip('the vendor publishes no schema that forbids unknown parameters');
    await kit.refuseVolume({ parameters: strange }, ['INVALID_ARGUMENT']);
  }),
  'FL-3.2-1': must('A repeated request answers 200 with the same volume, and creates no second one.').check(
    async kit => {
      const volume = await kit.createVolume();
      for (let again = 0; again < 3; again++) {
        const answer = await kit.settle('createVolume', { volumeId: volume.id, body: kit.specOf(volume.id) });
        expect(answer.status === 200, `200 for an existing volume, not ${answer.status}`, answer.exchange);
        expectOne('volume', volume, answer.body);
      }
      await kit.expectListedOnce('listVolumes', volume);
    },
  ),
  'FL-3.2-2': must(
    'A request for the same id with a size that does not fit is ALREADY_EXISTS, and the volume does not change.',
  ).check(async kit => {
    const volume = await kit.createVolume({ requiredBytes: kit.smallSize(2), limitBytes: kit.smallSize(2) });
    const others = [
      { requiredBytes: kit.smallSize(4) },
      { requiredBytes: kit.smallSize(), limitBytes: kit.smallSize(2) - 1 },
    ];
    for (const other of others) await refuseAgain(kit, volume, other);
  }),
  'FL-3.2-3': must(
    'A request for the same id with another name, source, parameters or mutable parameters is ALREADY_EXISTS, and the volume does not change.',
  ).check(async kit => {
    const volume = await kit.createVolume();
    await refuseAgain(kit, volume, { name: `${volume.name}-x` });
    const other = otherParameters(kit);
    if (other) await refuseAgain(kit, volume, { parameters: other });
    await refuseOtherMutable(kit);
    for (const [source, another] of await sourcePairs(kit)) {
      await refuseAgain(kit, volume, { source });
      const copy = await kit.createVolume({ source, requiredBytes: 0 });
      await refuseAgain(kit, copy, { source: another, requiredBytes: 0 });
      await refuseAgain(kit, copy, { requiredBytes: 0 });
    }
  }),
  'FL-3.2-4': must(
    'Many concurrent equal requests create one volume; each answer is that volume, 202 or ABORTED.',
  ).check(async kit => {
    const volumeId = kit.id();
    const input = { volumeId, body: kit.specOf(volumeId) };
    const network = holdTogether(crowd);
    const calls = Array.from({ length: crowd }, () => kit.done('createVolume', input, { network }));
    const made = await Promise.all(calls);
    const read = await kit.done('getVolume', { volumeId });
    for (const one of made) expectOne('volume', read, one);
    await kit.expectListedOnce('listVolumes', read);
  }),
  'FL-3.2-5': must('After a refused request, a valid request for the same id creates the volume.').check(
    async kit => {
      const volumeId = kit.id();
      const requiredBytes = kit.smallSize();
      const impossible = {
        ...kit.specOf(volumeId),
        requiredBytes: requiredBytes + 1,
        limitBytes: requiredBytes,
      };
      await kit.refused('createVolume', { volumeId, body: impossible }, ['INVALID_ARGUMENT', 'OUT_OF_RANGE']);
      const { sizeBytes } = await kit.createVolume({ requiredBytes }, volumeId);
      expect(
        sizeBytes >= requiredBytes,
        `the second request creates a volume of at least ${requiredBytes} bytes, not ${sizeBytes}`,
      );
    },
  ),
  'FL-3.2-6': must(
    'After a volume is deleted, a request for the same id creates a new one, of any size, with nothing of the deleted one.',
  ).check(async kit => {
    const first = await kit.createVolume();
    const { id: volumeId } = first;
    for (const input of modifications(kit, volumeId).slice(-1)) await kit.done('modifyVolume', input);
    const nodeId = await kit.createNode();
    await kit.attach(volumeId, nodeId);
    await kit.done('detachVolume', { volumeId, nodeId });
    await kit.done('deleteVolume', { volumeId });
    const requiredBytes = kit.smallSize(3);
    const { status, body, exchange } = await kit.settle('createVolume', {
      volumeId,
      body: kit.specOf(volumeId, { requiredBytes }),
    });
    expect(
      status < 300 && body.sizeBytes >= requiredBytes,
      `a new volume of ${requiredBytes} bytes`,
      exchange,
    );
    const isNew = sameJson(body.mutableParameters, first.mutableParameters) && body.attachments.length === 0;
    expect(isNew, 'neither the parameters nor the attachments of the deleted volume', exchange);
    await kit.refused('getAttachment', { volumeId, nodeId }, ['NOT_FOUND']);
    await kit.expectListedOnce('listVolumes', body);
  }),
  'FL-3.2-7': must(
    'After a volume was modified or expanded, the request that created it answers 200 with the volume as it now is.',
  ).check(async kit => {
    const { id: volumeId } = await kit.createVolume();
    const changes = modifications(kit, volumeId);
    if (changes.length === 0 && !kit.has('expand'))
      throw skip('the vendor can neither modify nor expand volumes');
    for (const input of changes) await kit.done('modifyVolume', input);
    if (kit.has('expand'))
      await kit.done('expandVolume', { volumeId, body: { requiredBytes: kit.smallSize(2) } });
    const now = await kit.done('getVolume', { volumeId });
    const { status, body, exchange } = await kit.settle('createVolume', {
      volumeId,
      body: kit.specOf(volumeId),
    });
    const isSame = status === 200 && body.sizeBytes === now.sizeBytes;
    const isKept = sameJson(body.mutableParameters, now.mutableParameters);
    expect(isSame && isKept, '200 with the changed volume', exchange);
    await kit.expectSame(now);
  }),
  'FL-3.3-1': must(
    'Reading a volume gives the same as creating it; reading a missing volume is NOT_FOUND.',
  ).check(async kit => {
    const volume = await kit.createVolume();
    await kit.expectSame(volume);
    await kit.refused('getVolume', { volumeId: kit.id() }, ['NOT_FOUND']);
  }),
  'FL-3.4-1': must(
    'Deleting a volume answers 204, or 202 until it is done; then the volume is NOT_FOUND and not in the list.',
  ).check(async kit => {
    const { id: volumeId } = await kit.createVolume();
    await kit.done('deleteVolume', { volumeId });
    await kit.expectNoVolume(volumeId);
  }),
  'FL-3.4-2': must('Deleting a missing volume, or deleting a volume twice, answers 204.').check(async kit => {
    const { id: volumeId } = await kit.createVolume();
    for (const id of [volumeId, volumeId, kit.id()]) await kit.done('deleteVolume', { volumeId: id });
  }),
  'FL-3.4-3': must(
    'Deleting an attached volume is FAILED_PRECONDITION until its last node is detached, and the volume does not change.',
  ).check(async kit => {
    const nodeId = await kit.createNode();
    const volume = await kit.createVolume();
    await kit.attach(volume.id, nodeId);
    await kit.refused('deleteVolume', { volumeId: volume.id }, ['FAILED_PRECONDITION']);
    await kit.expectSame(volume);
    const { state } = await kit.done('getAttachment', { volumeId: volume.id, nodeId });
    expect(state === 'attached', 'the volume stays attached');
    for (const { volumeId } of await leaveShared(kit))
      await kit.refused('deleteVolume', { volumeId }, ['FAILED_PRECONDITION']);
  }),
} satisfies Chapter;

/** Requires that two values of a mutable parameter make two requests. Both are explicit: one may be the vendor's default. */
async function refuseOtherMutable(kit: Kit): Promise<void> {
  const { name = '', values = [] } = (kit.has('modify') && findMutable(kit)) || {};
  const [first, second] = values;
  if (first === undefined || second === undefined) return;
  const volume = await kit.createVolume({ mutableParameters: { [name]: first } });
  await refuseAgain(kit, volume, { mutableParameters: { [name]: second } });
}

async function refuseAgain(kit: Kit, volume: Volume, more: Partial<VolumeSpec>): Promise<void> {
  const body = kit.specOf(volume.id, more);
  await kit.refused('createVolume', { volumeId: volume.id, body }, ['ALREADY_EXISTS']);
  await kit.expectSame(volume);
}

/** Makes two sources of each kind that the vendor offers. */
async function sourcePairs(kit: Kit): Promise<readonly (readonly [VolumeSource, VolumeSource])[]> {
  if (!kit.has('clone') && !kit.has('restore')) return [];
  const [one, other] = [await kit.createVolume(), await kit.createVolume()];
  const clones = [
    { kind: 'volume', volumeId: one.id },
    { kind: 'volume', volumeId: other.id },
  ] as const;
  if (!kit.has('restore')) return [clones];
  const [first, second] = [await kit.takeSnapshot(one.id), await kit.takeSnapshot(one.id)];
  const copies = [
    { kind: 'snapshot', snapshotId: first.id },
    { kind: 'snapshot', snapshotId: second.id },
  ] as const;
  return kit.has('clone') ? [clones, copies] : [copies];
}

/** Finds parameters that differ from the usual ones and that the vendor's schema allows; undefined if none are known. */
function otherParameters({ capabilities, parameters }: Kit): Readonly<Record<string, string>> | undefined {
  const schema = capabilities.parameters?.volume;
  if (!schema) return undefined;
  const { properties = {} } = schema as {
    readonly properties?: Readonly<Record<string, { enum?: string[] }>>;
  };
  const { findFaults } = readParameterSchema(schema);
  return Object.entries(properties)
    .flatMap(([name, { enum: values = ['verify'] }]) =>
      values.map(value => ({ ...parameters, [name]: value })),
    )
    .find(other => !sameJson(other, parameters) && findFaults(other).length === 0);
}
