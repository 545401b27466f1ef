import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isReplacedBy, nodeIdOf, readNodeIdentity } from '../../../src/api/node-identity.ts';

test('an id that ends with an epoch is a name and that epoch', () => {
  assert.deepEqual(readNodeIdentity('n1@1763700000'), { name: 'n1', epoch: 1_763_700_000 });
  assert.deepEqual(readNodeIdentity('rack@4.example@7'), { name: 'rack@4.example', epoch: 7 });
  assert.deepEqual(readNodeIdentity(nodeIdOf('n1', 9)), { name: 'n1', epoch: 9 });
});

for (const nodeId of [
  'n1',
  'n1@',
  '@7',
  'n1@x7',
  'n1@7x',
  'n1@07',
  'n1@0',
  'n1@-7',
  `n1@${'9'.repeat(16)}`,
  '',
]) {
  test(`"${nodeId}" is a name alone`, () => {
    assert.deepEqual(readNodeIdentity(nodeId), { name: nodeId, epoch: undefined });
  });
}

test('a node is replaced by one of its name with a later epoch, compared as a number, and by no other', () => {
  for (const later of ['n1@10', 'n1@1763700000']) assert.ok(isReplacedBy('n1@9', later), later);
  for (const other of ['n1@9', 'n1@8', 'n1', 'n2@10', 'n11@10', 'N1@10'])
    assert.ok(!isReplacedBy('n1@9', other), other);
});

test('an id without an epoch is before all that have one, and is not after itself', () => {
  assert.ok(isReplacedBy('n1', 'n1@1'));
  assert.ok(!isReplacedBy('n1@1', 'n1'));
  assert.ok(!isReplacedBy('n1', 'n1'));
  assert.ok(!isReplacedBy('n1', 'n1@01'));
});
