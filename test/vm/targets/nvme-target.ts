import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { config, loadTarget } from './configfs.ts';
import { undoLast } from './undo.ts';

const nvmet = `${config}/nvmet`;

/** A subsystem of the kernel's own NVMe target, over TCP. */
export type NvmeTarget = ReturnType<typeof startNvmeTarget>;

/** Starts a target with two addresses; it ends with the test. */
export function startNvmeTarget(t: TestContext, subsystem: string) {
  loadTarget('nvmet', 'nvmet_tcp', 'nvme_tcp');
  const directory = mkdtempSync(join(tmpdir(), 'nvmet-'));
  const home = `${nvmet}/subsystems/${subsystem}`;
  mkdirSync(home);
  writeFileSync(`${home}/attr_allow_any_host`, '1');
  const ports = new Map([1, 2].map(id => [`127.0.0.${id}:4420`, `${nvmet}/ports/${id}`]));
  const spaces: string[] = [];
  const start = (address: string): void => symlinkSync(home, linkOf(address));
  const stop = (address: string): void => unlinkSync(linkOf(address));
  const linkOf = (address: string): string => `${ports.get(address)}/subsystems/${subsystem}`;
  for (const [address, port] of ports) {
    makePort(port, address);
    start(address);
  }
  undoLast(t, () => {
    for (const port of ports.values()) {
      for (const name of readdirSync(`${port}/subsystems`)) unlinkSync(`${port}/subsystems/${name}`);
      rmdirSync(port);
    }
    for (const id of spaces.keys()) rmdirSync(`${home}/namespaces/${id + 1}`);
    rmdirSync(home);
    rmSync(directory, { recursive: true });
  });
  return {
    subsystem,
    addresses: [...ports.keys()],
    /** Makes a namespace and returns its attachment. */
    makeVolume(name: string, sizeBytes: number): AttachmentOf<'nvme-tcp'> {
      const path = join(directory, name);
      writeFileSync(path, '');
      truncateSync(path, sizeBytes);
      const id = spaces.push(name);
      const uuid = `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`;
      const space = `${home}/namespaces/${id}`;
      mkdirSync(space);
      writeFileSync(`${space}/device_path`, path);
      writeFileSync(`${space}/device_uuid`, uuid);
      // A file in memory cannot be read past the cache.
      writeFileSync(`${space}/buffered_io`, '1');
      writeFileSync(`${space}/enable`, '1');
      const common = { attachmentId: `attachment-${name}`, sizeBytes, readonly: false, mayFormat: true };
      const addresses = [...ports.keys()];
      return { protocol: 'nvme-tcp', addresses, subsystem, wwid: `uuid.${uuid}`, ...common };
    },
    /** Changes a namespace's size. */
    resize({ wwid }: AttachmentOf<'nvme-tcp'>, sizeBytes: number): void {
      const id = Number(wwid.slice(-12));
      truncateSync(join(directory, spaces[id - 1] ?? ''), sizeBytes);
      writeFileSync(`${home}/namespaces/${id}/revalidate_size`, '1');
    },
    /** Removes one address, and adds it again. */
    stop,
    start,
  };
}

/** The key that a subsystem demands of this node, and its own key. */
export type NvmeKeys = { readonly host: string; readonly controller?: string };

/** Returns true if the kernel's target can demand keys. */
export function hasTargetKeys(): boolean {
  loadTarget('nvmet');
  const probe = `${nvmet}/hosts/nqn.2014-08.org.example:probe`;
  mkdirSync(probe);
  const isThere = existsSync(`${probe}/dhchap_key`);
  rmdirSync(probe);
  return isThere;
}

/** Makes a subsystem accept only this node, with its key. */
export function demandKeys(t: TestContext, { subsystem }: NvmeTarget, keys: NvmeKeys): void {
  const nqn = execFileSync('nvme', ['show-hostnqn'], { encoding: 'utf8' }).trim();
  const host = `${nvmet}/hosts/${nqn}`;
  const home = `${nvmet}/subsystems/${subsystem}`;
  mkdirSync(host);
  writeFileSync(`${host}/dhchap_key`, keys.host);
  if (keys.controller !== undefined) writeFileSync(`${host}/dhchap_ctrl_key`, keys.controller);
  writeFileSync(`${home}/attr_allow_any_host`, '0');
  symlinkSync(host, `${home}/allowed_hosts/${nqn}`);
  undoLast(t, () => {
    unlinkSync(`${home}/allowed_hosts/${nqn}`);
    rmdirSync(host);
  });
}

function makePort(port: string, address: string): void {
  const [ip = '', number = ''] = address.split(':');
  mkdirSync(port);
  const settings = { adrfam: 'ipv4', trtype: 'tcp', traddr: ip, trsvcid: number };
  for (const [name, value] of Object.entries(settings)) writeFileSync(`${port}/addr_${name}`, value);
}
