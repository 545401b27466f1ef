import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNode } from '../../../../node-agent/node.ts';
import { MiB, openFakeBench } from '../../../harness/node-agent-bench.ts';
import {
  assertClean,
  call,
  context,
  ephemeralRequest,
  openEphemeral,
} from '../../../harness/node-agent-ephemeral-bench.ts';

const refused = [
  {
    change: { volume_context: { ...context, size: undefined } },
    code: 'INVALID_ARGUMENT',
    says: /"size" is missing/,
  },
  {
    change: { volume_context: { ...context, size: '1GB' } },
    code: 'INVALID_ARGUMENT',
    says: /"size": "1GB" is not/,
  },
  { change: { volume_context: { ...context, size: '0' } }, code: 'INVALID_ARGUMENT', says: /"size" is 0/ },
  {
    change: { volume_context: { ...context, colour: 'x' } },
    code: 'INVALID_ARGUMENT',
    says: /"colour" is not known/,
  },
  {
    change: { volume_context: { ...context, 'fs.x': 'x' } },
    code: 'INVALID_ARGUMENT',
    says: /"fs\.x" is not known/,
  },
  { change: { readonly: true }, code: 'INVALID_ARGUMENT', says: /cannot be read-only/ },
  {
    change: { staging_target_path: '/bench/stage/v' },
    code: 'INVALID_ARGUMENT',
    says: /staging_target_path is given/,
  },
  {
    change: { publish_context: { protocol: 'loop' } },
    code: 'INVALID_ARGUMENT',
    says: /publish_context is given/,
  },
  {
    change: { volume_capability: { access_type: 'block', access_mode: { mode: 'SINGLE_NODE_WRITER' } } },
    code: 'INVALID_ARGUMENT',
    says: /cannot be a block volume/,
  },
  {
    change: { volume_context: { ...context, size: '512Ki', 'fs.blockSize': '7' } },
    code: 'INVALID_ARGUMENT',
    says: /fs\.blockSize/,
  },
  {
    change: { target_path: '/bench/pods/none/v' },
    code: 'FAILED_PRECONDITION',
    says: /target_path .*none" is not there/,
  },
  {
    change: { volume_context: { ...context, size: '64Mi' } },
    code: 'RESOURCE_EXHAUSTED',
    says: /have 0 of the 50331648 that they may have/,
  },
];

for (const { change, code, says } of refused) {
  test(`an ephemeral volume with ${JSON.stringify(change).slice(0, 110)} is ${code} and leaves nothing`, async () => {
    const bench = openFakeBench();
    const { ask } = await openEphemeral(bench, { capacityBytes: 48 * MiB });
    const given = Object.fromEntries(
      Object.entries({ ...ephemeralRequest(bench), ...change }).map(([key, value]) => [
        key,
        key === 'volume_context' ? withoutUndefined(value) : value,
      ]),
    );
    await assert.rejects(ask('Publish', given), { code, message: says });
    assertClean(bench);
  });
}

function withoutUndefined(map: unknown): object {
  return Object.fromEntries(Object.entries(Object(map)).filter(([, value]) => value !== undefined));
}

test('without a directory for them, ephemeral volumes are refused by the name of the setting', async () => {
  const bench = openFakeBench();
  const { ephemeral: _, ...agent } = (await openEphemeral(bench)).agent;
  const node = createNode(agent, { nodeId: 'n', maxVolumes: 0, topology: async () => ({}) });
  await assert.rejects(async () => node.NodePublishVolume?.(ephemeralRequest(bench) as never, call), {
    code: 'FAILED_PRECONDITION',
    message: /setting ephemeral-dir/,
  });
});

test('all ephemeral volumes together stay within their capacity, however many are asked for at once', async () => {
  const bench = openFakeBench();
  const { ask } = await openEphemeral(bench, { capacityBytes: 80 * MiB });
  const asked = [1, 2, 3, 4].map(index =>
    ask('Publish', { volume_id: `csi-${index}`, target_path: `${bench.directory}/pods/v${index}` }),
  );
  const outcomes = await Promise.allSettled(asked);
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 2);
  for (const outcome of outcomes)
    if (outcome.status === 'rejected') assert.equal(outcome.reason.code, 'RESOURCE_EXHAUSTED');
});

test('a disk that is full is RESOURCE_EXHAUSTED and leaves nothing', async () => {
  const bench = openFakeBench();
  const { ask } = await openEphemeral(bench);
  bench.host.state.freeBytes = 1_000;
  await assert.rejects(ask('Publish'), { code: 'RESOURCE_EXHAUSTED', message: /has 1000 bytes free/ });
  assertClean(bench);
});
