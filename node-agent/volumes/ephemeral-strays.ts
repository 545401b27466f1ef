import { asProblem } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Agent } from './agent.ts';
import { runWell } from '../host/commands.ts';

const imageName = /^[0-9a-f]{32}\.img$/;

/**
 * Warns of images of ephemeral volumes that no record names, as after the loss of the state directory: what is on them
 * may be wanted, so that they are left where they are; the first is named. A directory that cannot be read is a warning, too.
 */
export async function reportStrays({ host, records, ephemeral: pool }: Agent, log: Log): Promise<void> {
  if (!pool) return;
  const { directory } = pool;
  const before = records.all();
  try {
    const line = { command: 'ls', args: ['--almost-all', '--', directory] };
    const names = (await runWell(host, line)).stdout.split('\n').filter(name => imageName.test(name));
    // A volume that came or went meanwhile is in one of both.
    const known = new Set(
      [...before, ...records.all()].map(
        ({ attachment }) => attachment.protocol === 'loop' && attachment.path,
      ),
    );
    const paths = names.map(name => `${directory}/${name}`);
    const strays = paths.filter(path => !known.has(path));
    const [first] = strays;
    if (first !== undefined)
      log.warn('images of ephemeral volumes are there that no record names', {
        count: strays.length,
        path: first,
      });
  } catch (error) {
    log.warn('the directory of ephemeral volumes could not be read', {
      path: directory,
      detail: asProblem(error).detail,
    });
  }
}
