import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import type { Attachment, AttachmentOf, Protocol } from '../../src/api/attachment.ts';
import type { DeviceConnector, Secrets } from '../../node-agent/connector.ts';
import type { Host } from '../../node-agent/host.ts';
import type { SysfsHost } from '../fakes/sysfs.ts';

/** A connector on one machine, and functions that make volumes for it. */
type ConnectorBench<P extends Protocol> = {
  readonly host: Host;
  /** Makes a volume of this name and returns its attachment. */
  readonly attach: (name: string, sizeBytes: number) => AttachmentOf<P> & Attachment;
  /** Changes the volume's size, as its backend does. */
  readonly resize: (attachment: AttachmentOf<P>, sizeBytes: number) => void;
  /** Keeps the device in use until the returned function is called, so that it cannot be disconnected. */
  readonly use: (devicePath: string) => Promise<() => Promise<void>>;
};

/** The connector, and a function that opens a machine; `skip` is the reason to skip. */
type ConnectorSuite<P extends Protocol> = {
  readonly name: string;
  readonly skip?: string | undefined;
  readonly connector: DeviceConnector<P>;
  readonly open: (t: TestContext) => ConnectorBench<P>;
};

const sizeBytes = 16 * 1024 * 1024;
const inUse = { code: 'UNAVAILABLE' };
const tooSmall = { code: 'FAILED_PRECONDITION' };

/** Tests the contract of connectors for block devices, on the real machine and on the fake one. */
export function testConnector<P extends Protocol>({ name, skip, connector, open }: ConnectorSuite<P>): void {
  const check = (title: string, work: (bench: ConnectorBench<P>) => Promise<void>, whyNot = skip): void => {
    test(`${name}: ${title}`, whyNot === undefined ? {} : { skip: whyNot }, async t => work(open(t)));
  };
  const { rescan } = connector;

  check('connect gives the same device of the volume until disconnect, which may run again', async bench => {
    const { host, attach } = bench;
    const attachment = attach('vol1', sizeBytes);
    await connector.disconnect(attachment, host);
    const device = await connector.connect(attachment, host);
    assert.deepEqual([device.sizeBytes, device.readonly], [sizeBytes, false]);
    assert.equal((await host.readText(`/sys/dev/block/${device.number}/dev`))?.trim(), device.number);
    assert.deepEqual(await connector.connect(attachment, host), device);
    for (let i = 0; i < 2; i++) await connector.disconnect(attachment, host);
    assert.equal(await connector.owns(attachment, device.number, host), false);
  });

  check('disconnect succeeds on a machine without the tools to connect', async ({ host, attach }) => {
    const attachment = attach('vol1', sizeBytes);
    const missing = { status: undefined, stdout: '', stderr: '', timedOut: false, fault: 'ENOENT' };
    const bare: Host = { ...host, run: async () => missing };
    await connector.disconnect(attachment, bare);
    await connector.connect(attachment, bare).catch(() => {});
    await connector.disconnect(attachment, bare);
  });

  check('disconnect of a device in use is an error', async ({ host, attach, use }) => {
    const attachment = attach('vol1', sizeBytes);
    const { path } = await connector.connect(attachment, host);
    const release = await use(path);
    await assert.rejects(connector.disconnect(attachment, host), inUse);
    await release();
    await connector.disconnect(attachment, host);
  });

  check('cutOff takes a device from its users, and the volume can be connected anew', async bench => {
    const { host, attach, use } = bench;
    const attachment = attach('vol1', sizeBytes);
    await connector.cutOff(attachment, host);
    const { number, path } = await connector.connect(attachment, host);
    const release = await use(path);
    for (let i = 0; i < 2; i++) await connector.cutOff(attachment, host);
    await release();
    await connector.disconnect(attachment, host);
    assert.equal(await connector.owns(attachment, number, host), false);
    assert.equal((await connector.connect(attachment, host)).sizeBytes, sizeBytes);
    await connector.disconnect(attachment, host);
  });

  check('a device belongs to its own volume and to none of a like name', async ({ host, attach }) => {
    const [one, ten] = [attach('vol1', sizeBytes), attach('vol10', sizeBytes)];
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

  check('a device of a read-only attachment cannot be written', async ({ host, attach }) => {
    const attachment = { ...attach('vol1', sizeBytes), readonly: true };
    assert.equal((await connector.connect(attachment, host)).readonly, true);
    await assert.rejects(connector.connect({ ...attachment, readonly: false }, host));
    await connector.disconnect(attachment, host);
  });

  check(
    'rescan shows a new size, and does so again',
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
    rescan === undefined ? 'it has no rescan' : skip,
  );

  check('connect shows the size of a volume that grew, and refuses a smaller device', async bench => {
    const { host, attach, resize } = bench;
    const attachment = attach('vol1', sizeBytes);
    await connector.connect(attachment, host);
    resize(attachment, 2 * sizeBytes);
    const grown = { ...attachment, sizeBytes: 2 * sizeBytes };
    assert.equal((await connector.connect(grown, host)).sizeBytes, 2 * sizeBytes);
    const larger = { ...attachment, sizeBytes: 2 * sizeBytes + 512 };
    await assert.rejects(connector.connect(larger, host), tooSmall);
    await connector.disconnect(attachment, host);
  });
}

/**
 * A connector on a fake machine, and a function that lists the resources of connected volumes: none once they are
 * disconnected.
 */
export type FaultBench<P extends Protocol> = Pick<ConnectorBench<P>, 'attach'> & {
  readonly host: SysfsHost;
  readonly left: () => readonly string[];
};

/** The connector, and a function that opens a new machine. */
type FaultSuite<P extends Protocol> = {
  readonly name: string;
  readonly connector: DeviceConnector<P>;
  readonly open: () => FaultBench<P>;
  readonly secrets?: Secrets;
  /** A pattern that matches in every secret and must match nowhere else. */
  readonly canary?: RegExp;
};

/**
 * Tests that a connect or disconnect reaches the same end when it is repeated after a failure or after the end of the
 * agent, at any step, with no secret in an error or an argument.
 */
export function testConnectorFaults<P extends Protocol>(suite: FaultSuite<P>): void {
  const { name, connector, secrets, canary = /(?!)/ } = suite;
  const open = () => {
    const bench = suite.open();
    return { ...bench, attachment: bench.attach('vol1', sizeBytes) };
  };
  type AttachmentBench = ReturnType<typeof open>;
  const connect = ({ attachment, host }: AttachmentBench) => connector.connect(attachment, host, secrets);
  const disconnect = ({ attachment, host }: AttachmentBench) => connector.disconnect(attachment, host);

  test(`${name}: a refused connect leaves nothing behind`, async () => {
    const { host, attachment, left } = open();
    const larger = { ...attachment, sizeBytes: 2 * attachment.sizeBytes };
    await assert.rejects(connector.connect(larger, host, secrets), tooSmall);
    assert.deepEqual(left(), []);
  });

  for (const how of ['error', 'crash'] as const)
    for (const when of ['before', 'after'] as const) {
      /** Repeats the work on new machines, with a fault at each step in turn, until it has no further step. */
      const failAtEach = async (
        before: (bench: AttachmentBench) => Promise<unknown>,
        work: (bench: AttachmentBench) => Promise<unknown>,
        after: (bench: AttachmentBench) => Promise<unknown>,
      ): Promise<void> => {
        for (let step = 1; ; step++) {
          const bench = open();
          await before(bench);
          bench.host.failAt({ how, when, step });
          const error = await work(bench).catch((fault: unknown) => fault);
          const isPast = bench.host.steps < step;
          bench.host.failAt(undefined);
          assert.doesNotMatch(`${inspect(error, { depth: 9 })}\n${bench.host.lines.join('\n')}`, canary);
          await after(bench);
          assert.deepEqual(bench.left(), []);
          if (isPast) return;
        }
      };

      test(`${name}: ${how} ${when} any step of connect is made good by the next, and by a disconnect`, () =>
        failAtEach(
          async () => {},
          connect,
          async bench => {
            assert.deepEqual(await connect(bench), await connect(bench));
            await disconnect(bench);
          },
        ));

      test(`${name}: ${how} ${when} any step of disconnect is made good by the next`, () =>
        failAtEach(connect, disconnect, disconnect));
    }
}
