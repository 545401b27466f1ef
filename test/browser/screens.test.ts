import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { storeSetting } from '../../gateway/config.ts';
import { openStore } from '../../gateway/stores/index.ts';
import { historyTable, keptMinutes } from '../../gateway/tables/history.ts';
import { mounted } from '../harness/gateway.ts';
import { callWithin } from '../harness/gateway/program.ts';
import { temporaryDirectory } from '../harness/temporary.ts';
import { whyNoBrowser } from './browser.ts';
import { openConsole, type Console } from './operator.ts';

/** The directory of the documentation's pictures of the console. */
const directory = 'docs/guides/console';
const guide = readFileSync('docs/guides/console.md', 'utf8');

/** The pages of the console by the names of their pictures. */
const screens: Readonly<Record<string, string>> = {
  overview: '',
  volumes: 'volumes',
  volume: 'volumes/east.orders',
  snapshots: 'snapshots',
  attachments: 'attachments',
  nodes: 'nodes',
  pools: 'pools',
  pool: 'pools/fast',
  clusters: 'clusters',
  cluster: 'clusters/east',
  operations: 'operations',
  queues: 'queues',
  'audit-log': 'audit-log',
  history: 'history',
};

/** `docs`: renews the pictures of the guide. A directory: gets pictures in all themes and widths, to look at. */
const target = process.env['CONSOLE_PICTURES'];

type View = { readonly colorScheme: 'light' | 'dark'; readonly width: number; readonly height: number };

const viewOfGuide: View = { colorScheme: 'light', width: 1_100, height: 720 };
const allViews: readonly View[] = (['light', 'dark'] as const).flatMap(colorScheme => [
  { colorScheme, width: 360, height: 720 },
  { colorScheme, width: 1_100, height: 720 },
  { colorScheme, width: 1_920, height: 1_080 },
  { colorScheme, width: 3_840, height: 2_160 },
]);

test('every page of the console has a picture in its guide', () => {
  const shown = [...guide.matchAll(/\]\(console\/([a-z-]+)\.png\)/g)].map(([, name]) => name);
  assert.deepEqual(shown.toSorted(), Object.keys(screens).toSorted());
  assert.deepEqual(
    readdirSync(directory).toSorted(),
    Object.keys(screens)
      .map(name => `${name}.png`)
      .toSorted(),
  );
});

test(
  'every page shows the resources of two clusters, and can be pictured',
  { skip: whyNoBrowser },
  async t => {
    const isForGuide = target === undefined || target === 'docs';
    const to = target === undefined ? temporaryDirectory(t) : isForGuide ? directory : target;
    mkdirSync(to, { recursive: true });
    const opened = await openConsole(t, {
      pools: {
        fast: { backend: 'memory', capacity: 2 ** 40 },
        bulk: { backend: 'memory', capacity: 2 ** 43 },
      },
      clusters: {
        east: { quota: { bytes: 2 ** 39, volumes: 40 } },
        west: { pools: ['bulk'], quota: { bytes: 2 ** 42 } },
      },
      flags: { 'check-every': '1s' },
    });
    await fill(opened);
    await addHistory(opened);
    const { page, show } = opened;
    for (const { colorScheme, ...size } of isForGuide ? [viewOfGuide] : allViews) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(size);
      for (const [name, path] of Object.entries(screens)) {
        await show(path);
        if (path === '') await page.getByRole('heading', { name: 'Last 24 hours' }).waitFor();
        const file = isForGuide ? `${name}.png` : `${name}-${colorScheme}-${size.width}.png`;
        const picture = await page.screenshot({
          path: join(to, file),
          fullPage: !isForGuide || name === 'volume',
        });
        assert.ok(picture.length > 5_000, `${file} has ${picture.length} bytes`);
      }
    }
  },
);

const gib = 2 ** 30;

/** Records a day in which both pools fill, with an hour of failures. */
async function addHistory({ gateway }: Console): Promise<void> {
  const engine = await openStore(storeSetting(gateway.store));
  await using _ = { [Symbol.asyncDispose]: () => engine.close() };
  const now = Math.floor(Date.now() / 60_000);
  await engine.transaction(async sql => {
    for (let age = 0; age < keptMinutes; age++) {
      const part = 1 - age / keptMinutes;
      const calls = Math.round(40 + 30 * Math.sin(age / 90));
      const failedCalls = age > 300 && age < 360 ? Math.round(calls / 4) : 0;
      const common = { deletedBytes: 0, calls, failedCalls, waiting: 0, waitMs: 0 };
      const fast = { ...common, totalBytes: 2 ** 40, reservedBytes: Math.round(part * 124 * gib) };
      const bulk = { ...common, totalBytes: 2 ** 43, reservedBytes: Math.round(part * 244 * gib) };
      const pools = new Map(Object.entries({ fast, bulk }));
      await historyTable.replace(sql, { minute: now - age, pools });
    }
  });
}

/** Gives both clusters volumes, nodes, attachments, snapshots and copies. */
async function fill({ gateway }: Console): Promise<void> {
  const names = ['orders', 'invoices', 'search', 'queue', 'metrics', 'uploads', 'cache', 'ledger'];
  for (const [index, name] of names.entries())
    for (const cluster of ['east', 'west'])
      await gateway.create(`${cluster}.${name}`, {
        requiredBytes: (index + 2) * 4 * gib,
        parameters: { pool: cluster === 'east' && index < 6 ? 'fast' : 'bulk' },
      });
  const east = gateway.clientOf('east');
  const body = { capability: mounted, readonly: false };
  for (const cluster of ['east', 'west'])
    for (const [index, nodeId] of ['node-1', 'node-2', 'node-3'].entries()) {
      const client = gateway.clientOf(cluster);
      await client.putNode({ nodeId, body: { maxVolumes: 64 } }, callWithin());
      for (const name of names.slice(index * 2, index * 2 + 2))
        await client.attachVolume({ volumeId: `${cluster}.${name}`, nodeId, body }, callWithin());
    }
  await east.detachVolume({ volumeId: 'east.orders', nodeId: 'node-1' }, callWithin());
  await east.attachVolume({ volumeId: 'east.orders', nodeId: 'node-2', body }, callWithin());
  for (const day of ['monday', 'tuesday'])
    await east.createSnapshot(
      { snapshotId: `east.orders-${day}`, body: { name: `orders-${day}`, volumeId: 'east.orders' } },
      callWithin(),
    );
  const common = { parameters: { pool: 'fast' }, requiredBytes: 8 * gib };
  await gateway.create('east.orders-test', {
    source: { kind: 'snapshot', snapshotId: 'east.orders-monday' },
    ...common,
  });
  await gateway.create('east.orders-fork', {
    source: { kind: 'volume', volumeId: 'east.orders' },
    ...common,
  });
}
