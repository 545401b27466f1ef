import { execFileSync } from 'node:child_process';
import { renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { version } from '../../src/lib/version.ts';
import { chart } from '../render.ts';

/** Packs the chart below `out` by the program at `helm`. */
export function packageChart(helm: string, out: string): void {
  const versions = ['--version', version, '--app-version', version];
  execFileSync(helm, ['package', chart, ...versions, '--destination', join(out, 'chart')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  // Helm gives the file the name that npm's package has.
  renameSync(join(out, `chart/fairlead-${version}.tgz`), join(out, `fairlead-chart-${version}.tgz`));
  rmdirSync(join(out, 'chart'));
}
