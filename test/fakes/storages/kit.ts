import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { keyCredentials, tokenCredentials } from '../../../src/kit/http/credentials.ts';
import type { Report } from '../../../src/kit/report.ts';
import { verify, type VerifyOptions } from '../../../src/kit/run.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';
import { createSigner } from '../../harness/gateway/signers.ts';
import { createExisting } from './features/imports.ts';
import { startVendor, type VendorOptions } from './reference.ts';

/** The options of a run of the kit on a vendor. */
export type KitRun = {
  readonly command: VendorOptions['command'] & object;
  readonly seed: number;
  /** Requirements, sections or chapters; absent: all. */
  readonly only?: readonly string[];
  /** True to sign tokens with a key, which only the vendor in TypeScript can verify. */
  readonly hasKey?: boolean;
  readonly hasData?: boolean;
  readonly csiDrivers?: VerifyOptions['csiDrivers'];
  readonly timeoutMs?: number;
  /** The parameters of volumes, and a mutable parameter with its values. */
  readonly parameters?: VerifyOptions['parameters'];
  readonly mutable?: VerifyOptions['mutable'];
  /** True to make volumes of the former driver, for the vendor to import. */
  readonly hasImports?: boolean;
  readonly createExisting?: VerifyOptions['createExisting'];
  /** True to return from a restart at once, so that the kit waits until the vendor answers. */
  readonly startsAlone?: boolean;
  /** Environment variables of the vendor. */
  readonly env?: Readonly<Record<string, string>>;
  /** The certificates of calls, which then carry no token. */
  readonly tls?: Readonly<Record<'ca' | 'cert' | 'key', string>>;
};

const audience = 'https://vendor.example';

/** Makes the options of a run of the kit; `more` adds to the vendor, the caller and the requirements. */
export function runOptions(
  more: Pick<VerifyOptions, 'target' | 'credentials' | 'prefix' | 'timeoutMs' | 'only'> &
    Partial<VerifyOptions>,
): VerifyOptions {
  return {
    isThorough: false,
    hasData: false,
    allowForeign: false,
    parameters: {},
    mutable: {},
    restart: undefined,
    createExisting: undefined,
    seed: 1,
    signal: new AbortController().signal,
    ...more,
  };
}

/** Starts the vendor, runs the kit on it with restarts, and ends it. */
export async function runKit(t: TestContext, run: KitRun): Promise<Report> {
  const { command, seed, only = [], hasKey = false, hasData = false, timeoutMs = 30_000, tls } = run;
  const { parameters = {}, mutable = {} } = run;
  const key = hasKey ? await createKey(t) : undefined;
  const vendor = await startVendor(t, { command, env: { ...key?.env, ...run.env } });
  const url = new URL(vendor.url);
  const fixed = tls ? { header: () => undefined } : tokenCredentials(vendor.token);
  const report = await verify(
    runOptions({
      target: tls ? { url, tls } : { url },
      credentials: key?.credentials ?? fixed,
      prefix: 'verify.verify-',
      timeoutMs,
      hasData,
      ...(run.csiDrivers && { csiDrivers: run.csiDrivers }),
      createExisting: run.hasImports ? async () => createExisting(vendor.directory) : run.createExisting,
      parameters,
      mutable,
      async restart() {
        await vendor.kill();
        const started = vendor.start();
        if (run.startsAlone) started.catch(() => {});
        else await started;
      },
      seed,
      only,
    }),
  );
  await vendor.kill();
  return report;
}

async function createKey(t: TestContext) {
  const { publicJwk, privateJwk } = await createSigner('gateway');
  const directory = temporaryDirectory(t);
  const [keyFile, JWKS] = [join(directory, 'key'), join(directory, 'jwks')];
  writeFileSync(keyFile, JSON.stringify(privateJwk), { mode: 0o600 });
  writeFileSync(JWKS, JSON.stringify({ keys: [publicJwk] }));
  const credentials = await keyCredentials({ keyFile, issuer: 'gateway', audience });
  return { credentials, env: { JWKS, AUDIENCE: audience } };
}
