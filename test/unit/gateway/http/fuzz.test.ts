import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { allOperations } from '../../../../src/api/operations.ts';
import { problemTable } from '../../../../src/api/problem.ts';
import { callers, openGateway, mounted, volumeSpec } from '../../../harness/gateway.ts';
import { isFull, seed } from '../../../harness/sample.ts';

const spec = {
  ...volumeSpec('x'),
  source: { kind: 'volume', volumeId: 'a.x' },
  topology: { requisite: [{ zone: 'a' }] },
  capability: mounted,
  readonly: false,
  volumeId: 'a.x',
  volumeIds: ['a.x', 'a.y'],
  mutableParameters: {},
  maxVolumes: 1,
  access: 'read-only',
  cluster: 'b',
  pool: 'main',
  storageId: 'x',
  capabilities: [mounted],
  dryRun: false,
};
const text = fc.string({ unit: 'binary', maxLength: 20 });
const odd = fc.oneof(fc.jsonValue(), text, fc.double(), fc.constantFrom('a.x', 'b.x', '__proto__', 2 ** 53));
/** Generates bodies: some members of requests, some with odd values, or arbitrary bytes. */
const bodies = fc.oneof(
  fc
    .tuple(fc.subarray(Object.entries(spec)), fc.dictionary(fc.constantFrom(...Object.keys(spec)), odd))
    .map(([some, changed]) => JSON.stringify({ ...Object.fromEntries(some), ...changed })),
  fc.json(),
  fc.uint8Array({ maxLength: 40 }).map(bytes => new Blob([Buffer.from(bytes)])),
);
const ids = fc.oneof(
  fc.constantFrom('a.x', 'a.y', 'b.x', 'n1', '..', '%00', '%FF', '%ED%A0%80', '%'),
  text.map(one => encodeURIComponent(one.toWellFormed())),
);
const requests = fc.record({
  as: fc.constantFrom(...Object.keys(callers)),
  operation: fc.constantFrom(...allOperations).map(({ id, method, path }) => ({ id, method, path })),
  id: ids,
  query: fc.oneof(
    fc.constant(''),
    fc.dictionary(fc.constantFrom('limit', 'offset', 'base', 'pageToken', 'since', 'until', 'cluster'), text),
  ),
  body: bodies,
});

test('every request is answered as the table of operations says, and never with a failure of ours', async t => {
  const { ask } = await openGateway(t);
  const property = fc.asyncProperty(requests, async ({ as, operation, id, query, body }) => {
    const path = operation.path.replaceAll(/\{\w+\}/g, () => id);
    const asked = query === '' ? '' : `?${new URLSearchParams(query)}`;
    const hasBody = operation.method === 'PUT' || operation.method === 'POST';
    const answer = await ask(`${operation.method} ${path}${asked}`, { as, ...(hasBody && { body }) });
    const code = answer.body['code'] as keyof typeof problemTable | undefined;
    const isAnswer = answer.status < 300 || (code !== undefined && problemTable[code].http === answer.status);
    assert.ok(
      isAnswer && code !== 'UNAVAILABLE',
      `${operation.id} as ${as} ${answer.status} ${JSON.stringify(answer.body)}`,
    );
  });
  await fc.assert(property, { seed, numRuns: isFull ? 20_000 : 500 });
});
