import assert from 'node:assert/strict';
import { join } from 'node:path';
import { readFileSync, writeFileSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { openPostgres } from '../../../../gateway/stores/postgres.ts';
import type { Engine } from '../../../../gateway/store.ts';
import { poll, withinTime } from '../../../../src/lib/concurrency.ts';
import {
  clusters,
  openGateway,
  mounted,
  openMemory,
  temporaryDirectory,
  volumeSpec,
} from '../../../harness/gateway.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';

const { a } = clusters;
const server = sharePostgres();

async function openEmpty(t: TestContext): Promise<Engine> {
  const engine = await openPostgres(await (await server()).createDatabase());
  t.after(() => engine.close());
  return engine;
}

const refusals = [
  [
    'sorts by a language',
    "locale_provider icu icu_locale 'en'",
    '',
    /needs .*the collation C; create it with these$/,
  ],
  ['may lose commits', '', 'synchronous_commit = off', /synchronous_commit is off/],
  [
    'only reads',
    '',
    'default_transaction_read_only = on',
    /the server is read-only; use the address of the primary$/,
  ],
] as const;
for (const [what, making, setting, reason] of refusals)
  test(`a database that ${what} is refused with one line`, { skip }, async () => {
    const { createDatabase, query } = await server();
    const name = what.replaceAll(' ', '_');
    const urlFile = await createDatabase(name, `template template0 ${making}`);
    if (setting !== '') await query(`alter database ${name} set ${setting}`);
    await assert.rejects(openPostgres(urlFile), ({ message }: Error) => {
      assert.ok(message.startsWith(`cannot use the store of "${urlFile}": `), message);
      return reason.test(message);
    });
  });

test('an unreachable server is reported in one line without the password', { skip }, async t => {
  const urlFile = join(temporaryDirectory(t), 'url');
  writeFileSync(urlFile, 'postgres://me:canary@127.0.0.1:1/none');
  await assert.rejects(openPostgres(urlFile), {
    message: `cannot use the store of "${urlFile}": the database "none" at "127.0.0.1:1", as "me", refuses connections; start the server there, or correct the address`,
  });
});

for (const [url, host] of [
  ['postgres://me:canary@db.example/none', 'db.example'],
  ['postgres://me:canary@127.0.0.1:1,10.0.0.7/none', '10.0.0.7'],
  ['postgres://me:canary@/none?host=db.example', 'db.example'],
  ['postgres://me:canary@[2001:db8::7]/none', '2001:db8::7'],
  ['postgres://me:canary@127.0.0.1.example/none?sslmode=', '127.0.0.1.example'],
] as const)
  test(`the store at ${host} of ${url.replace('canary', '…')} is not contacted without TLS, and the password is not sent`, async t => {
    const urlFile = join(temporaryDirectory(t), 'url');
    writeFileSync(urlFile, url);
    const failure: unknown = await openPostgres(urlFile).catch((error: unknown) => error);
    const { message } = failure as Error;
    assert.ok(
      message.startsWith(
        `cannot use the store of "${urlFile}": the connection to "${host}" is not encrypted`,
      ),
      message,
    );
    assert.match(
      message,
      /add sslmode=verify-full to the URL, .* or sslmode=disable for a network that you trust$/,
    );
    assert.doesNotMatch(inspect(failure, { depth: 9, showHidden: true }), /canary/);
  });

const malformed = /: write the URL as postgres:\/\/USER:PASSWORD@HOST:PORT\/DATABASE$/;
const wrongUrls: readonly (readonly [what: string, url: (directory: string) => string, reason: RegExp])[] = [
  [
    'has another password',
    at => `postgres://locked:canary@/postgres?host=${at}`,
    /: the database "postgres" at "\S+", as "locked", does not accept this user's password; correct/,
  ],
  [
    'names no database',
    at => `postgres://postgres:canary@/nowhere?host=${at}`,
    /: the database "nowhere" at "\S+", as "postgres", does not exist; create it, or correct/,
  ],
  ['names a port that is none', () => 'postgres://me:canary@127.0.0.1:1canary/none', malformed],
  ['has a password that is not written as one', () => 'postgres://me:canary/@127.0.0.1:1', malformed],
  [
    'names a certificate that is not there',
    () => 'postgres://me:canary@127.0.0.1:1/none?sslcert=/no',
    /: "\/no" does not exist, or its directory does not$/,
  ],
];
for (const [what, url, reason] of wrongUrls)
  test(`a URL that ${what} is reported in one line without the password`, { skip }, async t => {
    const { directory, query } = await server();
    await query("drop role if exists locked; create role locked login password 'another'");
    const rules = join(directory, 'data/pg_hba.conf');
    writeFileSync(rules, `local all locked scram-sha-256\n${readFileSync(rules, 'utf8')}`);
    await query('select pg_reload_conf()');
    const urlFile = join(temporaryDirectory(t), 'url');
    writeFileSync(urlFile, url(directory));
    const failure: unknown = await openPostgres(urlFile).catch((error: unknown) => error);
    assert.ok((failure as Error).message.startsWith(`cannot use the store of "${urlFile}": `));
    assert.match((failure as Error).message, reason);
    assert.doesNotMatch(inspect(failure, { depth: 9, showHidden: true }), /canary/);
  });

test('a killed server is UNAVAILABLE, and all requests succeed once it is back', { skip }, async t => {
  const { createDatabase, kill, start } = await server();
  const { volumes, engine } = await openGateway(t, { store: `postgres:${await createDatabase()}` });
  await volumes.create(a, 'a.before', volumeSpec('before'));
  const { promise: held, resolve: go } = Promise.withResolvers<void>();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const inside = engine.transaction(async sql => {
    await sql.run("delete from volumes where id = 'a.before'");
    begin();
    await held;
    await sql.run("delete from volumes where id = 'a.before'");
  });
  await begun;
  await kill();
  go();
  await assert.rejects(inside, { code: 'UNAVAILABLE' });
  const create = () => volumes.create(a, 'a.after', volumeSpec('after'));
  await assert.rejects(create(), { code: 'UNAVAILABLE' });
  await assert.rejects(volumes.get(a, 'a.before'), { code: 'UNAVAILABLE' });
  await start();
  const created = await poll(() => create().catch(() => undefined), { everyMs: 20, timeoutMs: 30_000 });
  assert.equal(created?.volume.state, 'ready');
  assert.equal((await volumes.get(a, 'a.before')).state, 'ready');
});

test(
  'transactions that lock in opposite orders both succeed: the one that the server aborts is repeated',
  { skip },
  async t => {
    const engine = await openEmpty(t);
    await engine.transaction(sql => sql.run('create table items (id text primary key)'));
    const met = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
    let runs = 0;
    const lockBoth = (order: readonly [0, 1] | readonly [1, 0]): Promise<number> =>
      engine.transaction(async sql => {
        runs++;
        await sql.lock('volume', `item-${order[0]}`);
        await sql.all('select 1');
        met[order[0]].resolve();
        await met[order[1]].promise;
        await sql.lock('volume', `item-${order[1]}`);
        return sql.run('insert into items (id) values (?)', `by-${order[0]}`);
      });
    assert.deepEqual(await Promise.all([lockBoth([0, 1]), lockBoth([1, 0])]), [1, 1]);
    // The repeated transaction may lock first a row that the other one needs next, and conflict once more.
    assert.ok(runs > 2);
  },
);

test('work that conflicts is repeated, but not forever', { skip }, async t => {
  const engine = await openEmpty(t);
  let runs = 0;
  const work = (failures: number): Promise<string> =>
    engine.transaction(async sql => {
      if (runs++ < failures)
        await sql.run("do $$ begin raise exception using errcode = '40001'; end $$").catch(() => undefined);
      return 'done';
    });
  assert.equal(await work(3), 'done');
  assert.equal(runs, 4);
  await assert.rejects(work(1_000), { code: 'UNAVAILABLE' });
  assert.ok(runs < 100);
});

test('a failed write that nobody awaited fails the transaction', { skip }, async t => {
  const engine = await openEmpty(t);
  await engine.transaction(sql => sql.run('create table items (id text primary key)'));
  const twice = engine.transaction(async sql => {
    await sql.write('insert into items (id) values (?)', 'one');
    await sql.write('insert into items (id) values (?)', 'one');
  });
  await assert.rejects(twice, { code: 'UNAVAILABLE' });
  assert.deepEqual(await engine.reader.all('select * from items'), []);
});

/**
 * Attaches a volume for one writer to two nodes with two replicas; the second stops once it has read the attachments.
 */
async function race(t: TestContext, locks: boolean): Promise<number> {
  const store = `postgres:${await (await server()).createDatabase()}`;
  const backend = await openMemory();
  let [first, isRacing]: [Promise<unknown> | undefined, boolean] = [undefined, false];
  const slow = (engine: Engine): Engine => ({
    ...engine,
    transaction: work =>
      engine.transaction(sql =>
        work({
          ...sql,
          ...(!locks && { lock: async () => {} }),
          async all(text, ...values) {
            const rows = await sql.all(text, ...values);
            if (!isRacing || !/ from attachments where true/.test(text)) return rows;
            isRacing = false;
            first = attach(one, 'n1');
            await withinTime(first, 500);
            return rows;
          },
        }),
      ),
  });
  const one = await openGateway(t, { store, backend });
  const other = await openGateway(t, { store, backend, wrapEngine: slow });
  const attach = ({ attachments }: typeof one, nodeId: string): Promise<unknown> =>
    attachments
      .attach({ cluster: clusters.any, volumeId: 'any.v', nodeId }, { capability: mounted, readonly: false })
      .catch((error: unknown) => error);
  await one.create('any.v');
  isRacing = true;
  await attach(other, 'n2');
  await first;
  const { length } = await one.engine.reader.all('select node_id from attachments');
  return length;
}

test(
  'of two replicas that attach a volume at once one succeeds; without the lock both would',
  { skip },
  async t => {
    assert.equal(await race(t, true), 1);
    assert.equal(await race(t, false), 2);
  },
);
