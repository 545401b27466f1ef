import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gatewaySettings } from '../../../../gateway/config.ts';
import { createMachineCheck } from '../../../../gateway/pools/state/machine.ts';
import { checkGateway } from '../../../../gateway/preflight.ts';
import type { PoolState } from '../../../../src/api/admin.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { operatorCli } from '../../../harness/cli/run-cli.ts';
import { runGateway, type RunningGateway } from '../../../harness/gateway/program.ts';
import { settingsOf } from '../../../harness/program.ts';
import { temporaryDirectory } from '../../../harness/temporary.ts';

const context = { name: 'fast', log: silentLog };

test('a machine is checked once for all who ask, and a failed check is a line', async () => {
  let checks = 0;
  const check = createMachineCheck(
    {
      check: async () => {
        checks++;
        return [];
      },
      missingFeatures: async () => Promise.reject(new Error('the directory is gone')),
    },
    {},
    context,
  );
  const all = await Promise.all([check(), check()]);
  assert.deepEqual(
    [...all, await check()],
    Array.from({ length: 3 }, () => ['the directory is gone']),
  );
  assert.equal(checks, 1);
});

test('a backend that needs nothing of the machine is not checked', async () => {
  assert.equal(await createMachineCheck({}, {}, context)(), undefined);
  let checks = 0;
  const check = async () => [`check ${++checks}`];
  assert.equal(await createMachineCheck({ check, checksStorageOnly: true }, {}, context)(), undefined);
  assert.equal(checks, 0, 'the storage is not asked');
});

/** Lists the pools as `fairlead get pools` prints them. */
async function listPools(gateway: RunningGateway): Promise<readonly PoolState[]> {
  const { stdout } = await operatorCli(gateway)('get pools -o json');
  return (JSON.parse(stdout) as { readonly pools: readonly PoolState[] }).pools;
}

/** Returns what `--check` says of each pool. */
async function linesOf({ directory, store }: RunningGateway): Promise<Readonly<Record<string, string[]>>> {
  const lines: string[] = [];
  const flags = { config: join(directory, 'gateway.yaml'), store };
  await checkGateway(settingsOf(gatewaySettings, flags), { out: line => lines.push(line) });
  const found: Record<string, string[]> = {};
  for (const line of lines) {
    const [, pool, text = ''] = /^pool (\w+): (?:ok(?:, but )?)?(.*)\n/.exec(line) ?? [];
    if (pool !== undefined) found[pool] = [...(found[pool] ?? []), text].filter(one => one !== '');
  }
  return found;
}

test('an open pool shows what its machine lacks in the words of --check', async t => {
  const directory = temporaryDirectory(t);
  const [images, files] = [join(directory, 'images'), join(directory, 'files')];
  for (const one of [images, files]) mkdirSync(one);
  const pools = {
    images: { backend: 'image', dir: images },
    files: { backend: 'dir', dir: files },
    far: { backend: 'memory' },
  };
  const gateway = await runGateway(t, { pools });
  rmSync(files, { recursive: true });
  const expected = await linesOf(gateway);
  const found = await listPools(gateway);
  const lacks = Object.fromEntries(found.map(({ id, machineLacks }) => [id, machineLacks]));
  assert.deepEqual(lacks, { images: expected['images'], files: expected['files'], far: undefined });
  assert.match(expected['files']?.join() ?? '', /there is no such directory/);
  const { stdout } = await operatorCli(gateway)('describe pool files');
  assert.ok(stdout.includes(`${expected['files']?.[0]}\n`), stdout);
});

test('a pool that waits shows every tool and file that its machine lacks', { timeout: 60_000 }, async t => {
  const gateway = await runGateway(t);
  const path = join(gateway.directory, 'gateway.yaml');
  const file = JSON.parse(readFileSync(path, 'utf8')) as { readonly pools: object };
  const far = {
    backend: 'ceph',
    pool: 'rbd',
    user: 'fairlead',
    conf: '/none/ceph.conf',
    keyring: '/none/key',
  };
  writeFileSync(path, JSON.stringify({ ...file, pools: { ...file.pools, far } }));
  const findPool = async () => (await listPools(gateway)).find(({ id }) => id === 'far');
  const pool = await poll(findPool, { everyMs: 200, timeoutMs: 30_000 });
  assert.equal(pool?.state, 'waiting');
  const lacks = pool?.machineLacks ?? [];
  assert.deepEqual(lacks, (await linesOf(gateway))['far']);
  assert.ok(lacks.length >= 2, lacks.join('\n'));
});

test('a pool whose machine lacks something at a start waits for it, and the others are served', async t => {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'images'));
  mkdirSync(join(directory, 'exported'));
  const missing = { protocol: 'nvme-tcp', addresses: ['192.0.2.200:4420'] };
  const gateway = await runGateway(t, {
    pools: {
      fast: { backend: 'image', dir: join(directory, 'images') },
      late: { backend: 'image', dir: join(directory, 'exported'), export: missing },
    },
  });
  const states = Object.fromEntries((await listPools(gateway)).map(({ id, state }) => [id, state]));
  assert.equal(states['fast'], 'open');
  assert.equal(states['late'], 'waiting');
});
