import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
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
import { setTimeout as sleep } from 'node:timers/promises';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { config, loadTarget } from './configfs.ts';
import { undoLast } from './undo.ts';
import { endProcess } from '../../harness/exit.ts';

const scsi = `${config}/target`;

/** The name of this node among iSCSI targets. */
export const nodeName = 'iqn.2003-01.org.example:node';

/** A store of the kernel's own SCSI target: a file, and its identifiers. */
export type Store = {
  readonly home: string;
  readonly path: string;
  readonly wwid: string;
  readonly serial: string;
};

/** Makes stores in a directory of their own; they end with the test, after the units on them. */
export function openStores(t: TestContext): (serial: string, sizeBytes: number) => Store {
  // Without udev nothing else loads the module.
  execFileSync('modprobe', ['sd_mod']);
  loadTarget('target_core_mod', 'target_core_file', 'iscsi_target_mod', 'tcm_loop');
  const directory = mkdtempSync(join(tmpdir(), 'stores-'));
  const hba = `${scsi}/core/fileio_${process.hrtime.bigint() % 1_000_000n}`;
  mkdirSync(hba);
  undoLast(t, () => {
    for (const name of readdirSync(hba).filter(entry => !entry.startsWith('hba_')))
      rmdirSync(`${hba}/${name}`);
    rmdirSync(hba);
    rmSync(directory, { recursive: true });
  });
  return (serial, sizeBytes) => {
    const path = join(directory, serial);
    writeFileSync(path, '');
    truncateSync(path, sizeBytes);
    const home = `${hba}/${serial}`;
    mkdirSync(home);
    writeFileSync(`${home}/control`, `fd_dev_name=${path},fd_dev_size=${sizeBytes},fd_buffered_io=1`);
    writeFileSync(`${home}/enable`, '1');
    writeFileSync(`${home}/wwn/vpd_unit_serial`, serial);
    const said = readFileSync(`${home}/wwn/vpd_unit_serial`, 'utf8').split(': ').at(-1)?.trim();
    return { home, path, serial: said ?? '', wwid: naaOf(serial) };
  };
}

/**
 * Makes an identifier of a serial number as the kernel does: an OUI and the serial's hexadecimal digits
 * (target_core_spc.c).
 */
function naaOf(serial: string): string {
  const digits = serial
    .toLowerCase()
    .replaceAll(/[^0-9a-f]/g, '')
    .slice(0, 25);
  return `naa.6001405${digits.padEnd(25, '0')}`;
}

/** Changes a store's size. */
export function resizeStore({ home, path }: Store, sizeBytes: number): void {
  truncateSync(path, sizeBytes);
  writeFileSync(`${home}/control`, `fd_dev_size=${sizeBytes}`);
}

/** A portal group of a fabric; stores are its units. */
export type Group = ReturnType<typeof makeGroup>;

/** Makes a portal group; its units end with the test, and then the group. */
export function makeGroup(t: TestContext, home: string) {
  mkdirSync(home, { recursive: true });
  const dropUnit = (lun: number): void => {
    const unit = `${home}/lun/lun_${lun}`;
    for (const entry of readdirSync(unit, { withFileTypes: true }))
      if (entry.isSymbolicLink()) unlinkSync(`${unit}/${entry.name}`);
    rmdirSync(unit);
  };
  undoLast(t, () => {
    for (const name of readdirSync(`${home}/lun`)) dropUnit(Number(name.slice('lun_'.length)));
    rmdirSync(home);
    rmdirSync(home.slice(0, home.lastIndexOf('/')));
  });
  return {
    home,
    addUnit(lun: number, store: Store): void {
      mkdirSync(`${home}/lun/lun_${lun}`);
      symlinkSync(store.home, `${home}/lun/lun_${lun}/store`);
    },
    dropUnit,
  };
}

/** Opens a SCSI bus of this machine; disks are plugged in and out as in a cloud. */
export function openBus(t: TestContext): Group {
  const address = `naa.${String(process.hrtime.bigint()).padStart(16, '5').slice(-16)}`;
  const home = `${scsi}/loopback/${address}/tpgt_1`;
  const group = makeGroup(t, home);
  writeFileSync(`${home}/nexus`, address);
  return group;
}

/** Makes the attachment of a store on such a bus. */
export function attachmentTo({ serial }: Pick<Store, 'serial'>): AttachmentOf<'device'> {
  const common = { sizeBytes: 64 * 2 ** 20, readonly: false, mayFormat: true };
  return { protocol: 'device', serial, attachmentId: `attachment-${serial}`, ...common };
}

/** An iSCSI target over two portals. */
export type IscsiTarget = ReturnType<typeof startIscsiTarget>;

/** Starts an iSCSI target that every node may use. */
export function startIscsiTarget(t: TestContext, target: string) {
  const home = `${scsi}/iscsi/${target}/tpgt_1`;
  const portals = ['127.0.0.1:3260', '127.0.0.2:3260'];
  const group = makeGroup(t, home);
  const settings = {
    authentication: 0,
    demo_mode_write_protect: 0,
    generate_node_acls: 1,
    cache_dynamic_acls: 1,
  };
  for (const [name, value] of Object.entries(settings))
    writeFileSync(`${home}/attrib/${name}`, String(value));
  const start = (portal: string): void => void mkdirSync(`${home}/np/${portal}`);
  const stop = (portal: string): void => rmdirSync(`${home}/np/${portal}`);
  for (const portal of portals) start(portal);
  writeFileSync(`${home}/enable`, '1');
  undoLast(t, () => {
    writeFileSync(`${home}/enable`, '0');
    for (const portal of readdirSync(`${home}/np`)) stop(portal);
  });
  return { ...group, target, portals, start, stop };
}

/** The daemons iscsid and multipathd. */
export type Daemons = Awaited<ReturnType<typeof startDaemons>>;

/** Starts iscsid and multipathd, as a node has them, until the test file ends. */
export async function startDaemons() {
  mkdirSync('/etc/iscsi', { recursive: true });
  writeFileSync('/etc/iscsi/initiatorname.iscsi', `InitiatorName=${nodeName}\n`);
  mkdirSync('/run/multipath', { recursive: true });
  // Makes multipathd read identifiers from sysfs at once, because no udev reports them.
  writeFileSync(
    '/etc/multipath.conf',
    'defaults {\n  polling_interval 2\n  retrigger_tries 0\n  missing_uev_wait_timeout 1\n}\n',
  );
  execFileSync('modprobe', ['-a', 'iscsi_tcp', 'dm_multipath']);
  let iscsid = startIscsid();
  const multipathd = spawn('multipathd', ['-d', '-s'], { stdio: 'inherit' });
  await untilListening('@ISCSIADM_ABSTRACT_NAMESPACE', '@/org/kernel/linux/storage/multipathd');
  return {
    stop(): void {
      for (const daemon of [iscsid, multipathd]) daemon.kill('SIGKILL');
    },
    async restartIscsid(): Promise<void> {
      await endProcess(iscsid);
      iscsid = startIscsid();
      await untilListening('@ISCSIADM_ABSTRACT_NAMESPACE');
    },
  };
}

function startIscsid(): ChildProcess {
  return spawn('iscsid', ['--foreground', '--no-pid-file'], { stdio: 'inherit' });
}

async function untilListening(...names: readonly string[]): Promise<void> {
  while (!names.every(isListening)) await sleep(100);
}

function isListening(name: string): boolean {
  return readFileSync('/proc/net/unix', 'utf8').includes(name);
}
