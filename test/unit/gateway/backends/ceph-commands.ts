import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { openPlugin } from '../../../harness/gateway/open-plugin.ts';

/** A key that must appear nowhere. */
export const key = 'AQCanaryCanaryCanaryCanaryCanaryCanaryA==';
const [v1, v2] = [
  { type: 'v1', addr: '192.0.2.7:6789', nonce: 0 },
  { type: 'v2', addr: '192.0.2.7:3300', nonce: 0 },
];
/** The output of `mon dump`. */
export const monitors = { fsid: 'f', mons: [{ public_addrs: { addrvec: [v1, v2] } }] };

/** The outputs of commands, or their exit statuses, by the beginning of their arguments after the login. */
export type Answers = Readonly<Record<string, object | number>>;

/**
 * Puts commands with these answers before the machine's own, for the objects that `work` opens, in a directory whose
 * `lines` records the arguments.
 */
export async function withCommands<T>(
  t: TestContext,
  answers: Answers,
  work: (directory: string) => Promise<T>,
) {
  const directory = mkdtempSync(join(tmpdir(), 'ceph-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const cases = Object.entries(answers).map(([words, answer]) =>
    typeof answer === 'number'
      ? `"${words}"*) exit ${answer} ;;`
      : `"${words}"*) echo '${JSON.stringify(answer)}' ;;`,
  );
  for (const program of ['rbd', 'ceph']) {
    const version = '[ "$1" = --version ] && exit';
    const lines = [
      '#!/bin/sh',
      version,
      `echo ${program} "$@" >>${directory}/lines`,
      'shift 6',
      'case "$*" in',
    ];
    writeFileSync(join(directory, program), [...lines, ...cases, 'esac', ''].join('\n'));
    chmodSync(join(directory, program), 0o755);
  }
  const path = process.env['PATH'];
  process.env['PATH'] = `${directory}:${path}`;
  const working = work(directory);
  process.env['PATH'] = path;
  return { directory, outcome: await working };
}

type Settings = { readonly filesystem?: string; readonly mode?: 'legacy' | 'crc' | 'secure' };

/** Opens a backend with commands that give these answers, and records their arguments; by default on the pool `rbd`. */
export async function openWithCommands(t: TestContext, answers: Answers, settings: Settings = {}) {
  const wanted = settings.filesystem === undefined ? { pool: 'rbd', ...settings } : settings;
  const { directory, outcome } = await withCommands(t, answers, () => openPlugin(backends.ceph, wanted));
  const readLines = (): readonly string[] => {
    const file = join(directory, 'lines');
    return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  };
  return { backend: outcome as Backend, readLines };
}
