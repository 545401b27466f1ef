import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import * as z from 'zod';
import type { AttachmentBounds, Backend, BackendPlugin } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { openMemory } from '../../../../gateway/backends/memory.ts';
import { openConfiguration } from '../../../../gateway/configuration/configuration.ts';
import type { Reach } from '../../../../src/api/attachment.ts';
import { createMemoryLog, mounted, temporaryDirectory } from '../../../harness/gateway.ts';

const images: AttachmentBounds = { protocols: ['loop'], roots: ['/srv/fast'] };
const foreign: Reach = { protocol: 'loop', path: '/srv/fast/east.secret.img' };
const own: Reach = { protocol: 'loop', path: '/srv/acme/east.a.img' };
const acme = { backend: 'acme' };
const attachments = { protocols: ['loop'], roots: ['/srv/acme'] };

test("a storage that answers with another pool's file opens nothing, and changed bounds take effect at once", async t => {
  const { write, attach } = await open(t, { fast: { backend: 'image' }, acme });
  await assert.rejects(attach('acme', foreign), { code: 'UNAVAILABLE' });
  await assert.rejects(attach('acme', own), { code: 'UNAVAILABLE' });
  assert.deepEqual(await attach('fast', foreign), { ...foreign, pool: 'fast' });
  await write({ fast: { backend: 'image' }, acme: { ...acme, attachments } });
  assert.deepEqual(await attach('acme', own), { ...own, pool: 'acme' });
  await assert.rejects(attach('acme', foreign), { code: 'UNAVAILABLE' });
  await write({ fast: { backend: 'image' }, acme: { ...acme, attachments: { addresses: ['192.0.2.1'] } } });
  await assert.rejects(attach('acme', own), { code: 'UNAVAILABLE' });
});

test('the bounds of a pool that was removed from the file still restrict other pools', async t => {
  const roots = { protocols: ['loop'], roots: ['/srv'] };
  const { write, attach } = await open(t, {
    fast: { backend: 'image' },
    acme: { ...acme, attachments: roots },
  });
  await write({ acme: { ...acme, attachments: roots } });
  await assert.rejects(attach('acme', foreign), { code: 'UNAVAILABLE' });
  assert.deepEqual(await attach('acme', own), { ...own, pool: 'acme' });
});

test('a storage on this machine may name loopback addresses, and another one may not', async t => {
  const { attach } = await open(t, { fast: { backend: 'image' }, acme, local: { backend: 'local' } });
  const loopback: Reach = { protocol: 'nfs', server: '127.0.0.1', path: '/x' };
  await assert.rejects(attach('acme', loopback), { code: 'UNAVAILABLE' });
  assert.deepEqual(await attach('local', loopback), loopback);
});

test('a pool whose backend knows its bounds accepts none from the file', async t => {
  await assert.rejects(open(t, { fast: { backend: 'image', attachments } }), (error: AggregateError) => {
    assert.match(String(error.errors), /pools\.fast: attachments: the backend "image" sets its own bounds/);
    return true;
  });
});

test('a storage cannot name the shares or addresses of a local pool that is not open yet', async t => {
  const exported = { protocol: 'nvme-tcp', addresses: ['192.0.2.9:4420'] };
  const { attach } = await open(t, {
    files: { backend: 'slowDir', dir: '/mnt/files', nfs: { server: '192.0.2.8', path: '/srv/files' } },
    disks: { backend: 'slowImage', dir: '/mnt/disks', export: exported },
    acme,
  });
  const server = '192.0.2.1';
  const share: Reach = { protocol: 'nfs', server, path: '/srv/files/east.pvc-1' };
  const disk: Reach = { ...exported, protocol: 'nvme-tcp', subsystem: 'nqn.2014-08.org:x', wwid: 'uuid.x' };
  await assert.rejects(attach('acme', share), /not below a root of this pool alone/);
  await assert.rejects(attach('acme', { ...share, server: '192.0.2.8' }), /which is another pool's/);
  await assert.rejects(attach('acme', disk), /which is another pool's/);
  const right: Reach = { protocol: 'nfs', server, path: '/srv/acme/east.a' };
  assert.deepEqual(await attach('acme', right), right);
});

/**
 * Opens a gateway's pools: `image` knows its bounds, `acme` does not, and the storage of `local` is on this machine.
 * Each gives the answer that the test sets. `slowDir` and `slowImage` open after the test.
 */
async function open(t: TestContext, pools: Readonly<Record<string, object>>) {
  let answer = foreign;
  const plugin = (known: Pick<Backend, 'attachmentBounds' | 'storageHost'> = {}): BackendPlugin => ({
    settings: z.strictObject({}),
    open: async () => {
      const { attachmentBounds: _, ...memory } = openMemory({ capacity: 2 ** 30 });
      return { ...memory, ...known, attach: async () => answer };
    },
  });
  const path = join(temporaryDirectory(t), 'gateway.yaml');
  const { log } = createMemoryLog();
  writeFileSync(path, JSON.stringify({ pools }));
  const plugins = {
    image: plugin({ attachmentBounds: images }),
    acme: plugin(),
    local: plugin({ storageHost: '[::1]' }),
    slowDir: { ...backends.dir, open: never } as BackendPlugin,
    slowImage: { ...backends.image, open: never } as BackendPlugin,
  };
  const served = await openConfiguration(path, { plugins, log, patienceMs: 20 });
  t.after(() => served.close());
  const volume = { id: 'east.a', sizeBytes: 1, parameters: {} };
  const access = { nodeId: 'n1', attachmentId: 'x', capability: mounted, readonly: false };
  return {
    async write(next: Readonly<Record<string, object>>) {
      writeFileSync(path, JSON.stringify({ pools: next }));
      await served.readAgain();
    },
    attach(pool: string, reach: Reach): Promise<Reach> {
      answer = reach;
      return served.pools.get(pool).backend.attach(volume, access);
    },
  };
}

function never(): Promise<Backend> {
  return new Promise(() => {});
}
