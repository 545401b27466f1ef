import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openOverGateway } from '../../../fakes/storages/far-gateway.ts';
import { testBackend } from '../../../suites/backend.ts';

testBackend(async t => ({
  ...(await openOverGateway(t)),
  mutableParameters: { tier: 'fast' },
  coexist: true,
}));

test('a gateway over another gateway knows that a pool there cannot cut a node off', async t => {
  assert.equal((await openOverGateway(t, { cannotCutOff: true })).backend.cannotCutOff, true);
  assert.equal((await openOverGateway(t)).backend.cannotCutOff, undefined);
});
