import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseNodeIdRule } from '../../../src/bridge/node-ids.ts';

const node = {
  id: 'east.worker-1~key',
  spec: { name: 'worker-1', providerId: 'gce://my-project/europe-west4-a/vm-7' },
};

test('a rule makes the id of a node at the driver from its name and the id of its cloud', () => {
  const rows = [
    ['{name}', 'worker-1'],
    ['{provider}', 'vm-7'],
    [
      'projects/{provider:1}/zones/{provider:2}/instances/{provider:3}',
      'projects/my-project/zones/europe-west4-a/instances/vm-7',
    ],
    ['the-only-node', 'the-only-node'],
  ] as const;
  for (const [rule, id] of rows) assert.equal(parseNodeIdRule(rule)(node), id);
  const aws = { ...node, spec: { providerId: 'aws:///eu-west-1a/i-0abc' } };
  assert.equal(parseNodeIdRule('{provider}')(aws), 'i-0abc');
  assert.throws(() => parseNodeIdRule('{name}')(aws), {
    code: 'FAILED_PRECONDITION',
    message: /nothing for "\{name\}".*must report its name/,
  });
});

test('a rule with an unknown part is refused', () => {
  for (const rule of ['', '{host}', '{name', '{provider:0}'])
    assert.throws(() => parseNodeIdRule(rule), /is no rule for ids of nodes; use \{name\}/);
});
