import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { buildDebianPackage } from '../../deploy/release/debian-package.ts';
import { buildPackage } from '../../deploy/release/package.ts';
import { readGuide } from '../../docs/guides/guide.ts';
import { packagesOf } from '../packages.ts';

const mmdebstrap = join(packagesOf('install'), 'usr/bin/mmdebstrap');
const skip =
  (process.getuid?.() !== 0 && 'it needs root') ||
  (spawnSync('git', ['rev-parse']).status !== 0 && 'it copies the files that git knows') ||
  (!existsSync(mmdebstrap) && 'mmdebstrap is not there: test/install/packages.sh fetches it');
/** A cheap test in place of all of them. */
const cheap = 'test/unit/lib';
/** The machine's own certificate authorities, which may include one that the package registries need. */
const authorities = '/etc/ssl/certs/ca-certificates.crt';

/** The root of a minimal Debian 12 with README's requirements, a copy of this checkout, and a release's files in /root. */
let root = '';

before(
  async () => {
    if (skip !== false) return;
    root = mkdtempSync(join(tmpdir(), 'fairlead-minimal-'));
    process.once('exit', () => rmSync(root, { recursive: true, force: true }));
    const making = ['--variant=minbase', '--mode=root', '--include=nodejs,npm', '--quiet'];
    execFileSync(mmdebstrap, [...making, '--dpkgopt=force-unsafe-io', 'bookworm', root], {
      stdio: 'inherit',
    });
    execFileSync('bash', [
      '-euo',
      'pipefail',
      '-c',
      `mkdir -p "$1"/opt/fairlead "$1"/etc/ssl/certs
       git ls-files -z --cached --others --exclude-standard |
         tar --create --null --files-from=- --ignore-failed-read | tar --extract --directory="$1"/opt/fairlead
       cp /etc/resolv.conf /etc/hosts "$1"/etc/
       [ ! -e ${authorities} ] || cp ${authorities} "$1"${authorities}`,
      '-',
      root,
    ]);
    const out = join(root, 'root');
    const files = await buildPackage(out);
    buildDebianPackage(files, out);
    rmSync(files, { recursive: true });
  },
  { timeout: 3_600_000 },
);

/**
 * Runs a script in the root, with its own processes and mounts, and returns its output. The script cannot use the `hidden`
 * files.
 */
function run(script: string, hidden: readonly string[] = []): string {
  const hiding = hidden.map(path => `mount --bind /dev/null "$1"${path};`).join(' ');
  const entering = `${hiding} mount -t proc proc "$1"/proc; mount --rbind /sys "$1"/sys; mount --rbind /dev "$1"/dev
    exec chroot "$1" /usr/bin/env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
      NODE_EXTRA_CA_CERTS=${authorities} npm_config_cafile=${authorities} sh -euc "$2"`;
  const { stdout, status } = spawnSync(
    'unshare',
    [
      '--mount',
      '--pid',
      '--fork',
      '--kill-child',
      'bash',
      '-euc',
      entering,
      '-',
      root,
      `exec 2>&1\n${script}`,
    ],
    { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 },
  );
  assert.equal(status, 0, stdout);
  return stdout;
}

const commands = readGuide('README.md').find(({ machine }) => machine === 'debian');
const [demo = '', tests = ''] = commands?.text.trim().split('\n') ?? [];

test("README's first command runs the demo on a minimal Debian", { skip }, () => {
  assert.match(run(`cd /opt/fairlead\n${demo}\ndeploy/install-tools.sh programs --check`), /^Proved: /m);
});

test("README's second command runs the tests there", { skip }, () => {
  const [command = ''] = tests.split('#');
  assert.match(run(`cd /opt/fairlead\n${command} -- ${cheap}`), /^\d+ passed, 0 failed$/m);
});

test("the vendor's guide makes a project there that passes the kit", { skip }, () => {
  const [first, second] = readGuide('docs/guides/vendor.md');
  assert.match(run(`${first?.text}\n${second?.text}`), /all checked requirements hold/);
});

test(
  "the first step of the storage server's guide installs the programs there, without npm",
  { skip },
  () => {
    const [first] = readGuide('docs/guides/storage-server.md');
    const gateway = 'pools: { a: { backend: image, dir: /srv/a } }';
    const output = run(`${first?.text}
    mkdir -p /srv/a
    echo '${gateway}' > /srv/gateway.yaml
    PATH=/usr/bin:/bin fairlead gateway --check --config /srv/gateway.yaml --store /srv/store.sqlite
    fairlead demo
    test -e /usr/lib/systemd/system/fairlead-gateway.service
    test -e /usr/lib/udev/rules.d/57-fairlead.rules
    apt-get remove --yes fairlead
    ! find /usr -name '*fairlead*' | grep .`);
    assert.match(output, /^pool a: not checked: whose volumes it holds, .*; all else is ok/m);
    assert.match(output, /^Proved: /m);
  },
);

/** Releases of Node.js with the major version of npm that each one contains. */
for (const [release, npm] of [
  ['20.20.2', 10],
  ['22.23.3', 10],
  ['24.21.0', 11],
] as const)
  test(`README's first command runs the demo with only Node.js ${release} there`, { skip }, () => {
    const home = `/opt/node-${release}`;
    run(`npm install --prefix ${home} --no-audit --no-fund node@${release} npm@${npm}`);
    const output = run(
      `if /usr/bin/node --version; then exit 1; fi
      PATH=${home}/node_modules/.bin:$PATH
      node --version; npm --version
      cd /opt/fairlead; rm -rf node_modules
      ${demo}`,
      ['/usr/bin/node', '/usr/share/nodejs/npm/bin/npm-cli.js'],
    );
    assert.match(output, new RegExp(`^v${release}\\n${npm}\\.`, 'm'));
    assert.match(output, /^Proved: /m);
  });
