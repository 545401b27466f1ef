import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import type { NetConnectOpts } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client } from 'pg';
import { openPostgres } from '../../../../gateway/stores/postgres.ts';
import { requireEncrypted, urlsOf, withAuthority } from '../../../../gateway/stores/postgres/hosts.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { startBalancer } from './balancer.ts';

const server = sharePostgres();

test('a connection URL with several hosts becomes one URL for each of them', () => {
  assert.deepEqual(urlsOf('postgres://me:se%2Ccret@one:1,two,[::1]:3/db?sslmode=verify-full'), [
    'postgres://me:se%2Ccret@one:1/db?sslmode=verify-full',
    'postgres://me:se%2Ccret@two/db?sslmode=verify-full',
    'postgres://me:se%2Ccret@[::1]:3/db?sslmode=verify-full',
  ]);
  for (const url of [
    'postgres://me@/db?host=/run/a,b',
    'postgresql://one/db',
    'postgres://a,b@one/db',
    'postgres:/db?host=/run',
    'socket:/var/run/postgresql?db=fairlead',
    '/var/run/postgresql fairlead',
  ])
    assert.deepEqual(urlsOf(url), [url]);
  for (const text of ['', 'nonsense', 'one:5432/db'])
    assert.throws(() => urlsOf(text), /^Error: the file holds no connection URL; write postgres:/);
});

test('the usable one of several hosts is found, and found again after every change', { skip }, async t => {
  const { createDatabase, directory } = await server();
  await createDatabase('several');
  const socket = [{ path: join(directory, '.s.PGSQL.5432') }];
  let [first, second]: [readonly NetConnectOpts[], readonly NetConnectOpts[]] = [[], socket];
  const one = await startBalancer(t, () => first);
  const two = await startBalancer(t, () => second);
  const urlFile = join(temporaryDirectory(t), 'url');
  writeFileSync(
    urlFile,
    `postgres://postgres@127.0.0.1:1,127.0.0.1:${one.port},127.0.0.1:${two.port}/several`,
  );
  const engine = await openPostgres(urlFile);
  t.after(() => engine.close());
  const ask = () => engine.reader.all('select 1 as one').catch(() => undefined);
  assert.deepEqual(await ask(), [{ one: 1 }]);
  [first, second] = [socket, []];
  two.cut();
  assert.ok(await poll(ask, { everyMs: 20, timeoutMs: 10_000 }));
  first = [];
  one.cut();
  assert.equal(await ask(), undefined);
  second = socket;
  assert.ok(await poll(ask, { everyMs: 20, timeoutMs: 10_000 }));
});

const isRefused = (url: string): boolean => {
  const client = new Client({ connectionString: url });
  try {
    requireEncrypted(url, client);
    return false;
  } catch {
    return true;
  }
};

test('another machine is reached over TLS, or without TLS if the URL says so', () => {
  const remote = 'postgres://me@db.example/db';
  for (const how of [
    '?sslmode=require',
    '?sslmode=verify-full',
    '?ssl=true',
    '?sslmode=no-verify',
    '?sslmode=disable',
  ])
    assert.equal(isRefused(`${remote}${how}`), false, how);
  for (const how of ['', '?ssl=0', '?application_name=sslmode', '?sslmode='])
    assert.equal(isRefused(`${remote}${how}`), true, how);
  for (const local of ['localhost', '127.0.0.1:1', '[::1]', '%2Frun%2Fpostgresql', ''])
    assert.equal(isRefused(`postgres://me@${local}/db`), false, local);
  assert.equal(isRefused('postgres://me@/db?host=/run/postgresql'), false);
});

test('a URL without an authority gets the one of PGSSLROOTCERT, and its connection is verified', () => {
  const url = 'postgresql://me:secret@db.example:5432/app';
  assert.equal(withAuthority(url, undefined), url);
  assert.equal(withAuthority(`${url}?sslmode=require`, '/ca'), `${url}?sslmode=require&sslrootcert=%2Fca`);
  const named = `${url}?sslrootcert=/own`;
  assert.equal(withAuthority(named, '/ca'), named);
  const file = join(import.meta.dirname, 'hosts.test.ts');
  const { ssl } = new Client({ connectionString: withAuthority(url, file) });
  assert.deepEqual(Object.keys(Object(ssl)), ['ca']);
});
