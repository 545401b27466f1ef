import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { isDue, startTrimming } from '../../../node-agent/format/trim.ts';
import type { VolumeRecord } from '../../../node-agent/state/records.ts';
import { createVolumeLock } from '../../../node-agent/volumes/volume-lock.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { openFakeBench, openNode, putUp, requestFor } from '../../harness/node.ts';

const dayMs = 24 * 60 * 60_000;

test('a volume is due once a day or once a week, each at a time of its own, and without the option never', () => {
  const bench = openFakeBench();
  const at = (volumeId: string, trimming?: string): VolumeRecord => ({
    ...requestFor(bench, '/bench/image'),
    volumeId,
    targets: [],
    ...(trimming !== undefined && { formatOptions: { 'fs.trim': trimming } }),
  });
  const startMs = Date.UTC(2026, 0, 1);
  const lookMs = 7 * 60_000;
  const times = Array.from({ length: (14 * dayMs) / lookMs }, (_, index) => startMs + index * lookMs);
  const dueOf = (record: VolumeRecord) => times.filter(ms => isDue(record, ms, ms + lookMs));
  assert.equal(dueOf(at('c.a', 'daily')).length, 14);
  assert.equal(dueOf(at('c.a', 'weekly')).length, 2);
  assert.deepEqual([dueOf(at('c.a', 'off')), dueOf(at('c.a'))], [[], []]);
  const first = new Set(Array.from({ length: 50 }, (_, index) => dueOf(at(`c.v${index}`, 'daily'))[0]));
  assert.ok(first.size > 25, `${first.size} times for 50 volumes`);
});

test('an agent trims the volumes that are due, one after another', async t => {
  const bench = openFakeBench();
  const { agent, request } = await openNode(bench);
  for (const [name, trimming] of Object.entries({ a: 'daily', b: 'weekly', c: 'off' })) {
    const attachment = { ...request.attachment, path: bench.makeImage(name), attachmentId: name };
    const paths = {
      stagingPath: `${bench.directory}/stage/${name}`,
      targetPath: `${bench.directory}/pods/${name}`,
    };
    const formatOptions = { 'fs.trim': trimming };
    await putUp(agent, { ...request, ...paths, volumeId: `c.${name}`, attachment, formatOptions });
  }
  const trimmed: (string | undefined)[] = [];
  let [running, maxRunning] = [0, 0];
  const run: typeof bench.host.run = async (command, args, options) => {
    if (command !== 'fstrim') return bench.host.run(command, args, options);
    maxRunning = Math.max(maxRunning, ++running);
    await setImmediate();
    running--;
    trimmed.push(args.at(-1)?.split('/').at(-1));
    return bench.host.run('true', [], options);
  };
  const own = { ...agent, host: { ...agent.host, run } };
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 1) });
  using _ = startTrimming(own, createVolumeLock(own), 5);
  t.mock.timers.setTime(Date.now() + 7 * dayMs);
  await poll(() => trimmed.length >= 2 || undefined, { everyMs: 5, timeoutMs: 10_000 });
  assert.deepEqual([trimmed.toSorted(), maxRunning], [['a', 'b'], 1]);
});
