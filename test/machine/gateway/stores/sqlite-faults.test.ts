import assert from 'node:assert/strict';
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSqlite } from '../../../../gateway/stores/sqlite.ts';
import { clusters, openGateway, openMemory, temporaryDirectory } from '../../../harness/gateway.ts';
import { testAsRoot } from '../../../harness/machine.ts';

testAsRoot('on a full disk calls are UNAVAILABLE and nothing is half done or lost', async t => {
  const disk = mountTiny(t);
  const backend = await openMemory();
  const gateway = await openGateway(t, { backend, store: join(disk, 'store.sqlite') });
  const isFull = { code: 'UNAVAILABLE', detail: /database or disk is full/ };
  const names = Array.from({ length: 4_000 }, (_, index) => `pvc-${index}`);
  const make = (name: string): Promise<unknown> => gateway.create(`a.${name}`, { parameters: {} });
  const made: string[] = [];
  const fill = async () => {
    for (const name of names) {
      await make(name);
      made.push(name);
    }
  };
  await assert.rejects(fill(), isFull);
  assert.ok(made.length > 10);
  await assert.rejects(make('late'), isFull);
  await assert.rejects(gateway.volumes.delete(clusters.a, 'a.pvc-0'), isFull);
  assert.match((await gateway.volumes.get(clusters.a, 'a.pvc-0')).state, /^(ready|deleting)$/);

  execFileSync('mount', ['-o', 'remount,size=64m', '--', disk]);
  await gateway.volumes.delete(clusters.a, 'a.pvc-0');
  await Promise.all(['late', ...made.slice(1), ...names.slice(made.length, made.length + 20)].map(make));
  const { volumes } = await gateway.volumes.list(clusters.a, { limit: 4_000 });
  assert.deepEqual(new Set(volumes.map(({ state }) => state)), new Set(['ready']));
  assert.equal(volumes.length, made.length + 20);
  assert.deepEqual(
    (await Array.fromAsync(backend.list?.() ?? [])).sort(),
    volumes.map(({ id }) => id),
  );
});

test('a process that is killed in a transaction leaves the store intact, with everything that was reported as durable', async t => {
  const path = join(temporaryDirectory(t), 'store.sqlite');
  const engine = openSqlite(path);
  t.after(() => engine.close());
  await engine.transaction(sql =>
    sql.run('create table halves (pair integer not null, half integer not null, text text)'),
  );
  for (const lifeMs of [5, 20, 60, 120]) {
    const writer = fork(join(import.meta.dirname, 'pair-writer.ts'), [path], { silent: true });
    let durable = -1;
    writer.on('message', pair => (durable = Number(pair)));
    await once(writer, 'message');
    await sleep(lifeMs);
    writer.kill('SIGKILL');
    await once(writer, 'close');
    const half = await engine.reader.all('select pair from halves group by pair having count(*) <> 2');
    assert.deepEqual(half, []);
    const [last] = await engine.reader.all('select max(pair) as pair from halves');
    assert.ok(Number(last?.pair) >= durable, `${last?.pair} is less than ${durable}`);
    const [check] = await engine.reader.all('pragma integrity_check');
    assert.equal(check?.integrity_check, 'ok');
  }
});

function mountTiny(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'fairlead-tiny-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', '--', 'tmpfs', directory]);
  // The store closes later and keeps its files until then.
  t.after(() => {
    execFileSync('umount', ['--lazy', '--', directory]);
    rmdirSync(directory);
  });
  return directory;
}
