import { readFileSync, writeFileSync } from 'node:fs';
import { requirePrivate } from '../lib/parsers.ts';
import { readCertificate, requirePrivateKey } from '../api/http/pem.ts';
import type { SettingsOf } from '../lib/settings.ts';
import { type Notices, withNotice } from '../lib/words/notice.ts';
import { existingBy } from './existing.ts';
import { keyCredentials, oauthCredentials, tokenCredentials, type Credentials } from './http/credentials.ts';
import type { KitOptions } from './http/calls.ts';
import type { Target } from './http/exchange.ts';
import { countOutcomes, type Report } from './report.ts';
import { toHtml } from './reports/html.ts';
import { toJunit } from './reports/junit.ts';
import { toLines, toSummary } from './reports/lines.ts';
import { requireSelectors, verify } from './run.ts';
import { newSeed, verifySettings } from './settings.ts';
import { restartBy, startVendor, type VendorProcess } from './vendor-process.ts';
import { stdout } from '../cli/output/terminal.ts';

type Settings = SettingsOf<typeof verifySettings>;

/**
 * The command that checks a vendor's server. Its status is 1 when a MUST does not hold, when resources could not be removed,
 * or when the run was interrupted.
 */
export const verifyCommand = {
  settings: verifySettings,
  operands: ['url'],
  async run(settings: Settings, { notices }: { readonly notices?: Notices } = {}): Promise<number> {
    requireSelectors(settings.only);
    const { start } = settings;
    const starting = start === undefined ? undefined : startVendor(start);
    const started =
      starting && (await withNotice(starting, { what: 'the server of --start to listen' }, notices));
    try {
      return await runOn(settings, { started, notices });
    } finally {
      await started?.close();
    }
  },
};

type RunContext = { readonly started: VendorProcess | undefined; readonly notices: Notices | undefined };

async function runOn(settings: Settings, { started, notices }: RunContext): Promise<number> {
  const url = started?.url ?? (settings.url === undefined ? undefined : new URL(settings.url));
  if (!url) throw new Error("there is no server to check: give the server's address, or --start");
  if (!settings['allow-http'])
    for (const address of [url.href, settings['oauth-url'] ?? url.href]) requirePrivate(address);
  const { seed = newSeed(), start } = settings;
  // The command of --start may contain secrets, and many people can read the logs of a build.
  const command = `fairlead verify ${start === undefined ? url.href : "--start '…'"}`;
  print(`${command} --seed ${seed}`);
  const ends = listenForSignals();
  const report = await verify({
    target: targetOf(url, settings),
    credentials: await credentialsOf(url, settings),
    prefix: `${settings.prefix}verify-`,
    timeoutMs: settings.timeout,
    isThorough: settings.thorough,
    hasData: settings.data,
    ...driversOf(settings),
    allowForeign: settings['allow-foreign'],
    parameters: Object.fromEntries(settings.parameters),
    mutable: Object.fromEntries(
      [...Map.groupBy(settings.mutable, ([key]) => key)].map(([key, all]) => [
        key,
        all.map(([, value]) => value),
      ]),
    ),
    ...commandsOf(settings, started),
    seed,
    only: settings.only,
    isFailFast: settings['fail-fast'],
    ...ends,
    announce: (work, progress) => withNotice(work, progress, notices),
    show: result => print(toLines(result, command)),
  });
  print(`\n${toSummary(report)}`);
  writeReports(report, settings);
  const isRight = countOutcomes(report.results).FAIL === 0 && report.left.length === 0;
  return isRight && !report.isInterrupted ? 0 : 1;
}

function driversOf({ 'csi-drivers': drivers }: Settings): Pick<KitOptions, 'csiDrivers'> {
  return drivers ? { csiDrivers: Object.fromEntries(drivers.map(one => [one.name, one.socketPath])) } : {};
}

function commandsOf({ restart, 'create-existing': create }: Settings, started: VendorProcess | undefined) {
  return {
    restart: started ? () => started.restart() : restart === undefined ? undefined : restartBy(restart),
    createExisting: create === undefined ? undefined : existingBy(create),
  };
}

/** Makes the first signal end the run, after a clean-up, and the second one end the clean-up. */
function listenForSignals() {
  const [run, removal] = [new AbortController(), new AbortController()];
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => {
      if (run.signal.aborted) removal.abort();
      else
        print('interrupted: removing all test volumes and snapshots; interrupt again to leave them behind');
      run.abort();
    });
  return { signal: run.signal, abandoned: removal.signal };
}

function targetOf(url: URL, settings: Settings): Target {
  const paths = {
    ca: settings['ca-file'],
    cert: settings['tls-cert-file'],
    key: settings['tls-key-file'],
  };
  const files = (['ca', 'cert', 'key'] as const).flatMap(name => {
    const path = paths[name];
    return path === undefined ? [] : [[name, readFileSync(path, 'utf8')] as const];
  });
  for (const [name, text] of files) {
    const file = { path: paths[name] ?? '', text };
    if (name === 'key') requirePrivateKey(file);
    else readCertificate(file);
  }
  return files.length === 0 ? { url } : { url, tls: Object.fromEntries(files) };
}

async function credentialsOf(url: URL, settings: Settings): Promise<Credentials> {
  const { token, issuer, audience = url.href.replace(/\/+$/, '') } = settings;
  const { 'key-file': keyFile, 'oauth-url': oauthUrl, 'oauth-client': client } = settings;
  const { 'oauth-secret': secret, 'oauth-scope': scope } = settings;
  if ([token, keyFile, oauthUrl].filter(one => one !== undefined).length > 1)
    throw new Error('only one of --token, --key-file and --oauth-url may be given');
  if (token !== undefined) return tokenCredentials(token);
  if (keyFile !== undefined) return keyCredentials({ keyFile, issuer, audience });
  if (oauthUrl === undefined) return { header: () => undefined };
  if (client === undefined || secret === undefined)
    throw new Error('--oauth-url requires --oauth-client and --oauth-secret');
  return oauthCredentials({ url: oauthUrl, client, secret, scope });
}

function writeReports(report: Report, { json, junit, html }: Settings): void {
  if (json !== undefined) writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  if (junit !== undefined) writeFileSync(junit, toJunit(report));
  if (html !== undefined) writeFileSync(html, toHtml(report));
}

function print(text: string): void {
  stdout.write(`${text}\n`);
}
