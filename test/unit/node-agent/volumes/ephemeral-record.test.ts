import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Agent } from '../../../../node-agent/volumes/agent.ts';
import { publishEphemeral } from '../../../../node-agent/volumes/ephemeral.ts';
import { readAttributes, type EphemeralRequest } from '../../../../node-agent/volumes/ephemeral-request.ts';
import { publish } from '../../../../node-agent/volumes/publish.ts';
import { MiB, openFakeBench, startAgent } from '../../../harness/node-agent-bench.ts';

/** An agent that keeps images below the bench, a volume to publish, and the files that its commands were run on. */
async function open() {
  const bench = openFakeBench();
  const directory = `${bench.directory}/images`;
  await bench.host.makeDirectory(directory);
  const request: EphemeralRequest = {
    volumeId: 'csi-0123',
    targetPath: `${bench.directory}/pods/v`,
    capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' },
    readonly: false,
    sizeBytes: 32 * MiB,
  };
  const reserved: string[] = [];
  const run: Agent['host']['run'] = (command, args, options) => {
    if (command === 'fallocate') reserved.push(args.at(-1) ?? '');
    return bench.host.run(command, args, options);
  };
  const host: Agent['host'] = { ...bench.host, run };
  const start = async (change: Partial<Agent['host']> = {}): Promise<Agent> => ({
    ...(await startAgent({ ...bench, host: { ...host, ...change } })),
    ephemeral: { directory, capacityBytes: undefined },
  });
  return { bench, request, reserved, start };
}

async function refuse(): Promise<never> {
  throw Object.assign(new Error('read-only'), { code: 'EROFS' });
}

test('an ephemeral volume that could not be recorded has no image, however often it is asked for', async () => {
  const { request, reserved, start } = await open();
  const agent = await start({ writeDurably: refuse, removeFile: refuse });
  for (let i = 0; i < 3; i++) await assert.rejects(publishEphemeral(agent, request));
  assert.deepEqual(reserved, []);
});

test('no room is taken for an ephemeral volume that cannot be formatted or mounted as asked', async () => {
  const { bench, request, reserved, start } = await open();
  const agent = await start();
  const { capability } = request;
  const rows: readonly Partial<EphemeralRequest>[] = [
    { formatOptions: { 'fs.blockSize': '7' } },
    { capability: { ...capability, fsType: 'ntfs' } },
    { capability: { ...capability, mountFlags: ['noatime,suid'] } },
  ];
  for (const row of rows)
    await assert.rejects(publishEphemeral(agent, { ...request, ...row }), { code: 'INVALID_ARGUMENT' });
  assert.deepEqual([reserved, [...bench.host.state.texts.keys()]], [[], []]);
});

test('an ephemeral volume is published at one path, also for many writers', async () => {
  const { bench, request, start } = await open();
  const agent = await start();
  const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_MULTI_WRITER' } as const;
  await publishEphemeral(agent, { ...request, capability });
  const second = { stagingPath: request.targetPath, targetPath: `${bench.directory}/pods/w` };
  await assert.rejects(publish(agent, { ...request, ...second, capability }), {
    code: 'FAILED_PRECONDITION',
  });
  assert.equal(bench.host.state.mounts.length, 1);
});

test('an ephemeral volume that was cut short is not made anew for another use', async () => {
  const { bench, request, start } = await open();
  await publishEphemeral(await start(), request);
  // As after a reboot of the node.
  bench.host.state.mounts = [];
  bench.host.state.loops.clear();
  const agent = await start();
  const capability = { ...request.capability, mountFlags: ['noatime'] };
  await assert.rejects(publishEphemeral(agent, { ...request, capability }), { code: 'ALREADY_EXISTS' });
  assert.equal(agent.records.all().length, 1);
});

test('a size is rounded up to whole MiB, and one that no record could hold is refused', () => {
  assert.equal(readAttributes({ size: '1' }).sizeBytes, MiB);
  assert.equal(readAttributes({ size: '32Mi' }).sizeBytes, 32 * MiB);
  assert.throws(() => readAttributes({ size: '8796093022207Ki' }), { code: 'INVALID_ARGUMENT' });
});
