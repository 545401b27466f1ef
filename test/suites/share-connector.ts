import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { AttachmentOf, Protocol } from '../../src/api/attachment.ts';
import type { Share, ShareConnector } from '../../node-agent/connector.ts';
import type { Host } from '../../node-agent/host.ts';
import { mountsBelow, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';

/** A connector of shares on one machine, and the means to put volumes before it. */
export type ShareBench<P extends Protocol> = {
  readonly host: Host;
  /** Has a directory `stage`. */
  readonly directory: string;
  /** Makes a volume of this name and says how to reach it. */
  readonly attach: (name: string) => AttachmentOf<P>;
};

/** How the suite gets a machine; `skip` says why it cannot. */
export type ShareSuite<P extends Protocol> = {
  readonly name: string;
  readonly skip?: string | undefined;
  readonly connector: ShareConnector<P>;
  readonly open: (t: TestContext) => ShareBench<P>;
};

/** What every connector that brings a share must do, on the real machine and on the fake one. */
export function testShareConnector<P extends Protocol>(suite: ShareSuite<P>): void {
  const { name, skip, connector, open } = suite;
  const check = (title: string, work: (bench: ShareBench<P>) => Promise<void>): void => {
    test(`${name}: ${title}`, skip === undefined ? {} : { skip }, async t => work(open(t)));
  };

  check('connect says the same however often it is asked, and mounts nothing', async bench => {
    const { host, directory, attach } = bench;
    const share = await connector.connect(attach('vol1'), host);
    assert.deepEqual(await connector.connect(attach('vol1'), host), share);
    // What is mounted elsewhere is another's, such as a test run's beside this one.
    assert.deepEqual(mountsBelow(await host.mounts(), directory), []);
  });

  check('what is mounted, or bound of that, is its own volume and none of a like name', async bench => {
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
  });

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
  await host.makeDirectory(path);
  const how = type === undefined ? [] : ['-t', type];
  await host.run('mount', [...how, '-o', options.join(','), '--', source, path]);
  const mount = topMount(await host.mounts(), path);
  assert.ok(mount, `nothing is mounted at "${path}"`);
  return mount;
}
