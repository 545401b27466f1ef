import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { createClient, type StorageClient } from '../../src/api/client.ts';
import type { Call } from '../../src/api/http.ts';
import { createTokenSource } from '../../src/api/http/tokens.ts';
import { devCluster, enroll } from '../../src/dev/dev.ts';
import { freePort } from '../harness/machine.ts';
import { cli, startProgram, type ProgramProcess } from '../harness/program.ts';
import { stackOf, temporaryDirectory, type CleanupScope } from '../harness/temporary.ts';

/** A gateway with the console, a pool of image files, and a cluster that calls it. */
export type Site = {
  readonly url: string;
  /** The client of the cluster. */
  readonly client: StorageClient;
  readonly call: () => Call;
  /** Prints the link of `fairlead console`. */
  link(): Promise<string>;
  /** Signs a token of the operator. */
  token(): Promise<string>;
  /** Starts the gateway again at the same address. */
  start(): Promise<ProgramProcess>;
};

/** Prepares a gateway with the console; everything ends with the test. `oidc` is the provider of its operators. */
export async function openSite(t: CleanupScope, oidc?: (url: string) => Promise<object>): Promise<Site> {
  const dir = temporaryDirectory(t);
  const images = join(dir, 'images');
  mkdirSync(images);
  const pools = { images: { backend: 'image', dir: images, capacity: '1Gi' } };
  const { configFile: config, keyFile, operatorKeyFile } = await enroll(dir, pools);
  const listen = `127.0.0.1:${await freePort()}`;
  const url = `http://${listen}`;
  if (oidc) {
    const settings = parse(readFileSync(config, 'utf8')) as { readonly operators: object };
    const operators = { ...settings.operators, oidc: await oidc(url) };
    writeFileSync(config, stringify({ ...settings, operators }));
  }
  const flags = { config, store: join(dir, 'store.sqlite'), listen, console: 'true', 'log-level': 'warn' };
  const start = async (): Promise<ProgramProcess> => {
    const gateway = startProgram('gateway', flags);
    stackOf(t).defer(() => gateway.end());
    await gateway.ready;
    return gateway;
  };
  const client = createClient({
    url,
    token: createTokenSource({ keyFile, issuer: devCluster, audience: 'fairlead', lifetimeMs: 60_000 }),
  });
  stackOf(t).defer(() => client.close());
  const sign = createTokenSource({
    keyFile: operatorKeyFile,
    issuer: 'operators',
    audience: 'fairlead',
    lifetimeMs: 600_000,
  });
  return {
    url,
    client,
    call: () => ({ deadlineMs: Date.now() + 60_000 }),
    async link() {
      const args = [cli, 'console', '--gateway', url, '--key-file', operatorKeyFile];
      const { stdout } = await promisify(execFile)(process.execPath, args);
      return stdout.trim();
    },
    token: async () => sign(true),
    start,
  };
}
