import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem } from '../../../../src/api/problem.ts';
import { openGateway } from '../../../harness/gateway.ts';

const neutral = 'pool "main": its storage cannot be used now; try again';
const reason = 'pool "main": "http://192.0.2.1" refuses connections';

/** Opens a gateway whose storage fails to detach `a.one` from `n1` with this code. */
async function openFailing(
  t: Parameters<typeof openGateway>[0],
  code: 'UNAVAILABLE' | 'FAILED_PRECONDITION',
) {
  const detach = () => Promise.reject(Object.assign(new Problem(code, neutral), { reason }));
  const gateway = await openGateway(t, { own: { detach }, volumes: ['one'], nodes: ['n1'] });
  await gateway.attach('a.one');
  const detailFor = async (as: string, route: string, body?: object) =>
    (await gateway.ask(route, { as, body })).body['detail'];
  return { ...gateway, detailFor };
}

test('operators and the log get the reason of a failed detachment, clusters a neutral text', async t => {
  const { detailFor, logLines } = await openFailing(t, 'UNAVAILABLE');
  assert.equal(await detailFor('a', 'DELETE /v1/volumes/a.one/attachments/n1'), neutral);
  const byForce = { force: true };
  const [volume, node] = [
    await detailFor('operator', 'PUT /v1/admin/volumes/a.one/detachment', {
      cluster: 'a',
      nodeId: 'n1',
      ...byForce,
    }),
    await detailFor('operator', 'PUT /v1/admin/nodes/a/n1/detachment', byForce),
  ];
  assert.equal(volume, reason);
  assert.match(String(node), /volume "a\.one": pool "main": "http:\/\/192\.0\.2\.1" refuses connections/);
  const refused = logLines.filter(line => line.includes('refused'));
  assert.ok(refused.length === 3 && refused.every(line => line.includes('192.0.2.1')), refused.join('\n'));
});

test('the audit log has the reason of a refusal for a cluster', async t => {
  const { detailFor, ask } = await openFailing(t, 'FAILED_PRECONDITION');
  assert.equal(await detailFor('a', 'DELETE /v1/volumes/a.one/attachments/n1'), neutral);
  const { body } = await ask('GET /v1/admin/audit-log', { as: 'operator' });
  assert.ok(JSON.stringify(body).includes(JSON.stringify(reason).slice(1, -1)), JSON.stringify(body));
});
