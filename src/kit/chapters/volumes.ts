import { readParameterSchema } from '../../api/schemas/parameters.ts';
import { accessModes } from '../../api/storage.ts';
import type { Volume, VolumeSpec } from '../../api/volume.ts';
import { expect, skip } from '../finding.ts';
import {
  attach,
  expectNoVolume,
  expectSame,
  listAll,
  makeNode,
  makeVolume,
  nameOf,
  sizesOf,
  smallSize,
  specOf,
  capabilityOf,
} from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import { sameJson } from '../../lib/json.ts';
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
    const body = specOf(kit, volumeId);
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
    const { stepBytes } = sizesOf(kit);
    const small = smallSize(kit);
    for (const [requiredBytes, limitBytes] of [
      [small, small],
      [small + 1, small + stepBytes],
      [small, small * 4],
      [small * 3, 0],
      [1, small * 2],
    ] as const) {
      const { sizeBytes } = await makeVolume(kit, { requiredBytes, limitBytes });
      const isWithin = sizeBytes >= requiredBytes && (limitBytes === 0 || sizeBytes <= limitBytes);
      expect(isWithin, `a size from ${requiredBytes} to ${limitBytes || 'any'} bytes, not ${sizeBytes}`);
    }
  }),
  'FL-3.1-3': must(
    'Without `requiredBytes` the vendor chooses a size above 0 and within `limitBytes`.',
  ).check(async kit => {
    const limitBytes = smallSize(kit, 2);
    const { sizeBytes } = await makeVolume(kit, { requiredBytes: 0, limitBytes });
    expect(
      sizeBytes > 0 && sizeBytes <= limitBytes,
      `a size from 1 to ${limitBytes} bytes, not ${sizeBytes}`,
    );
  }),
  'FL-3.1-4': must(
    '`requiredBytes` above `limitBytes` is INVALID_ARGUMENT or OUT_OF_RANGE, and leaves no volume.',
  ).check(async kit => {
    const limitBytes = smallSize(kit);
    await refuseNew(kit, { requiredBytes: limitBytes + 1, limitBytes }, ['INVALID_ARGUMENT', 'OUT_OF_RANGE']);
  }),
  'FL-3.1-5': must('A capability that is not offered is INVALID_ARGUMENT, and leaves no volume.').check(
    async kit => {
      const mode = accessModes.find(one => !kit.capabilities.accessModes.includes(one));
      if (!mode) throw skip('the vendor offers every access mode');
      await refuseNew(kit, { capabilities: [capabilityOf(kit, mode)] }, ['INVALID_ARGUMENT']);
    },
  ),
  'FL-3.1-6': must('`createdAt` is an ISO 8601 time within a day of the request.').check(async kit => {
    const { createdAt } = await makeVolume(kit);
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
    await refuseNew(kit, { parameters: strange }, ['INVALID_ARGUMENT']);
  }),
  'FL-3.2-1': must('A repeated request answers 200 with the same volume, and creates no second one.').check(
    async kit => {
      const volume = await makeVolume(kit);
      for (let again = 0; again < 3; again++) {
        const answer = await kit.settle('createVolume', {
          volumeId: volume.id,
          body: specOf(kit, volume.id),
        });
        expect(answer.status === 200, `200 for an existing volume, not ${answer.status}`, answer.exchange);
        requireOne(volume, answer.body);
      }
      await expectListedOnce(kit, volume);
    },
  ),
  'FL-3.2-2': must(
    'A request for the same id with a size that does not fit is ALREADY_EXISTS, and the volume does not change.',
  ).check(async kit => {
    const volume = await makeVolume(kit, { requiredBytes: smallSize(kit, 2), limitBytes: smallSize(kit, 2) });
    const others = [
      { requiredBytes: smallSize(kit, 4) },
      { requiredBytes: smallSize(kit), limitBytes: smallSize(kit, 2) - 1 },
    ];
    for (const other of others) await refuseAgain(kit, volume, other);
  }),
  'FL-3.2-3': must(
    'A request for the same id with another name, source or parameters is ALREADY_EXISTS, and the volume does not change.',
  ).check(async kit => {
    const volume = await makeVolume(kit);
    await refuseAgain(kit, volume, { name: `${volume.name}-x` });
    if (kit.has('clone')) {
      const source = await makeVolume(kit);
      await refuseAgain(kit, volume, { source: { kind: 'volume', volumeId: source.id } });
    }
    const other = otherParameters(kit);
    if (other) await refuseAgain(kit, volume, { parameters: other });
  }),
  'FL-3.2-4': must(
    'Many concurrent equal requests create one volume; each answer is that volume, 202 or ABORTED.',
  ).check(async kit => {
    const volumeId = kit.id();
    const input = { volumeId, body: specOf(kit, volumeId) };
    const made = await Promise.all(Array.from({ length: crowd }, () => kit.done('createVolume', input)));
    const read = await kit.done('getVolume', { volumeId });
    for (const one of made) requireOne(read, one);
    await expectListedOnce(kit, read);
  }),
  'FL-3.2-5': must('After a refused request, a valid request for the same id creates the volume.').check(
    async kit => {
      const volumeId = kit.id();
      const requiredBytes = smallSize(kit);
      const impossible = {
        ...specOf(kit, volumeId),
        requiredBytes: requiredBytes + 1,
        limitBytes: requiredBytes,
      };
      await kit.refused('createVolume', { volumeId, body: impossible }, ['INVALID_ARGUMENT', 'OUT_OF_RANGE']);
      const { sizeBytes } = await makeVolume(kit, { requiredBytes }, volumeId);
      expect(
        sizeBytes >= requiredBytes,
        `the second request creates a volume of at least ${requiredBytes} bytes, not ${sizeBytes}`,
      );
    },
  ),
  'FL-3.2-6': must(
    'After a volume is deleted, a request for the same id creates a new one, of any size.',
  ).check(async kit => {
    const volume = await makeVolume(kit);
    await kit.done('deleteVolume', { volumeId: volume.id });
    const requiredBytes = smallSize(kit, 3);
    const { status, body } = await kit.settle('createVolume', {
      volumeId: volume.id,
      body: specOf(kit, volume.id, { requiredBytes }),
    });
    expect(status < 300 && body.sizeBytes >= requiredBytes, `a new volume of ${requiredBytes} bytes`);
    await expectListedOnce(kit, body);
  }),
  'FL-3.3-1': must(
    'Reading a volume gives the same as creating it; reading a missing volume is NOT_FOUND.',
  ).check(async kit => {
    const volume = await makeVolume(kit);
    await expectSame(kit, volume);
    await kit.refused('getVolume', { volumeId: kit.id() }, ['NOT_FOUND']);
  }),
  'FL-3.4-1': must(
    'Deleting a volume answers 204, or 202 until it is done; then the volume is NOT_FOUND and not in the list.',
  ).check(async kit => {
    const { id: volumeId } = await makeVolume(kit);
    await kit.done('deleteVolume', { volumeId });
    await expectNoVolume(kit, volumeId);
  }),
  'FL-3.4-2': must('Deleting a missing volume, or deleting a volume twice, answers 204.').check(async kit => {
    const { id: volumeId } = await makeVolume(kit);
    for (const id of [volumeId, volumeId, kit.id()]) {
      const { status, exchange } = await kit.settle('deleteVolume', { volumeId: id });
      expect(status === 204, '204, even if the volume does not exist', exchange);
    }
  }),
  'FL-3.4-3': must(
    'Deleting an attached volume is FAILED_PRECONDITION, and the volume does not change.',
  ).check(async kit => {
    const nodeId = await makeNode(kit);
    const volume = await makeVolume(kit);
    await attach(kit, volume.id, nodeId);
    await kit.refused('deleteVolume', { volumeId: volume.id }, ['FAILED_PRECONDITION']);
    await expectSame(kit, volume);
    const { state } = await kit.done('getAttachment', { volumeId: volume.id, nodeId });
    expect(state === 'attached', 'the volume stays attached');
  }),
} satisfies Chapter;

async function refuseNew(
  kit: Kit,
  more: Partial<VolumeSpec>,
  codes: readonly ('INVALID_ARGUMENT' | 'OUT_OF_RANGE')[],
): Promise<void> {
  const volumeId = kit.id();
  await kit.refused('createVolume', { volumeId, body: specOf(kit, volumeId, more) }, codes);
  await expectNoVolume(kit, volumeId);
}

async function refuseAgain(kit: Kit, volume: Volume, more: Partial<VolumeSpec>): Promise<void> {
  const body = specOf(kit, volume.id, more);
  await kit.refused('createVolume', { volumeId: volume.id, body }, ['ALREADY_EXISTS']);
  await expectSame(kit, volume);
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

function requireOne(volume: Volume, other: Volume): void {
  for (const key of ['sizeBytes', 'createdAt', 'context'] as const)
    expect(
      sameJson(volume[key], other[key]),
      `the same volume in every answer: "${key}" is ${JSON.stringify(volume[key])}, not ${JSON.stringify(other[key])}`,
    );
}

async function expectListedOnce(kit: Kit, { id, name }: Volume): Promise<void> {
  const listed = (await listAll(kit, 'listVolumes')) as unknown as readonly Volume[];
  const { length } = listed.filter(one => one.id === id || one.name === name);
  expect(length === 1, `volume "${id}" is in the list once, not ${length} times`);
}
