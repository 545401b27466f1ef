import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { AttachmentOf, Protocol } from '../../src/api/attachment.ts';
import type { Share, ShareConnector } from '../../node-agent/connector.ts';
import type { Host } from '../../node-agent/host.ts';
import { mountsBelow, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';

/** A connector of shares on one machine, and functions that make volumes for it. */
type ShareBench<P extends Protocol> = {
  readonly host: Host;
  /** The directory that has the subdirectory `stage`. */
  readonly directory: string;
  /** Makes a volume of this name and returns its attachment. */
  readonly attach: (name: string) => AttachmentOf<P>;
};

/** The connector, and a function that opens a machine; `skip` is the reason to skip. */
type ShareSuite<P extends Protocol> = {
  readonly name: string;
  readonly skip?: string | undefined;
  readonly connector: ShareConnector<P>;
  readonly open: (t: TestContext) => ShareBench<P>;
};

/** Tests the contract of connectors for shares, on the real machine and on the fake one. */
export function testShareConnector<P extends Protocol>(suite: ShareSuite<P>): void {
  const { name, skip, connector, open } = suite;
  const check = (title: string, work: (bench: ShareBench<P>) => Promise<void>): void => {
    test(`${name}: ${title}`, skip === undefined ? {} : { skip }, async t => work(open(t)));
  };

  check('connect says the same however often it is asked, and mounts nothing', async bench => {
    const { host, directory, attach } = bench;
    const share = await connector.connect(attach('vol1'), host);
    assert.deepEqual(await connector.connect(attach('vol1'), host), share);
    // Mounts elsewhere belong to others, such as a concurrent test run.
    assert.deepEqual(mountsBelow(await host.mounts(), directory), []);
  });

  check(
    'a mount, or a bind of it, belongs to its own volume and to none with a similar name',
    async bench => {
      const { host, attach } = bench;
      const [one, ten] = [attach('vol1'), attach('vol10')];
      const first = await mountAt(bench, 'one', await connector.connect(one, host));
      const second = await mountAt(bench, 'ten', await connector.connect(ten, host));
      const bound = await mountAt(bench, 'two', { source: first.path, options: ['bind'] });
      assert.equal(await connector.judge(one, first, host), 'own');
      assert.equal(await connector.judge(one, bound, host), 'own');
      assert.equal(await connector.judge(ten, second, host), 'own');
      assert.equal(await connector.judge(one, second, host), 'foreign');
      assert.equal(await connector.judge(ten, first, host), 'foreign');
    },
  );

  check("another filesystem's mount is foreign", async ({ host, attach }) => {
    const attachment = attach('vol1');
    for (const mount of await host.mounts())
      assert.equal(await connector.judge(attachment, mount, host), 'foreign');
  });
}

async function mountAt<P extends Protocol>(
  { host, directory }: ShareBench<P>,
  name: string,
  { source, type, options }: Share,
): Promise<Mount> {
  const path = `${directory}/stage/${name}`;
  await host.createDirectory(path);
  const how = type === undefined ? [] : ['-t', type];
  await host.run('mount', [...how, '-o', options.join(','), '--', source, path]);
  const mount = topMount(await host.mounts(), path);
  assert.ok(mount, `nothing is mounted at "${path}"`);
  return mount;
}
