import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Attachment, AttachmentOf, Protocol } from '../../src/api/attachment.ts';
import type { Problem } from '../../src/api/problem.ts';
import type { DeviceConnector } from '../../node-agent/connector.ts';
import type { Host } from '../../node-agent/host.ts';

/** A connector on one machine, and the means to put volumes before it. */
export type ConnectorBench<P extends Protocol> = {
  readonly host: Host;
  /** Makes a volume of this name and says how to reach it. */
  readonly attach: (name: string, sizeBytes: number) => AttachmentOf<P> & Attachment;
  /** Gives the volume another size, as its backend does. */
  readonly resize: (attachment: AttachmentOf<P>, sizeBytes: number) => void;
  /** Uses the device until the returned function is called, so that it cannot be let go. */
  readonly use: (devicePath: string) => Promise<() => Promise<void>>;
};

/** How the suite gets a machine; `skip` says why it cannot. */
export type ConnectorSuite<P extends Protocol> = {
  readonly name: string;
  readonly skip: string | undefined;
  readonly connector: DeviceConnector<P>;
  readonly open: (t: TestContext) => ConnectorBench<P>;
};

const sizeBytes = 16 * 1024 * 1024;

/** What every connector that brings a device must do, on the real machine and on the fake one. */
export function testConnector<P extends Protocol>({ name, skip, connector, open }: ConnectorSuite<P>): void {
  const check = (title: string, work: (bench: ConnectorBench<P>) => Promise<void>, whyNot = skip): void => {
    test(`${name}: ${title}`, whyNot === undefined ? {} : { skip: whyNot }, async t => work(open(t)));
  };
  const { rescan } = connector;
  const noRescan = rescan === undefined ? `${name}: has no rescan` : skip;

  check('connect gives a device of the size and number that the machine shows', async ({ host, attach }) => {
    const attachment = attach('vol1', sizeBytes);
    const device = await connector.connect(attachment, host);
    assert.equal(device.sizeBytes, sizeBytes);
    assert.equal(device.readonly, false);
    assert.match(device.number, /^\d+:\d+$/);
    assert.equal((await host.readText(`/sys/dev/block/${device.number}/dev`))?.trim(), device.number);
    await connector.disconnect(attachment, host);
  });

  check('connect again gives the same device', async ({ host, attach }) => {
    const attachment = attach('vol1', sizeBytes);
    const first = await connector.connect(attachment, host);
    assert.deepEqual(await connector.connect(attachment, host), first);
    await connector.disconnect(attachment, host);
  });

  check('disconnect leaves no device, and again is fine', async ({ host, attach }) => {
    const attachment = attach('vol1', sizeBytes);
    const { number } = await connector.connect(attachment, host);
    await connector.disconnect(attachment, host);
    assert.equal(await connector.owns(attachment, number, host), false);
    await connector.disconnect(attachment, host);
  });

  check('disconnect of a volume that was never connected is fine', async ({ host, attach }) => {
    await connector.disconnect(attach('vol1', sizeBytes), host);
  });

  check('disconnect is fine on a machine that has none of the tools to connect', async ({ host, attach }) => {
    const attachment = attach('vol1', sizeBytes);
    const missing = { status: undefined, stdout: '', stderr: '', timedOut: false, missing: true };
    const bare: Host = { ...host, run: async () => missing };
    await connector.disconnect(attachment, bare);
    await connector.connect(attachment, bare).catch(() => {});
    await connector.disconnect(attachment, bare);
  });

  check('disconnect of a device in use is an error', async ({ host, attach, use }) => {
    const attachment = attach('vol1', sizeBytes);
    const { path } = await connector.connect(attachment, host);
    const release = await use(path);
    await assert.rejects(connector.disconnect(attachment, host), hasCode('UNAVAILABLE'));
    await release();
    await connector.disconnect(attachment, host);
  });

  check('a device belongs to its own volume and to none of a like name', async ({ host, attach }) => {
    const one = attach('vol1', sizeBytes);
    const ten = attach('vol10', sizeBytes);
    const first = await connector.connect(one, host);
    const second = await connector.connect(ten, host);
    assert.notEqual(first.number, second.number);
    assert.notEqual(first.identity, second.identity);
    assert.equal(await connector.owns(one, first.number, host), true);
    assert.equal(await connector.owns(one, second.number, host), false);
    assert.equal(await connector.owns(ten, first.number, host), false);
    await connector.disconnect(one, host, () => [ten]);
    assert.equal(await connector.owns(ten, second.number, host), true);
    await connector.disconnect(ten, host);
  });

  check(
    'a read-only attachment gives a device that the kernel keeps from writing',
    async ({ host, attach }) => {
      const attachment = { ...attach('vol1', sizeBytes), readonly: true };
      const device = await connector.connect(attachment, host);
      assert.equal(device.readonly, true);
      await assert.rejects(connector.connect({ ...attachment, readonly: false }, host));
      await connector.disconnect(attachment, host);
    },
  );

  check(
    'rescan shows a new size, and again is fine',
    async ({ host, attach, resize }) => {
      const attachment = attach('vol1', sizeBytes);
      const { number } = await connector.connect(attachment, host);
      resize(attachment, 2 * sizeBytes);
      for (let i = 0; i < 2; i++) {
        await rescan?.(attachment, host);
        const sectors = await host.readText(`/sys/dev/block/${number}/size`);
        assert.equal(Number(sectors) * 512, 2 * sizeBytes);
      }
      await connector.disconnect(attachment, host);
    },
    noRescan,
  );

  check('connect of a volume that grew while it was connected gives the new size', async bench => {
    const { host, attach, resize } = bench;
    const attachment = attach('vol1', sizeBytes);
    await connector.connect(attachment, host);
    resize(attachment, 2 * sizeBytes);
    const grown = { ...attachment, sizeBytes: 2 * sizeBytes };
    assert.equal((await connector.connect(grown, host)).sizeBytes, 2 * sizeBytes);
    await connector.disconnect(grown, host);
  });

  check('a device that is smaller than its volume is refused', async ({ host, attach }) => {
    const attachment = { ...attach('vol1', sizeBytes), sizeBytes: sizeBytes + 512 };
    await assert.rejects(connector.connect(attachment, host), hasCode('FAILED_PRECONDITION'));
    await connector.disconnect(attachment, host);
  });
}

function hasCode(code: string): (error: Problem) => boolean {
  return error => error.code === code;
}
