import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { readBody } from '../../api/http/body.ts';

/** The time that a program has to answer, in ms. */
const answerMs = 2_000;
const source = { from: 'the node', maxBytes: 64 * 1024 };

/** A program's address on a node. */
type ProgramAddress = { readonly host: string; readonly port: number };

/**
 * Asks a program on a node for its health page. Returns undefined if none answers. An open connection is no answer, because
 * the kernel of a machine whose programs are frozen accepts it. A server with TLS refuses this plain request, which is an
 * answer, too.
 */
export async function readHealthPage({ host, port }: ProgramAddress): Promise<string | undefined> {
  const signal = AbortSignal.timeout(answerMs);
  const { request } = process.getBuiltinModule('node:http');
  try {
    const outgoing = request({ host, port, path: '/healthz', signal, agent: false }).end();
    const [reply] = (await once(outgoing, 'response')) as [IncomingMessage];
    return await readBody({ chunks: reply, encoding: undefined }, source).catch(() => '');
  } catch {
    return undefined;
  }
}

/** Reads the number of volumes from an agent's health page; undefined for agents of releases that do not say it. */
export function readVolumeCount(page: string): number | undefined {
  const [, count] = /^volumes: (\d+)$/m.exec(page) ?? [];
  return count === undefined ? undefined : Number(count);
}
