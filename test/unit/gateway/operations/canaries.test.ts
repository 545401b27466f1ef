import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preconditionProblem, unavailableProblem } from '../../../../src/api/problem.ts';
import type { Answer } from '../../../harness/gateway.ts';
import { openGateway, mounted, volumeSpec } from '../../../harness/gateway.ts';
import { changing } from '../../../fakes/faulty-backend/rules.ts';

const canary = 'canary-51c0e7';
const secretive = { ...mounted, mountFlags: [`password=${canary}`] };
const operator = { as: 'operator' };

/** Requests for every change, and wrong ones, with a canary wherever a secret may be. */
const asked: readonly (readonly [route: string, body?: unknown, as?: string])[] = [
  ['PUT /v1/nodes/n1', { topology: { zone: 'a' } }],
  ['PUT /v1/volumes/a.two', volumeSpec('two', { parameters: { password: canary } })],
  [
    'PUT /v1/volumes/a.two',
    volumeSpec('two', { capabilities: [secretive], mutableParameters: { label: canary } }),
  ],
  ['PUT /v1/volumes/a.one/attachments/n1', { capability: secretive, readonly: false }],
  ['PUT /v1/volumes/a.one/attachments/n1', { capability: mounted, readonly: false }],
  ['PUT /v1/volumes/a.one/parameters', { mutableParameters: { label: canary } }],
  ['PUT /v1/volumes/a.one/parameters', { mutableParameters: { label: canary.repeat(9) } }],
  ['PUT /v1/volumes/a.one/size', { requiredBytes: 2 ** 21, password: canary }],
  ['PUT /v1/volumes/a.two', `{"${canary}`],
  ['PUT /v1/volumes/a.two', { ...volumeSpec('two'), capabilities: [{ ...mounted, mountFlags: canary }] }],
  [`GET /v1/volumes?pageToken=${canary}`],
  [`GET /v1/volumes/a.none?token=${canary}`],
  ['PUT /v1/snapshots/a.cut', { name: 'cut', volumeId: 'a.one', parameters: { password: canary } }],
  ['PUT /v1/snapshots/a.cut', { name: 'cut', volumeId: 'a.one' }],
  ['PUT /v1/groups/a.both', { name: 'both', volumeIds: ['a.one'], parameters: { password: canary } }],
  ['PUT /v1/volumes/a.one/grants/b', { access: canary }],
  ['PUT /v1/volumes/a.one/grants/b', { access: 'read-only' }],
  ['PUT /v1/admin/volumes/a.one/owner', { cluster: 'nobody', password: canary }, 'operator'],
  ['PUT /v1/admin/imports/a.three', { pool: 'main', password: canary }, 'operator'],
  ['DELETE /v1/volumes/a.one/grants/b'],
  ['DELETE /v1/volumes/a.one/attachments/n1'],
  ['DELETE /v1/snapshots/a.cut'],
  ['DELETE /v1/volumes/a.two'],
  ['PUT /v1/admin/repair', { dryRun: false, safetyAgeMs: 0, password: canary }, 'operator'],
];

/** The storage's errors, which can contain parts of the request. */
const failures: readonly (readonly [what: string, failure?: Error])[] = [
  ['succeeds'],
  ['throws an error without a code', new Error(`password ${canary}`)],
  ['refuses for good', preconditionProblem('refused (injected)', new Error(`password ${canary}`))],
  ['may be trying yet', unavailableProblem('slow (injected)', new Error(`password ${canary}`))],
];
for (const [what, failure] of failures)
  test(`no secret is in a log, an error or the audit log when the storage ${what}`, async t => {
    const gateway = await openGateway(t, { volumes: ['one'] });
    const { ask, backend, engine, logLines, recovery } = gateway;
    const refusals: Answer[] = [];
    for (const [route, body, as = 'a'] of asked) {
      if (failure) for (const method of changing) backend.failNext(method, 'before', failure);
      for (const authorization of [undefined, `Bearer ${canary}`, `Basic ${canary}`]) {
        const headers = { ...(authorization !== undefined && { authorization }) };
        const answer = await ask(route, { as, body, headers });
        if (answer.status >= 400) refusals.push(answer);
      }
    }
    await recovery.sweep();
    const log = await ask('GET /v1/admin/audit-log', operator);
    assert.ok((log.body['entries'] as readonly unknown[]).length > 5);
    const rows: unknown[] = [];
    for (const table of ['audit_log', 'claims', 'findings', 'grants'])
      rows.push(await engine.reader.all(`select * from ${table}`));
    for (const said of [refusals, log.body, rows, logLines])
      assert.ok(!JSON.stringify(said).includes(canary));
    const operations = await ask('GET /v1/admin/operations', operator);
    assert.ok(!JSON.stringify(operations.body).includes(canary));
  });
