import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { storeSetting } from '../../gateway/config.ts';
import { openStore } from '../../gateway/stores/index.ts';
import { poll } from '../../src/lib/concurrency.ts';
import { mounted, newVolume, openMemory } from '../harness/gateway.ts';
import { callWithin, type GatewayRun } from '../harness/gateway/program.ts';
import { whyNoBrowser } from './browser.ts';
import { openAction, openConsole, takeAction, type Console } from './operator.ts';

/** An incident, as its section of the runbook describes it. */
type Incident = {
  readonly run?: GatewayRun;
  /** Prepares the gateway, before the operator looks at the overview. */
  readonly prepare?: (console: Console) => Promise<unknown>;
  readonly begin: (console: Console) => Promise<unknown>;
  /** The words of the overview. */
  readonly seen: RegExp;
  /** Ends it by clicks, or where no click can, by a change outside the console. */
  readonly resolve?: (console: Console) => Promise<unknown>;
};

const bytes = 2 ** 22;
const fillPool = ({ gateway }: Console) => gateway.create('a.big', { requiredBytes: bytes });

/** Deletes a volume, which the list of volumes leads to. */
async function deleteVolume({ page }: Console, id: string): Promise<void> {
  await page.getByRole('link', { name: 'Volumes', exact: true }).click();
  await page.getByRole('link', { name: id }).click();
  const dialog = await openAction(page, 'Delete');
  await takeAction(dialog, { word: 'Delete', typed: id, outcome: `volume "${id}" is deleted` });
}

/** Follows the link of a problem on the overview. */
async function follow({ page }: Console, about: string): Promise<void> {
  await problemsOf(page).getByRole('link', { name: about }).first().click();
}

function problemsOf(page: Console['page']) {
  return page.getByRole('region', { name: /problems? needs? attention/ });
}

async function attachToNode({ gateway }: Console): Promise<void> {
  const { client } = gateway;
  await gateway.create('a.one');
  await client.putNode({ nodeId: 'n1', body: {} }, callWithin());
  const body = { capability: mounted, readonly: false };
  await client.attachVolume({ volumeId: 'a.one', nodeId: 'n1', body }, callWithin());
}

async function sendExpiredToken({ gateway }: Console): Promise<void> {
  const past = Math.floor(Date.now() / 1_000) - 900;
  const authorization = `Bearer ${await gateway.signers.a.sign({ iat: past, exp: past + 60 })}`;
  assert.equal((await fetch(`${gateway.url}/v1/nodes`, { headers: { authorization } })).status, 401);
}

const [withOrphan, withLoss, slow] = [await openMemory(), await openMemory(), await openMemory()];
const silence = Promise.withResolvers<never>();
const stuck = Promise.withResolvers<void>();
let isSilent = false;
let keys = '';

const incidents: Readonly<Record<string, Incident>> = {
  'the gateway is down': {
    begin: ({ gateway }) => gateway.end(),
    seen: /gateway: http:.* does not answer/,
  },
  'the pool is full': {
    run: { pools: { fast: { backend: 'memory', capacity: bytes } } },
    begin: fillPool,
    seen: /pool fast: 100% of 4Mi reserved: it is nearly full/,
    resolve: console => deleteVolume(console, 'a.big'),
  },
  'the quota is used up': {
    run: { clusters: { a: { quota: { bytes } } } },
    begin: fillPool,
    seen: /cluster a: its quota is used up/,
    resolve: console => deleteVolume(console, 'a.big'),
  },
  'the key file of a cluster is broken': {
    begin: async ({ gateway }) => {
      const path = join(gateway.directory, 'a.jwks.json');
      keys = readFileSync(path, 'utf8');
      writeFileSync(path, '}garbage');
    },
    seen: /cluster a: its tokens are refused: .*is not JSON/,
    resolve: async ({ gateway }) => writeFileSync(join(gateway.directory, 'a.jwks.json'), keys),
  },
  'the tokens of a cluster are refused': {
    begin: sendExpiredToken,
    seen: /cluster a: 1 token with its name was refused/,
    resolve: ({ gateway }) => gateway.client.listVolumes({}, callWithin()),
  },
  'the storage has an orphan': {
    run: { own: withOrphan, pools: { fast: { backend: 'own' } }, flags: { 'check-every': '100ms' } },
    prepare: ({ gateway }) => gateway.create('a.kept'),
    begin: () => withOrphan.create(newVolume('a.orphan')),
    seen: /storage: pool "fast": volume "a\.orphan": in the storage, not in the store/,
    async resolve(console) {
      const { page } = console;
      await follow(console, 'storage');
      await page.getByRole('listitem').getByRole('button', { name: 'Import…' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Show the consequences' }).click();
      await takeAction(dialog, { word: 'Import', outcome: 'is now volume "a.orphan"' });
    },
  },
  'a volume is missing in the storage': {
    run: { own: withLoss, pools: { fast: { backend: 'own' } }, flags: { 'check-every': '100ms' } },
    prepare: ({ gateway }) => Promise.all(['kept', 'lost'].map(name => gateway.create(`a.${name}`))),
    begin: () => withLoss.delete({ id: 'a.lost' }),
    seen: /storage: pool "fast": volume "a\.lost": in the store, not in the storage/,
    async resolve(console) {
      await follow(console, 'storage');
      await console.page.getByRole('link', { name: 'a.lost' }).click();
      const dialog = await openAction(console.page, 'Delete');
      await takeAction(dialog, { word: 'Delete', typed: 'a.lost', outcome: 'is deleted' });
    },
  },
  'a node is gone, and its volumes are still attached there': {
    prepare: attachToNode,
    begin: ({ gateway }) => gateway.client.deleteNode({ nodeId: 'n1' }, callWithin()).catch(() => {}),
    seen: /node a\/n1: its cluster has not had it for .*, but 1 volume is attached to it/,
    async resolve(console) {
      await follow(console, 'node a/n1');
      const dialog = await openAction(console.page, 'Detach');
      await takeAction(dialog, { word: 'Detach', typed: 'n1', outcome: 'volume "a.one" is detached' });
      await console.gateway.client.deleteNode({ nodeId: 'n1' }, callWithin());
    },
  },
  'an operation is stuck': {
    run: {
      own: { create: volume => stuck.promise.then(() => slow.create(volume)) },
      pools: { fast: { backend: 'own' } },
    },
    async begin({ gateway }) {
      void gateway.create('a.one').catch(() => {});
      const engine = await openStore(storeSetting(gateway.store));
      await using _ = { [Symbol.asyncDispose]: () => engine.close() };
      const backdate = () =>
        engine.transaction(async sql => (await sql.run('update claims set since_ms = 1')) || undefined);
      assert.ok(await poll(backdate, { everyMs: 20, timeoutMs: 30_000 }));
    },
    seen: /operations: create of "a\.one" has been running for/,
    async resolve(console) {
      await follow(console, 'operations');
      await console.page.getByText('create has been running on volume "a.one"').waitFor();
      stuck.resolve();
    },
  },
  'the storage hangs': {
    run: {
      own: { capacity: async () => (isSilent ? silence.promise : { totalBytes: 2 ** 40 }) },
      pools: { fast: { backend: 'own' } },
    },
    begin: async () => (isSilent = true),
    seen: /pool fast: its storage does not answer/,
    async resolve(console) {
      await follow(console, 'pool fast');
      await console.page.getByRole('region', { name: 'Failures' }).waitFor();
      isSilent = false;
      silence.reject(new Error('the test ended'));
    },
  },
};

for (const [sentence, { run, prepare, begin, seen, resolve }] of Object.entries(incidents))
  test(
    `incident: ${sentence}, which the overview shows${resolve ? ' until it is resolved' : ''}`,
    { skip: whyNoBrowser },
    async t => {
      const console = await openConsole(t, run);
      const { page } = console;
      await prepare?.(console);
      await page.getByText(/everything works|nothing needs attention/).waitFor();
      await begin(console);
      const startMs = performance.now();
      await page.locator('.problems li, .notice').filter({ hasText: seen }).waitFor();
      t.diagnostic(`seen after ${((performance.now() - startMs) / 1_000).toFixed(1)} s`);
      if (!resolve) return;
      await resolve(console);
      await page.getByRole('link', { name: 'Overview' }).click();
      await problemsOf(page).waitFor({ state: 'detached' });
      await page.getByText(/everything works|nothing needs attention/).waitFor();
    },
  );
