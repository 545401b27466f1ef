import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import packageJson from '../../package.json' with { type: 'json' };
import { copyNodeProgram, findNode, ownArchitecture, type Architecture } from '../image/architectures.ts';
import { launcherOf } from '../image/contents.ts';
import { setPlainModes, sizeOf, write } from '../image/files.ts';

const home = 'usr/lib/fairlead';

/** The packages of the programs that the gateway starts; the second list is for pools that not everybody has. */
const depends = [
  'libc6',
  'libgcc-s1',
  'libstdc++6',
  'libatomic1',
  'mount',
  'util-linux',
  'diffutils',
  'kmod',
];
const recommends = ['e2fsprogs', 'xfsprogs', 'btrfs-progs', 'openssl', 'curl'];

/** Scripts that dpkg runs. Stopping and starting the service does not detach volumes: the kernel keeps its exports. */
const scripts = {
  postinst: `[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
# Restarts a running gateway with the new release.
systemctl try-restart fairlead-gateway.service
`,
  prerm: `if [ "$1" = remove ] && [ -d /run/systemd/system ]; then systemctl disable --now fairlead-gateway.service; fi
rm -rf /${home}/node_modules
`,
  postrm: `[ ! -d /run/systemd/system ] || systemctl daemon-reload
`,
};

/**
 * Builds the Debian package from the directory of the npm package: the command line, all programs, their Node.js, and the
 * service of a storage server. Configuration, store and volumes stay when the package is removed. Returns the file.
 */
export function buildDebianPackage(npmPackage: string, out: string, architecture = ownArchitecture): string {
  const root = join(out, 'debian');
  rmSync(root, { recursive: true, force: true });
  cpSync(npmPackage, join(root, home), { recursive: true });
  const node = findNode(architecture, `.cache/image-${architecture}`);
  copyNodeProgram(node, join(root, home, 'node'));
  const flags = launcherOf([`/${home}/node`], `/${home}/lib/fairlead.mjs`);
  write(join(root, 'usr/bin/fairlead'), flags);
  chmodSync(join(root, 'usr/bin/fairlead'), 0o755);
  copy(
    'deploy/systemd/fairlead-gateway.service',
    join(root, 'usr/lib/systemd/system/fairlead-gateway.service'),
  );
  copy('deploy/udev/57-fairlead.rules', join(root, 'usr/lib/udev/rules.d/57-fairlead.rules'));
  // Debian's policy is that manual pages are compressed.
  for (const name of readdirSync(join(npmPackage, 'man')))
    write(
      join(root, 'usr/share/man/man1', `${name}.gz`),
      gzipSync(readFileSync(join(npmPackage, 'man', name)), { level: 9 }),
    );
  const docs = join(root, 'usr/share/doc/fairlead');
  for (const path of globSync('docs/**/*.md', { exclude: ['docs/site/**'] })) copy(path, join(docs, path));
  copy('README.md', join(docs, 'README.md'));
  copy('LICENSE', join(docs, 'copyright'));
  copy(join(npmPackage, 'lib/LICENSES.txt'), join(docs, 'LICENSES.txt'));
  copy(join(node.directory, 'LICENSE'), join(docs, 'LICENSE.node'));
  mkdirSync(join(root, 'tmp'));
  setPlainModes(root);
  rmSync(join(root, 'tmp'), { recursive: true });
  write(join(root, 'DEBIAN/control'), control(architecture, Math.ceil(sizeOf(root) / 1024)));
  for (const [name, text] of Object.entries(scripts))
    writeFileSync(join(root, 'DEBIAN', name), `#!/bin/sh\nset -e\n${text}`, { mode: 0o755 });
  const file = join(out, `fairlead_${packageJson.version}_${architecture}.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zzstd', '--build', root, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  rmSync(root, { recursive: true });
  return file;
}

function control(architecture: Architecture, kibibytes: number): string {
  // The variables of Debian's own tools name whoever publishes the package.
  const { DEBFULLNAME = 'Fairlead', DEBEMAIL = 'root@localhost' } = process.env;
  return `Package: fairlead
Version: ${packageJson.version}
Architecture: ${architecture}
Maintainer: ${DEBFULLNAME} <${DEBEMAIL}>
Installed-Size: ${kibibytes}
Depends: ${depends.join(', ')}
Recommends: ${recommends.join(', ')}
Section: admin
Priority: optional
Description: ${packageJson.description}
 The command line and the programs of Fairlead with their Node.js, and a systemd service that makes a machine with
 disks the storage of Kubernetes clusters.
`;
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to);
}
