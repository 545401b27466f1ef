import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { volumeSpec } from '../../../harness/gateway-harness.ts';
import { sample } from '../../../harness/sample.ts';
import { askPatiently, callWithin, killProcess, prepareDirectory, startProcess } from '../process.ts';

test('a gateway that is killed again and again while volumes are made loses none and doubles none', async t => {
  const directory = prepareDirectory(t);
  const names = Array.from({ length: 200 }, (_, index) => `pvc-${String(index).padStart(3, '0')}`);
  for (const lifeMs of sample('lives', [40, 90, 150], 2)) {
    const { child, client } = await startProcess(t, directory);
    const creating = names.map(name =>
      client.createVolume({ volumeId: `a.${name}`, body: volumeSpec(name) }, callWithin(lifeMs)),
    );
    const settled = Promise.allSettled(creating);
    await sleep(lifeMs);
    await killProcess(child);
    await settled;
  }
  const last = await startProcess(t, directory);
  const made = await Promise.all(
    names.map(name =>
      askPatiently(last, (client, call) =>
        client.createVolume({ volumeId: `a.${name}`, body: volumeSpec(name) }, call),
      ),
    ),
  );
  assert.deepEqual(new Set(made.map(({ state }) => state)), new Set(['ready']));
  const { volumes } = await last.client.listVolumes({}, callWithin(10_000));
  assert.deepEqual(
    volumes.map(({ name }) => name),
    names,
  );
  assert.deepEqual(
    readdirSync(join(directory, 'images'))
      .filter(name => name.endsWith('.img'))
      .sort(),
    names.map(name => `a.${name}.img`),
  );
});
