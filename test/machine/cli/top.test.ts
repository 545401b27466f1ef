import assert from 'node:assert/strict';
import { createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { changesPath } from '../../../src/api/admin/changes.ts';
import { operatorCli } from '../../harness/cli/run-cli.ts';
import { runGateway, type RunningGateway } from '../../harness/gateway/program.ts';
import { freePort } from '../../harness/machine.ts';

/** The treatment of the stream of changes: `hold` passes nothing on, as a proxy that waits for the whole answer. */
type Treatment = 'pass' | 'hold' | 'refuse';

/** Starts a proxy in front of a gateway. `cut` ends all streams of changes without their end. */
async function startProxy(t: TestContext, target: string, treatment: Treatment) {
  const streams = new Set<ServerResponse>();
  let opened = 0;
  const server = createServer((incoming, outgoing) => {
    const isStream = incoming.url === changesPath;
    if (isStream) {
      opened++;
      streams.add(outgoing);
      if (treatment === 'hold') return;
      if (treatment === 'refuse') return void outgoing.writeHead(404).end('<html>');
    }
    const { method, headers } = incoming;
    const passed = request(target + incoming.url, { method, headers }, reply => {
      outgoing.writeHead(reply.statusCode ?? 0, reply.headers);
      reply.on('error', () => outgoing.destroy()).pipe(outgoing);
    });
    incoming.pipe(passed.on('error', () => outgoing.destroy()));
  });
  t.after(() => server.close().closeAllConnections());
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const cut = (): void => streams.forEach(stream => stream.destroy());
  return { url: `http://127.0.0.1:${port}`, cut, opened: () => opened };
}

const shows =
  (volumes: number) =>
  (screen: string): boolean =>
    new RegExp(`images .* ${volumes}\\n`).test(screen);

/** Returns the last screen. */
function lastOf(stdout: string): string {
  return stdout.split('\u001B[H').at(-1)?.replaceAll('\u001B[K', '') ?? '';
}

/** Runs `top` until all steps are done: each begins once a new screen meets its condition. */
async function watchSteps(
  gateway: RunningGateway,
  line: string,
  steps: readonly (readonly [condition: (screen: string) => boolean, act: () => unknown])[],
): Promise<void> {
  const left = [...steps];
  const { status } = await operatorCli(gateway)(line, {
    isTerminal: true,
    until(shown) {
      if (left[0]?.[0](lastOf(shown))) void left.shift()?.[1]();
      return left.length === 0;
    },
  });
  assert.equal(status, 0);
}

test(
  'top shows changes in a terminal without asking, also after a cut of the stream and a restart of the gateway',
  { timeout: 120_000 },
  async t => {
    const listen = `127.0.0.1:${await freePort()}`;
    const gateway = await runGateway(t, { pools: 'images', flags: { listen } });
    const proxy = await startProxy(t, gateway.url, 'pass');
    const restart = async (): Promise<void> => {
      await gateway.end();
      const { create } = await runGateway(t, { directory: gateway.directory, flags: { listen } });
      await create('a.three');
    };
    await watchSteps({ ...gateway, url: proxy.url }, 'top --every 1h', [
      [shows(0), () => gateway.create('a.one')],
      [shows(1), () => proxy.cut()],
      [() => proxy.opened() === 2, () => gateway.create('a.two')],
      [shows(2), restart],
      // A read that waited for the gateway may show the volume before the stream is open again.
      [screen => proxy.opened() >= 3 && shows(3)(screen), () => undefined],
    ]);
  },
);

for (const treatment of ['hold', 'refuse'] as const)
  test(
    `top asks at each interval behind a proxy that ${treatment}s the stream`,
    { timeout: 120_000 },
    async t => {
      const gateway = await runGateway(t, { pools: 'images' });
      const proxy = await startProxy(t, gateway.url, treatment);
      await watchSteps({ ...gateway, url: proxy.url }, 'top --every 10ms', [
        [shows(0), () => gateway.create('a.one')],
        [shows(1), () => undefined],
      ]);
      assert.equal(proxy.opened(), 1);
    },
  );

test('top prints its screens at equal intervals into a file, and listens to nothing', async t => {
  const gateway = await runGateway(t, { pools: 'images' });
  const proxy = await startProxy(t, gateway.url, 'pass');
  const { status, stdout } = await operatorCli({ ...gateway, url: proxy.url })('top --every 1ms --times 2');
  assert.equal(status, 0);
  assert.equal(stdout.match(/^operations \(0\)$/gm)?.length, 2);
  assert.equal(stdout.includes('\u001B'), false);
  assert.equal(proxy.opened(), 0);
});
