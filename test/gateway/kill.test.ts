import assert from 'node:assert/strict';
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient, type StorageClient } from '../../src/api/client.ts';
import { Problem } from '../../src/api/problem.ts';
import { createSigner, temporaryDirectory, volumeSpec } from './harness.ts';

const signer = await createSigner('a');
const cli = join(import.meta.dirname, '../../src/fairlead.mjs');
/** The claims of a killed gateway hold for 15 seconds. */
const patienceMs = 40_000;

test('a gateway that is killed again and again while volumes are made loses none and doubles none', async t => {
  const directory = prepare(t);
  const names = Array.from({ length: 200 }, (_, index) => `pvc-${String(index).padStart(3, '0')}`);
  for (const lifeMs of [40, 90, 150]) {
    const { child, client } = await startGateway(t, directory);
    const creating = names.map(name => client.createVolume(`a.${name}`, volumeSpec(name), callFor(lifeMs)));
    const settled = Promise.allSettled(creating);
    await sleep(lifeMs);
    child.kill('SIGKILL');
    await settled;
  }
  const { client } = await startGateway(t, directory);
  const made = await Promise.all(names.map(name => createPatiently(client, name)));
  assert.deepEqual(new Set(made.map(({ state }) => state)), new Set(['ready']));
  const { volumes } = await client.listVolumes({}, callFor(patienceMs));
  assert.deepEqual(
    volumes.map(({ name }) => name),
    names,
  );
  assert.deepEqual(
    readdirSync(join(directory, 'images')).sort(),
    names.map(name => `a.${name}.img`),
  );
});

async function createPatiently(
  client: StorageClient,
  name: string,
): ReturnType<StorageClient['createVolume']> {
  const deadlineMs = Date.now() + patienceMs;
  for (;;) {
    try {
      return await client.createVolume(`a.${name}`, volumeSpec(name), { deadlineMs });
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'ABORTED') || Date.now() > deadlineMs) throw error;
      await sleep(500);
    }
  }
}

async function startGateway(
  t: TestContext,
  directory: string,
): Promise<{ child: ChildProcess; client: StorageClient }> {
  const flags = {
    '--listen': '127.0.0.1:0',
    '--backend': 'image',
    '--image-dir': join(directory, 'images'),
    '--image-capacity': '1Ti',
    '--store': join(directory, 'store.sqlite'),
    '--clusters-file': join(directory, 'clusters.json'),
    '--log-level': 'error',
  };
  const child = fork(cli, ['gateway', ...Object.entries(flags).flat()], { silent: true });
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const [message] = (await once(child, 'message')) as [{ ready: { gateway: string } }];
  const client = createClient({ url: message.ready.gateway, token: () => signer.sign() });
  t.after(() => client.close());
  return { child, client };
}

function prepare(t: TestContext): string {
  const directory = temporaryDirectory(t);
  mkdirSync(join(directory, 'images'));
  writeFileSync(join(directory, 'a.jwks.json'), JSON.stringify({ keys: [signer.publicJwk] }));
  const clusters = [{ name: 'a', issuer: 'a', jwksFile: 'a.jwks.json' }];
  writeFileSync(join(directory, 'clusters.json'), JSON.stringify({ clusters }));
  return directory;
}

function callFor(ms: number): { deadlineMs: number } {
  return { deadlineMs: Date.now() + ms };
}
