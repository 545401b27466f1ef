import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttachmentOf, Protocol } from '../../src/api/attachment.ts';
import type { DeviceConnector } from '../../node-agent/connector.ts';
import type { Secrets } from '../../node-agent/connector.ts';
import type { FakeFault, FakeHost } from '../fakes/host.ts';

/** A connector on a fake machine with one volume before it. */
export type FaultBench<P extends Protocol> = {
  readonly host: FakeHost;
  readonly attachment: AttachmentOf<P>;
  /** What it is connected with. */
  readonly secrets?: Secrets;
  /** What a connected volume takes on the machine; empty when it is let go. */
  readonly left: () => readonly string[];
};

/** How the suite gets a new machine. */
export type FaultSuite<P extends Protocol> = {
  readonly name: string;
  readonly connector: DeviceConnector<P>;
  readonly open: () => FaultBench<P>;
};

const faults = (['error', 'crash'] as const).flatMap(how =>
  (['before', 'after'] as const).map(when => ({ how, when })),
);

/** Wherever a step of connecting or disconnecting fails, or the agent ends, doing it again comes to the same end. */
export function testConnectorFaults<P extends Protocol>({ name, connector, open }: FaultSuite<P>): void {
  for (const fault of faults) {
    const title = `${name}: ${fault.how} ${fault.when} any step of`;

    test(`${title} connect is made good by the next connect, and by a disconnect`, async () => {
      for await (const step of stepsOf(fault, open, async ({ host, attachment, secrets }) => {
        await connector.connect(attachment, host, secrets);
      })) {
        const { host, attachment, secrets, left } = step;
        const device = await connector.connect(attachment, host, secrets);
        assert.deepEqual(await connector.connect(attachment, host, secrets), device);
        await connector.disconnect(attachment, host);
        assert.deepEqual(left(), []);
      }
    });

    test(`${title} disconnect is made good by the next disconnect`, async () => {
      const steps = stepsOf(fault, open, ({ host, attachment }) => connector.disconnect(attachment, host), {
        before: async ({ host, attachment, secrets }) =>
          void (await connector.connect(attachment, host, secrets)),
      });
      for await (const { host, attachment, left } of steps) {
        await connector.disconnect(attachment, host);
        assert.deepEqual(left(), []);
      }
    });
  }
}

type Way = Pick<FakeFault, 'how' | 'when'>;
type Before<P extends Protocol> = { readonly before?: (bench: FaultBench<P>) => Promise<void> };

/** A new machine for each step of the work, at which it has failed. */
async function* stepsOf<P extends Protocol>(
  fault: Way,
  open: () => FaultBench<P>,
  ...[work, { before } = {}]: [work: (bench: FaultBench<P>) => Promise<void>, options?: Before<P>]
): AsyncGenerator<FaultBench<P>> {
  for (let step = 1; ; step++) {
    const bench = open();
    await before?.(bench);
    bench.host.failAt({ ...fault, step });
    await work(bench).catch(() => {});
    const isPast = bench.host.steps < step;
    bench.host.failAt(undefined);
    if (isPast) return;
    yield bench;
  }
}
