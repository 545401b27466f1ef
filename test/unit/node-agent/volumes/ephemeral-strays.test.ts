import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { reportStrays } from '../../../../node-agent/volumes/ephemeral-strays.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { openRealBench, startAgent, whyNoMachine } from '../../../harness/node-agent-bench.ts';

const real = whyNoMachine ? { skip: whyNoMachine } : {};

test('images that no record names are told of at the start, and left where they are', real, async t => {
  const bench = openRealBench(t);
  const directory = `${bench.directory}/images`;
  mkdirSync(directory);
  const warnings: unknown[] = [];
  const log = {
    ...silentLog,
    warn: (message: string, fields?: object) => warnings.push({ message, ...fields }),
  };
  const agent = { ...(await startAgent(bench)), ephemeral: { directory, capacityBytes: undefined } };
  await reportStrays(agent, log);
  assert.deepEqual(warnings, []);
  const [own, lost, other] = ['a', 'b', 'c'].map(letter => `${letter.repeat(32)}.img`);
  for (const name of [own, lost, other, 'notes.txt']) writeFileSync(`${directory}/${name}`, '');
  await agent.records.put({
    volumeId: 'csi-1',
    stagingPath: '/pods/v',
    attachment: {
      protocol: 'loop',
      path: `${directory}/${own}`,
      attachmentId: 'ephemeral',
      sizeBytes: 1,
      readonly: false,
      mayFormat: true,
    },
    capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' },
    ephemeral: true,
    targets: [],
  });
  await reportStrays(agent, log);
  const message = 'images of ephemeral volumes are there that no record names';
  assert.deepEqual(warnings, [{ message, count: 2, path: `${directory}/${lost}` }]);
  assert.ok(existsSync(`${directory}/${lost}`));
});

test(
  'a directory of ephemeral volumes that cannot be read is a warning, and none is nothing',
  real,
  async t => {
    const bench = openRealBench(t);
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
    const { ephemeral: _, ...agent } = await startAgent(bench);
    await reportStrays({ ...agent, ephemeral: undefined }, log);
    assert.deepEqual(warnings, []);
    const directory = `${bench.directory}/none`;
    await reportStrays({ ...agent, ephemeral: { directory, capacityBytes: undefined } }, log);
    assert.deepEqual(warnings, ['the directory of ephemeral volumes could not be read']);
  },
);
