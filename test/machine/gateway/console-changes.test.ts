import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesPath } from '../../../src/api/admin/changes.ts';
import { consolePath } from '../../../src/api/admin/console.ts';
import { runGateway } from '../../harness/gateway/program.ts';

test('a browser that listens holds no end of the gateway up', { timeout: 120_000 }, async t => {
  const flags = { console: 'true', 'shutdown-grace': '1h' };
  const { url, signers, create, end } = await runGateway(t, { flags });
  const own = { 'sec-fetch-site': 'same-origin' };
  const login = await fetch(`${url}${consolePath}/session`, {
    method: 'POST',
    headers: { ...own, 'content-type': 'application/json' },
    body: JSON.stringify({ token: await signers.operators.sign() }),
  });
  assert.equal(login.status, 204, await login.text());
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
  const { status, body } = await fetch(`${url}${changesPath}`, { headers: { ...own, cookie } });
  assert.equal(status, 200);
  const events = body?.pipeThrough(new TextDecoderStream()).getReader();
  assert.match((await events?.read())?.value ?? '', /data: changed/);
  await create('a.one');
  assert.match((await events?.read())?.value ?? '', /data: changed/);
  await end();
  while (!(await events?.read())?.done);
});
