import { poll } from '../../../../src/lib/concurrency.ts';
import { recorded } from '../../../suites/exports/recorded.ts';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodeAccess } from '../../../../gateway/backend.ts';
import type { Export } from '../../../../gateway/export.ts';
import { exportIscsi } from '../../../../gateway/exports/iscsi.ts';
import type { ConfigTree } from '../../../../gateway/local/kernel/configfs.ts';
import { portals } from '../../../../gateway/local/kernel/machine.ts';
import { createNames } from '../../../../gateway/local/targets/names.ts';
import { exportNvme } from '../../../../gateway/exports/nvme-tcp.ts';
import { toPublishContext } from '../../../../src/api/attachment.ts';
import { unavailableProblem } from '../../../../src/api/problem.ts';
import { createMemoryLog } from '../../../harness/gateway.ts';
import { createConfigTree } from './configfs.ts';
import { createCountdown, playEnding } from '../../../suites/exports/ended.ts';

const settings = { addresses: ['192.0.2.1:4420', '[2001:db8::1]:4420'] };
const volume = { id: 'a.one', nonce: 'first', path: '/srv/a.one.img', sizeBytes: 2 ** 20 };
const other = { ...volume, id: 'a.two', path: '/srv/a.two.img' };
const capability = { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
const accessOf = (nodeId: string, access: Partial<NodeAccess> = {}): NodeAccess => ({
  nodeId,
  cluster: 'a',
  attachmentId: crypto.randomUUID(),
  capability,
  readonly: false,
  ...access,
});

type Kernel = ReturnType<typeof createConfigTree>;
type Setup = { readonly kernel?: Kernel; readonly poolKey?: string; readonly tree?: ConfigTree };

/** The exports, over a kernel whose targets are a tree. */
const kinds = [
  { name: 'nvme-tcp', export: exportNvme, hasKeys: false },
  { name: 'nvme-tcp with keys', export: exportNvme, hasKeys: true },
  { name: 'iscsi', export: exportIscsi, hasKeys: false },
].map(({ name, hasKeys, export: open }) => ({
  name,
  hasKeys,
  open({ kernel = createConfigTree({ hasKeys }), poolKey = 'one', tree = kernel.tree }: Setup = {}) {
    const { log, lines } = createMemoryLog();
    const names = createNames(Buffer.from(poolKey));
    const exported = open(settings, { tree, names, log, load: async () => {} });
    return { kernel, lines, exported: exported as Required<Omit<Export, 'check'>> };
  },
}));

for (const { name, hasKeys, open } of kinds)
  describe(`the export ${name}`, () => {
    test('an attachment has one target, the same however often it is published, and none once it is withdrawn', async () => {
      const { kernel, exported } = open();
      const access = accessOf('n1');
      const reach = await exported.publish(volume, access);
      const made = kernel.made();
      assert.ok(made.length > 3);
      assert.deepEqual(await exported.publish(volume, access), reach);
      assert.deepEqual(kernel.made(), made);
      assert.equal((await exported.users(volume)).length, 1);
      for (let count = 0; count < 2; count++) await exported.withdraw(volume, 'n1', 'a');
      assert.deepEqual(kernel.made(), []);
      assert.deepEqual(await exported.users(volume), []);
    });

    test('a target accepts the writes of a reader that may replay a journal, and says so, also after a start', async () => {
      const { kernel, exported } = open();
      const isProtected = () => [...kernel.valuesOf('demo_mode_write_protect')].join();
      const reader = accessOf('n1', { readonly: true });
      assert.equal((await exported.publish(volume, reader)).mayReplay, undefined);
      assert.equal(isProtected(), name === 'iscsi' ? '1' : '');
      const access = accessOf('n1', { readonly: true, mayReplay: true });
      const reach = await exported.publish(volume, access);
      assert.equal(reach.mayReplay, true);
      await exported.restore(recorded([{ volume, access, reach }]));
      assert.equal(isProtected(), name === 'iscsi' ? '0' : '');
    });

    test('the volume is the same from every node, and nothing else is', async () => {
      const { exported } = open();
      const fields = ['subsystem', 'target', 'hostNqn', 'hostId', 'secrets'] as const;
      const [one, two] = await Promise.all(
        ['n1', 'n2'].map(
          async node => exported.publish(volume, accessOf(node)) as Promise<Record<string, unknown>>,
        ),
      );
      assert.equal(one?.['wwid'], two?.['wwid']);
      for (const field of fields)
        if (one?.[field] !== undefined) assert.notDeepEqual(one[field], two?.[field], field);
      const further = (await exported.publish(other, accessOf('n1'))) as Record<string, unknown>;
      assert.notEqual(further['wwid'], one?.['wwid']);
    });

    test('withdraw removes exactly that node of that cluster, that volume, of that record, in that pool', async () => {
      const { kernel, exported } = open();
      const { exported: neighbour } = open({ kernel, poolKey: 'two' });
      const attached = [
        { volume, access: accessOf('n2') },
        { volume, access: accessOf('n1', { cluster: 'b' }) },
        { volume: other, access: accessOf('n1') },
        { volume: { ...volume, nonce: 'second' }, access: accessOf('n1') },
      ];
      for (const one of attached) await exported.publish(one.volume, one.access);
      await neighbour.publish(volume, accessOf('n1'));
      const before = kernel.made();
      await exported.publish(volume, accessOf('n1'));
      await exported.withdraw(volume, 'n1', 'a');
      assert.deepEqual(kernel.made(), before);
    });

    test('only the newest attachment of a node and a volume exists', async () => {
      const { kernel, exported } = open();
      await exported.publish(volume, accessOf('n1'));
      await exported.publish(volume, accessOf('n1'));
      assert.equal((await exported.users(volume)).length, 1);
      await exported.withdraw(volume, 'n1', 'a');
      assert.deepEqual(kernel.made(), []);
    });

    test("a start publishes recorded attachments and removes others, except other pools' attachments", async () => {
      const { kernel, exported } = open();
      const { exported: neighbour } = open({ kernel, poolKey: 'two' });
      const access = accessOf('n1');
      await exported.publish(volume, access);
      const wanted = kernel.made();
      await neighbour.publish(volume, access);
      await exported.publish(other, accessOf('n1'));
      await exported.restore(recorded([{ volume, access }]));
      assert.equal((await neighbour.users(volume)).length, 1);
      await neighbour.withdraw(volume, 'n1', 'a');
      assert.deepEqual(kernel.made(), wanted);
      // After a reboot the tree is empty.
      const rebooted = createConfigTree({ hasKeys });
      await open({ kernel: rebooted }).exported.restore(recorded([{ volume, access }]));
      assert.deepEqual(rebooted.made(), wanted);
    });

    test('a gateway that ends at any step of publish and withdraw leaves nothing that the next one does not find', async () => {
      const access = accessOf('n1');
      let steps = 0;
      for (let last = 1; ; last++) {
        const countdown = createCountdown(last);
        const kernel = createConfigTree({ hasKeys, step: countdown.step });
        const reopen = () => open({ kernel }).exported;
        const isDone = await playEnding({ countdown, open: reopen, volume, access, choice: last });
        assert.deepEqual(kernel.made(), [], `after ${last} steps`);
        steps = last;
        if (isDone) break;
      }
      assert.ok(steps > 15, `${steps} steps`);
    });

    test('an expanded volume is shown with its size to all its nodes', async () => {
      const { exported, kernel } = open();
      for (const node of ['n1', 'n2']) await exported.publish(volume, accessOf(node));
      await exported.resize({ ...other, sizeBytes: 2 ** 22 });
      const sizes = (): readonly string[] =>
        kernel
          .open()
          .split('\n')
          .filter(value => value === shown || value === 'fd_dev_size=2097152');
      const shown = 'a new size';
      assert.deepEqual(sizes(), []);
      await exported.resize({ ...volume, sizeBytes: 2 ** 21 });
      assert.equal(sizes().length, 2);
    });

    test('each attachment has its own credentials, the same after a restart, and only root can read them', async () => {
      const access = accessOf('n1');
      const { exported, kernel } = open();
      const { secrets, ...reach } = await exported.publish(volume, access);
      assert.deepEqual((await open().exported.publish(volume, access)).secrets, secrets);
      const others = await open({ poolKey: 'two' }).exported.publish(volume, access);
      if (secrets) assert.notDeepEqual(others.secrets, secrets);
      const hidden = Object.values(secrets ?? {}).filter(value => value.length > 10);
      assert.equal(hidden.length, name === 'nvme-tcp' ? 0 : 2);
      for (const value of hidden) {
        assert.ok(kernel.secrets().includes(value));
        assert.doesNotMatch(kernel.open(), new RegExp(RegExp.escape(value)));
      }
      const common = { attachmentId: access.attachmentId, sizeBytes: 1, readonly: false, mayFormat: true };
      assert.ok(Object.keys(toPublishContext({ ...reach, ...common })).length > 5);
    });

    test('a target that the kernel is still removing is UNAVAILABLE, and not examined, which could hang', async () => {
      const kernel = createConfigTree({ hasKeys });
      const access = accessOf('n1');
      await open({ kernel }).exported.publish(volume, access);
      const looked: string[] = [];
      const tree: ConfigTree = {
        ...kernel.tree,
        read: path => (looked.push(path), kernel.tree.read(path)),
        write: path => void looked.push(path),
        create: path => void looked.push(path),
        requireFree(path) {
          if (kernel.made().some(made => path.endsWith(made))) throw unavailableProblem(path);
        },
      };
      const { exported } = open({ kernel, tree });
      const unavailable = { code: 'UNAVAILABLE' };
      looked.length = 0;
      await assert.rejects(exported.withdraw(volume, 'n1', 'a'), unavailable);
      await assert.rejects(exported.resize(volume), unavailable);
      await assert.rejects(exported.publish(volume, access), unavailable);
      assert.deepEqual(
        looked.filter(path => !path.endsWith('.probe')),
        [],
      );
    });

    test('a volume that cannot be found for a moment at the start keeps its target, and is exported later', async () => {
      const { kernel, exported, lines } = open();
      const access = accessOf('n1');
      await exported.publish(volume, access);
      const before = kernel.made();
      let failures = 2;
      const find = async () => {
        if (failures-- > 0) throw new Error('udev has made no link yet');
        return other;
      };
      const late = { volume: other, access, find };
      async function* attached() {
        yield { volume, access, find: async () => assert.fail('the volume is missing') };
        yield late;
      }
      await exported.restore(attached());
      assert.deepEqual(kernel.made(), before);
      assert.equal(lines.filter(line => line.includes('cannot export an attached volume')).length, 2);
      await exported.close();
      // A volume that is detached meanwhile is not exported later.
      await exported.withdraw(volume, 'n1', 'a');
      assert.equal((await exported.users(volume)).length, 0);
      failures = 1;
      const { exported: next } = open({ kernel });
      await next.restore(
        (async function* () {
          yield late;
        })(),
      );
      const made = await poll(async () => (await next.users(other)).length || undefined, {
        everyMs: 5,
        timeoutMs: 5_000,
      });
      assert.equal(made, 1);
      await next.close();
    });

    test('a volume that cannot be published at the start does not block others', async () => {
      const kernel = createConfigTree({ hasKeys });
      const tree: ConfigTree = {
        ...kernel.tree,
        write(path, value) {
          if (value.includes(volume.path)) throw new Error('no such file');
          kernel.tree.write(path, value);
        },
      };
      const { exported, lines } = open({ kernel, tree });
      const attached = [volume, other].map(one => ({ volume: one, access: accessOf('n1') }));
      await exported.restore(recorded(attached));
      assert.ok(
        lines.some(line => line.includes('cannot export an attached volume') && line.includes('a.one')),
      );
      assert.equal((await exported.users(other)).length, 1);
    });
  });

test('an nvme-tcp pool reports at its start that nodes cannot authenticate, unless its settings ask for that', async () => {
  const { exported, lines } = kinds[0]?.open() ?? assert.fail();
  await exported.restore(recorded([]));
  assert.ok(lines.some(line => line.includes('CONFIG_NVME_TARGET_AUTH')));
  const names = createNames(Buffer.from('one'));
  const strict = (authentication: 'dhchap' | 'none', hasKeys: boolean) => {
    const { log, lines: said } = createMemoryLog();
    const { tree } = createConfigTree({ hasKeys });
    const parts = { tree, names, log, load: async () => {} };
    return { said, opened: exportNvme({ ...settings, authentication }, parts) };
  };
  await assert.rejects(async () => strict('dhchap', false).opened.restore?.(recorded([])), {
    message: /does not support authentication of nodes/,
  });
  const { said, opened } = strict('none', true);
  assert.equal((await opened.publish(volume, accessOf('n1'))).secrets, undefined);
  assert.deepEqual(said, []);
});

test('after the kernel learnt to demand keys a node continues unchanged, and new attachments have keys', async () => {
  const nvme = kinds[0] ?? assert.fail();
  const access = accessOf('n1');
  const reach = await nvme.open().exported.publish(volume, access);
  assert.equal(reach.secrets, undefined);
  const kernel = createConfigTree({ hasKeys: true });
  const { exported } = nvme.open({ kernel });
  await exported.restore(recorded([{ volume, access, reach }]));
  assert.deepEqual(kernel.secrets(), []);
  assert.equal((await exported.users(volume)).length, 1);
  // As after the correction of a late change.
  await exported.publish(volume, access);
  assert.deepEqual(kernel.secrets(), []);
  const { secrets: keys, ...told } = await exported.publish(other, access);
  assert.deepEqual(kernel.secrets(), Object.values(keys ?? {}));
  const rebooted = createConfigTree({ hasKeys: true });
  const attached = [{ volume: other, access, reach: { ...told, sealed: 'the keys' } }];
  await nvme.open({ kernel: rebooted }).exported.restore(recorded(attached));
  assert.deepEqual(rebooted.secrets(), Object.values(keys ?? {}));
});

test('a process that outlives the gateway makes an iscsi portal that no target has', async () => {
  const kernel = createConfigTree();
  const apart: string[] = [];
  const tree: ConfigTree = {
    ...kernel.tree,
    async createApart(path) {
      apart.push(path.replace(/^.*\/np\//, ''));
      kernel.tree.create(path);
    },
  };
  const { exported } = kinds.find(({ name }) => name === 'iscsi')?.open({ kernel, tree }) ?? assert.fail();
  for (const node of ['n1', 'n2']) await exported.publish(volume, accessOf(node));
  assert.deepEqual(apart, settings.addresses);
  for (const node of ['n1', 'n2']) await exported.withdraw(volume, node, 'a');
  await exported.publish(volume, accessOf('n1'));
  assert.deepEqual(apart, [...settings.addresses, ...settings.addresses]);
});

test('an address of a target has one spelling, and may be given only once', () => {
  const spelled = portals.addresses.parse(['[FD00:0:0::1]:3260', '[::ffff:192.0.2.1]:3260']);
  assert.deepEqual(spelled, ['[fd00::1]:3260', '192.0.2.1:3260']);
  assert.throws(() => portals.addresses.parse(['[fd00::1]:3260', '[fd00:0::1]:3260']), /different addresses/);
});
