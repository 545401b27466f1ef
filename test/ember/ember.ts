import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { whyNoCinder } from '../cinder/cinder.ts';
import { packagesOf } from '../packages.ts';
import { startScript } from '../sandbox.ts';

const [packages, cinderPackages] = [packagesOf('ember'), packagesOf('cinder')];
const script = fileURLToPath(new URL('ember.sh', import.meta.url));

/** The reason why no ember-csi can run beside Ceph here, or false. */
export const whyNoEmber: string | false = existsSync(packages)
  ? whyNoCinder
  : 'needs ember-csi: run test/ember/packages.sh';

/**
 * Starts ember-csi, both plugins of the driver in one process, for images of the Ceph cluster around this process, and
 * returns the variables of a bridge over it. It ends with the test.
 */
export async function startEmber(
  t: Pick<TestContext, 'after'>,
  dir: string,
): Promise<Readonly<Record<string, string>>> {
  const apart = ['unshare', '--mount', '--pid', '--fork', '--kill-child'];
  await startScript(t, [...apart, 'sh', script, dir, cinderPackages, packages]).ready;
  // Its volumes have whole gigabytes.
  return {
    CSI_ENDPOINT: `unix://${join(dir, 'csi.sock')}`,
    NODE_ID: 'ember.ember-csi.io.n1',
    SIZE_STEP: '1Gi',
  };
}
