import { createHash } from 'node:crypto';
import type { ExistingVolume, Volume } from '../../api/volume.ts';
import type { DriverVolume } from '../existing.ts';
import { expect, skip } from '../finding.ts';
import { holdTogether } from '../fixtures/barrier.ts';
import { causeOf } from '../fixtures/cause.ts';
import { withDisk } from '../fixtures/disk.ts';
import { expectOne, nameOf } from '../fixtures/fixtures.ts';
import type { Kit } from '../fixtures/kit.ts';
import type { InputOf } from '../http/calls.ts';
import { must, type Chapter } from '../requirement.ts';
import { requireRestart, restart } from './restarts.ts';

const crowd = 4;
const pieceBytes = 2 ** 20;

/** The requirements on volumes that a CSI driver made before. */
export const imports = {
  'FL-3.9-1': must(
    'An existing volume becomes the volume of the request, `ready` with the size of the request; a repeated request answers 200 with the same volume, and the list has it once.',
    'import',
  ).check(async kit => {
    const { input, volume } = await importVolume(kit);
    const { requiredBytes } = input.body;
    expect(
      volume.state === 'ready' && volume.sizeBytes === requiredBytes,
      `state "ready" and ${requiredBytes} bytes, not "${volume.state}" and ${volume.sizeBytes}`,
    );
    await expectRepeated(kit, input, volume);
    await kit.expectListedOnce('listVolumes', volume);
  }),
  'FL-3.9-2': must(
    'Of concurrent requests with other ids for one existing volume, one imports it; the others are FAILED_PRECONDITION, also later, and leave no volume.',
    'import',
  ).check(async kit => {
    const made = await createExisting(kit);
    const network = holdTogether(crowd);
    const inputs = Array.from({ length: crowd }, () => inputOf(kit, made));
    const answers = await Promise.all(inputs.map(input => kit.settle('createVolume', input, { network })));
    const taken = answers.filter(({ code }) => code === undefined);
    expect(taken.length === 1, `one volume of "${made.handle}", not ${taken.length}`, taken[1]?.exchange);
    for (const [index, { code, exchange }] of answers.entries()) {
      const input = inputs[index];
      if (code === undefined || !input) continue;
      expect(
        code === 'FAILED_PRECONDITION',
        `FAILED_PRECONDITION for a second import, not ${code}`,
        exchange,
      );
      await kit.refused('createVolume', input, ['FAILED_PRECONDITION']);
      await kit.expectNoVolume(input.volumeId);
    }
  }),
  'FL-3.9-3': must(
    'Deleting an imported volume deletes the existing one: to import it again is NOT_FOUND, and leaves no volume.',
    'import',
  ).check(async kit => {
    const { made, volume } = await importVolume(kit);
    await kit.done('deleteVolume', { volumeId: volume.id });
    await kit.expectNoVolume(volume.id);
    await refuse(kit, inputOf(kit, made), 'NOT_FOUND');
  }),
  'FL-3.9-4': must(
    'A request for the same id without the existing volume, or with another one, is ALREADY_EXISTS, and the volume does not change.',
    'import',
  ).check(async kit => {
    const { input, made, volume } = await importVolume(kit);
    const { existing, ...withoutExisting } = input.body;
    const other = { ...withoutExisting, existing: { ...existing, handle: `${made.handle}-x` } };
    for (const body of [withoutExisting, other])
      await kit.refused('createVolume', { ...input, body }, ['ALREADY_EXISTS']);
    await kit.expectSame(volume);
    const created = await kit.createVolume();
    const body = { ...kit.specOf(created.id), existing };
    await kit.refused('createVolume', { volumeId: created.id, body }, ['ALREADY_EXISTS']);
    await kit.expectSame(created);
  }),
  'FL-3.9-5': must('A volume of another driver is INVALID_ARGUMENT, and leaves no volume.', 'import').check(
    async kit => {
      const made = { driver: 'verify.invalid', handle: 'verify', context: {}, sizeBytes: kit.smallSize() };
      await refuse(kit, inputOf(kit, made), 'INVALID_ARGUMENT');
    },
  ),
  'FL-3.9-6': must('`mayFormat` is false for an imported volume.', 'import').check(async kit => {
    const { volume } = await importVolume(kit);
    const { attachment } = await kit.attach(volume.id, await kit.createNode());
    expect(attachment?.mayFormat === false, '"mayFormat" is false for an imported volume');
  }),
  'FL-8.3-6': must(
    'After a restart an imported volume is the same, and no other id gets the existing one.',
    'import',
  ).check(async kit => {
    requireRestart(kit);
    const { input, made, volume } = await importVolume(kit);
    await restart(kit);
    // Before the repeated request, which would restore a lost record.
    await refuse(kit, inputOf(kit, made), 'FAILED_PRECONDITION');
    await expectRepeated(kit, input, volume);
  }),
  'FL-9.1-11': must('An imported volume has the bytes that it had before.', 'import').check(async kit => {
    if (!kit.hasData) throw skip('--data is not given, so the kit reads and writes no bytes');
    const { made, volume } = await importVolume(kit);
    if (made.sha256 === undefined) throw skip('the command of --create-existing prints no "sha256"');
    const { by, exchange } = causeOf(kit, 'createVolume', { volumeId: volume.id });
    const found = await hashOf(kit, volume);
    expect(found === made.sha256, `${by} leaves bytes with SHA-256 ${made.sha256}, not ${found}`, exchange);
  }),
} satisfies Chapter;

type ImportInput = InputOf<'createVolume'> & { readonly body: { readonly existing: ExistingVolume } };

/** Makes a volume with the driver. Skips the check if the user has given no way to do so. */
async function createExisting(kit: Kit): Promise<DriverVolume> {
  if (kit.createExisting) return kit.createExisting();
  throw skip('--create-existing is not given, so the kit has no volume to import');
}

/** Makes a volume with the driver, and imports it. */
async function importVolume(kit: Kit) {
  const made = await createExisting(kit);
  const input = inputOf(kit, made);
  return { made, input, volume: await kit.done('createVolume', input) };
}

/** Makes a request with a new id for an existing volume, as a gateway does. */
function inputOf(kit: Kit, { driver, handle, context, sizeBytes }: DriverVolume): ImportInput {
  const volumeId = kit.id();
  const size = { requiredBytes: sizeBytes, limitBytes: sizeBytes };
  return {
    volumeId,
    body: {
      name: nameOf(volumeId),
      ...size,
      capabilities: [kit.capabilityOf()],
      existing: { driver, handle, context },
    },
  };
}

async function expectRepeated(kit: Kit, input: ImportInput, volume: Volume): Promise<void> {
  const { status, body, exchange } = await kit.settle('createVolume', input);
  expect(status === 200, `200 for an imported volume, not ${status}`, exchange);
  expectOne('volume', volume, body);
}

async function refuse(
  kit: Kit,
  input: ImportInput,
  code: 'NOT_FOUND' | 'INVALID_ARGUMENT' | 'FAILED_PRECONDITION',
): Promise<void> {
  await kit.refused('createVolume', input, [code]);
  await kit.expectNoVolume(input.volumeId);
}

async function hashOf(kit: Kit, { id, sizeBytes }: Volume): Promise<string> {
  const hash = createHash('sha256');
  await withDisk(kit, id, async disk => {
    for (let offset = 0; offset < sizeBytes; offset += pieceBytes)
      hash.update(await disk.read(offset, Math.min(pieceBytes, sizeBytes - offset)));
  });
  return hash.digest('hex');
}
