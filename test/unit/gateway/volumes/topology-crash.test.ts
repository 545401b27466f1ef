import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Step } from '../../../../gateway/operations/operation.ts';
import { clusters, makeGateway, openMemory, volumeSpec } from '../../../harness/gateway-harness.ts';

const mebibyte = 2 ** 20;
const [a, b] = [{ zone: 'a' }, { zone: 'b' }];
const spaces = [a, b].map(segments => ({ totalBytes: mebibyte, segments }));
const leaseMs = 50;
const topology = { requisite: [b, a], preferred: [a] };
/** Where the volume is in the end: once it is recorded where it is to be, it stays there. */
const outcomes = [
  ['before-intent', a],
  ['after-intent', b],
  ['after-commit', b],
  ['before-answer', b],
] as const satisfies readonly (readonly [Step['point'], object])[];

for (const [point, segments] of outcomes) {
  test(`a gateway that dies ${point} leads to one volume, though the better topology is free again`, async t => {
    const backend = await openMemory(spaces);
    const spec = volumeSpec('one', { topology });
    const other = await makeGateway(t, { backend, leaseMs });
    await other.volumes.create(clusters.a, 'a.other', volumeSpec('other', { topology }));

    const died = new Error('the gateway died');
    const checkpoint = (step: Step): void => {
      if (step.point === point) throw died;
    };
    const dying = await other.replica({ checkpoint });
    await assert.rejects(dying.volumes.create(clusters.a, 'a.one', spec), died);
    await dying.engine.close();
    await other.volumes.delete(clusters.a, 'a.other');
    await sleep(leaseMs + 5);

    const { volumes } = await other.replica();
    const { volume } = await volumes.create(clusters.a, 'a.one', spec);
    assert.deepEqual(volume.topology, [segments]);
    assert.deepEqual(await Array.fromAsync(backend.list?.() ?? []), ['a.one']);
    assert.deepEqual((await volumes.list(clusters.a, { limit: 9 })).volumes, [volume]);
  });
}
