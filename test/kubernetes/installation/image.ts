import { globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { capture } from '../cluster/capture.ts';

const checkout = resolve(import.meta.dirname, '../../..');

/**
 * Builds the image of this checkout into a directory and returns the path of its archive; TEST_IMAGE names an existing
 * one.
 */
export async function buildImage(directory: string): Promise<string> {
  const built = process.env['TEST_IMAGE'];
  if (built !== undefined) return built;
  const node = join(checkout, 'node_modules/.bin/node');
  await capture([node, join(checkout, 'deploy/image/build.ts'), '--out', directory]);
  const [archive = ''] = globSync('fairlead-*.tar', { cwd: directory });
  return join(directory, archive);
}
