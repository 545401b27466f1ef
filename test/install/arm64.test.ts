import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, globSync, lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, test } from 'node:test';
import { ownArchitecture } from '../../deploy/image/architectures.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../harness/machine.ts';
import { version } from '../../src/lib/version.ts';
import { unpackImage } from './container.ts';
import { packagesOf } from '../packages.ts';

const packages = packagesOf('install');
const emulator = join(packages, 'usr/bin/qemu-aarch64-static');
const skip =
  (process.getuid?.() !== 0 && 'it needs root') ||
  (ownArchitecture === 'arm64' &&
    'this machine itself is arm64: test/install/image.test.ts tests its image') ||
  (!existsSync(emulator) && 'the emulator is not there: test/install/packages.sh fetches it');

/** Runs a command of the image on an emulated processor. */
function emulate(root: string, argv: readonly string[]): string {
  const { stdout, stderr, status, error } = spawnSync('chroot', [root, '/emulator', ...argv], {
    encoding: 'utf8',
    env: { PATH: '/usr/local/bin:/usr/bin:/usr/sbin' },
  });
  assert.equal(status, 0, `${argv.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}

void suite('the image for arm64', { skip }, () => {
  const dir = makeTemporaryDirectory();
  process.once('exit', () => removeTemporaryDirectory(dir));
  const root = join(dir, 'root');

  before(() => {
    execFileSync(process.execPath, ['deploy/image/build.ts', '--arch', 'arm64', '--out', dir], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: {
        ...process.env,
        PATH: `${packages}/usr/bin:${process.env['PATH']}`,
        LD_LIBRARY_PATH: `${packages}/usr/lib/x86_64-linux-gnu`,
      },
    });
    const { architecture } = unpackImage(join(dir, `fairlead-${version}-arm64.tar`), root);
    assert.equal(architecture, 'arm64');
    copyFileSync(emulator, join(root, 'emulator'));
  });

  void test('starts each program of Fairlead', () => {
    const [, command = ''] =
      /^exec (.*) \$own/m.exec(readFileSync(join(root, 'usr/local/bin/fairlead'), 'utf8')) ?? [];
    for (const program of ['gateway', 'controller', 'node', 'get'])
      assert.match(
        emulate(root, [...command.split(' '), '/opt/fairlead/src/fairlead.mjs', program, '--help']),
        new RegExp(`^(?:Usage: )?fairlead ${program} `, 'm'),
      );
  });

  void test('has every library of its programs, which the loader of arm64 finds', () => {
    const programs = globSync(`${root}/usr/{bin,sbin,local/bin}/*`).filter(
      path => !lstatSync(path).isSymbolicLink() && readFileSync(path).subarray(1, 4).toString() === 'ELF',
    );
    assert.ok(programs.length > 30);
    for (const path of programs) {
      const inside = path.slice(root.length);
      const found = emulate(root, ['/lib/ld-linux-aarch64.so.1', '--list', inside]);
      assert.doesNotMatch(found, /not found/, inside);
    }
  });

  void test('starts the programs that make, check and mount filesystems', () => {
    for (const argv of [
      ['mkfs.xfs', '-V'],
      ['mkfs.btrfs', '--version'],
      ['mount', '--version'],
      ['losetup', '--version'],
      ['nvme', '--version'],
      ['cryptsetup', '--version'],
    ]) {
      const [name = '', ...args] = argv;
      const path =
        ['/usr/sbin', '/usr/bin'].map(folder => `${folder}/${name}`).find(one => existsSync(root + one)) ??
        '';
      assert.match(emulate(root, [path, ...args]), /\d\.\d/, name);
    }
  });
});
