import { randomUUID } from 'node:crypto';
import { createClient, type StorageClient } from '../api/client.ts';
import type { Call, HttpOptions } from '../api/http.ts';
import { readTlsFiles } from '../api/http/tls-files.ts';
import { Problem, problemTable } from '../api/problem.ts';
import { createTokenSource, readTokenFile } from '../api/http/tokens.ts';
import { durationMs, requirePrivate, text } from '../lib/parsers.ts';
import { allowHttpSetting, type SettingsOf, type SettingsTable } from '../lib/settings.ts';
import { listen, type Changes } from './changes.ts';
import { contextFallback, contextSettings } from './commands/contexts.ts';
import type { Io, Runnable } from './run.ts';

/** The settings of the connection to the gateway, which every command of operators has. */
export const connectionSettings = {
  context: { doc: 'the context to use; default: the current one', parse: text, optional: true },
  gateway: {
    doc: 'address of the gateway, such as https://storage.example; required unless the context has it',
    parse: contextSettings.gateway.parse,
  },
  'allow-http': allowHttpSetting,
  'key-file': {
    doc: "file with an operator's private key (a JWK with kid, Ed25519 or P-256)",
    parse: contextSettings['key-file'].parse,
    optional: true,
  },
  'token-file': contextSettings['token-file'],
  'ca-file': contextSettings['ca-file'],
  'tls-cert-file': contextSettings['tls-cert-file'],
  'tls-key-file': contextSettings['tls-key-file'],
  audience: { ...contextSettings.audience, optional: false, default: 'fairlead' },
  timeout: { doc: 'time limit for each call to the gateway', parse: durationMs, default: '30s' as string },
} as const;

type ConnectionSettings = SettingsOf<typeof connectionSettings>;

/** A client of the gateway, and the streams of the command that uses it. */
export type Connection = {
  readonly client: StorageClient;
  /** Makes the deadline and request id of one more call. */
  readonly call: () => Call;
  /** Listens for the changes that the gateway tells. */
  readonly listen: () => Changes;
  readonly io: Io;
};

type Work<T extends SettingsTable> = (
  connection: Connection,
  values: SettingsOf<T>,
) => Promise<number | void>;

/** Makes a command that calls the gateway; `work` returns the exit status, or nothing for 0. */
export function gatewayCommand<T extends typeof connectionSettings>(
  command: Pick<Runnable, 'exits' | 'operands'> & { readonly doc?: string; readonly settings: T },
  work: Work<T>,
) {
  return {
    doc: '',
    ...command,
    fallback: contextFallback,
    run: (values: SettingsOf<T>, io: Io) =>
      withConnection(values, io, connection => work(connection, values)),
  };
}

/**
 * Runs `work` with a client and closes the client afterwards. When a request fails for a reason that only the gateway's log
 * explains, prints its id, which is also there, and throws.
 */
export async function withConnection(
  values: ConnectionSettings,
  io: Io,
  work: (connection: Connection) => Promise<number | void>,
): Promise<number> {
  const { gateway: url, timeout } = values;
  if (!values['allow-http']) requirePrivate(url);
  const tls = readTlsFiles({
    ca: values['ca-file'],
    cert: values['tls-cert-file'],
    key: values['tls-key-file'],
  });
  let isSent = false;
  const guard: HttpOptions['guard'] = send => {
    isSent = true;
    return send();
  };
  const source = { url, token: tokenOf(values), tls };
  const client = createClient({ ...source, guard });
  const requestId = randomUUID().slice(-12);
  const signal = io.signal && { signal: io.signal };
  try {
    const call = (): Call => ({ deadlineMs: Date.now() + timeout, requestId, ...signal });
    return (await work({ client, call, listen: () => listen(source), io })) ?? 0;
  } catch (error) {
    // A final problem, such as a wrong name, says all that there is to know; without an answer there is no log entry.
    if (isSent && error instanceof Problem && !problemTable[error.code].final && error.cause === undefined)
      io.err(`request "${requestId}" failed; look for this id in the gateway's log\n`);
    throw error;
  } finally {
    await client.close();
  }
}

function tokenOf(values: ConnectionSettings): HttpOptions['token'] {
  const { 'key-file': keyFile, 'token-file': tokenFile, audience } = values;
  if (keyFile !== undefined && tokenFile !== undefined)
    throw new Error(`--key-file "${keyFile}" and --token-file "${tokenFile}" are both given: leave one out`);
  if (keyFile !== undefined)
    return createTokenSource({ keyFile, issuer: 'operators', audience, lifetimeMs: 60_000 });
  if (tokenFile === undefined)
    throw new Error(
      'there are no credentials: give --key-file or --token-file, or use a context that has one',
    );
  return readTokenFile(tokenFile);
}
