import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { gatewaySettings } from '../../../gateway/config.ts';
import { startGateway } from '../../../gateway/main.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { createSigner, temporaryDirectory, type Signer } from './gateway.ts';

/** A gateway on a port, with a pool in memory, the clusters a and b, and operators. */
export type ServedGateway = {
  readonly url: URL;
  readonly directory: string;
  readonly store: string;
  readonly signers: Readonly<Record<'a' | 'b' | 'operators', Signer>>;
};

/** Starts a gateway that ends with the test. `entry` is added to cluster a's entry in the configuration. */
export async function serveGateway(t: TestContext, entry: object = {}): Promise<ServedGateway> {
  const directory = temporaryDirectory(t);
  const at = (name: string): string => join(directory, name);
  const names = ['a', 'b', 'operators'] as const;
  const made = await Promise.all(names.map(async name => [name, await createSigner(name)] as const));
  for (const [name, { publicJwk }] of made) writeFileSync(at(name), JSON.stringify({ keys: [publicJwk] }));
  const clusters = { a: { keys: 'a', ...entry }, b: { keys: 'b' } };
  const file = { pools: { one: { backend: 'memory' } }, clusters, operators: { keys: 'operators' } };
  writeFileSync(at('gateway.yaml'), JSON.stringify(file));
  const store = at('store.sqlite');
  const flags = ['--config', at('gateway.yaml'), '--store', store, '--listen', '127.0.0.1:0'];
  const { values } = readSettings(gatewaySettings, { argv: [...flags, '--public-docs'], env: {} });
  assert.ok(values);
  const running = await startGateway(values, silentLog);
  t.after(() => running.close());
  const signers = Object.fromEntries(made) as ServedGateway['signers'];
  return { url: new URL(running.ready['gateway'] ?? ''), directory, store, signers };
}
