import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { silentLog } from '../../../src/lib/log.ts';
import { startPages } from '../../../src/lib/pages.ts';

test('connections that ask for nothing hold up nobody who asks', async t => {
  const pages = new Map([['/healthz', async () => ({ status: 200, text: 'ok\n' })]]);
  const { address, close } = await startPages({ host: '127.0.0.1', port: 0 }, pages, silentLog);
  t.after(close);
  const silent = Array.from({ length: 100 }, () => connect(Number(address.split(':')[1]), '127.0.0.1'));
  t.after(() => silent.forEach(socket => socket.destroy()));
  for (const socket of silent) socket.on('error', () => {});
  await Promise.all(silent.map(socket => once(socket, 'connect')));
  for (let count = 0; count < 3; count++)
    assert.equal(await (await fetch(`http://${address}/healthz`)).text(), 'ok\n');
  assert.ok(silent.some(socket => !socket.closed));
});
