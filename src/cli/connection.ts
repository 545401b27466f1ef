import { randomUUID } from 'node:crypto';
import { createClient, type StorageClient } from '../api/client.ts';
import type { Call, HttpOptions } from '../api/http.ts';
import { readTlsFiles } from '../api/http/tls-files.ts';
import { Problem } from '../api/problem.ts';
import { createTokenSource, readTokenFile } from '../api/http/tokens.ts';
import { durationMs, requirePrivate, text } from '../lib/parsers.ts';
import { allowHttpSetting, type SettingsOf, type SettingsTable } from '../lib/settings.ts';
import { contextFallback, contextSettings } from './contexts.ts';
import type { Io } from './run.ts';

/** How every command reaches the gateway. */
export const connectionSettings = {
  context: { doc: 'the context, in place of the one that is used', parse: text, optional: true },
  gateway: {
    doc: 'address of the gateway, such as https://storage.example, unless a context says it',
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
  timeout: { doc: 'how long the gateway may take', parse: durationMs, default: '30s' as string },
} as const;

/** The settings of every command of an operator. */
type ConnectionSettings = SettingsOf<typeof connectionSettings>;

/** A gateway that is asked, and those who asked for it. */
export type Connection = {
  readonly client: StorageClient;
  /** One more call. */
  readonly call: () => Call;
  readonly io: Io;
};

type Work<T extends SettingsTable> = (
  connection: Connection,
  values: SettingsOf<T>,
) => Promise<number | void>;

/** A command that asks the gateway; `work` returns its exit status, or nothing for 0. */
export function gatewayCommand<T extends typeof connectionSettings>(
  command: { readonly doc?: string; readonly settings: T; readonly operands?: readonly string[] },
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

/** Ends the connections; a failure is told with the id under which the gateway's log has it, too. */
async function withConnection(
  values: ConnectionSettings,
  io: Io,
  work: (connection: Connection) => Promise<number | void>,
): Promise<number> {
  const { gateway: url, timeout } = values;
  if (values['allow-http'] === 'false') requirePrivate(url);
  const tls = readTlsFiles({
    ca: values['ca-file'],
    cert: values['tls-cert-file'],
    key: values['tls-key-file'],
  });
  const client = createClient({ url, token: tokenOf(values), tls });
  const requestId = randomUUID().slice(-12);
  const signal = io.signal && { signal: io.signal };
  try {
    const call = (): Call => ({ deadlineMs: Date.now() + timeout, requestId, ...signal });
    return (await work({ client, call, io })) ?? 0;
  } catch (error) {
    if (error instanceof Problem) io.err(`x-request-id: ${requestId}\n`);
    throw error;
  } finally {
    await client.close();
  }
}

function tokenOf(values: ConnectionSettings): HttpOptions['token'] {
  const { 'key-file': keyFile, 'token-file': tokenFile, audience } = values;
  if (keyFile !== undefined && tokenFile !== undefined)
    throw new Error('--key-file and --token-file are both given');
  if (keyFile !== undefined)
    return createTokenSource({ keyFile, issuer: 'operators', audience, lifetimeMs: 60_000 });
  if (tokenFile === undefined)
    throw new Error('--key-file or --token-file is required, or a context that has one');
  return readTokenFile(tokenFile);
}
