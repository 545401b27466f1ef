import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { Problem, type AttachmentResource } from 'fairlead/vendor';

/** The connection to a volume as Cinder's drivers tell it; the type decides which members it has. */
export type ConnectionInfo = {
  readonly driver_volume_type: string;
  /** The pool and the image of Ceph, as `volumes/volume-…`. */
  readonly name?: string;
  readonly hosts?: readonly string[];
  readonly ports?: readonly (string | number)[];
  readonly auth_username?: string;
  readonly auth_password?: string;
  readonly target_iqn?: string;
  readonly target_lun?: number;
  readonly target_iqns?: readonly string[];
  readonly target_portals?: readonly string[];
  /** An address with its port over iSCSI, and without it over NVMe. */
  readonly target_portal?: string;
  readonly target_port?: string | number;
  readonly target_nqn?: string;
  readonly nqn?: string;
  readonly transport_type?: string;
  readonly portals?: readonly (readonly [address: string, port: string | number, transport: string])[];
  readonly vol_uuid?: string;
  readonly volume_nguid?: string;
};
/** The identity of a disk, which only the storage itself tells. It is read once for each attachment. */
export type Identity = Readonly<Record<string, string>>;
/** The names of a node at storages. */
export type HostNames = ReturnType<typeof hostOf>;

type Attachment = NonNullable<AttachmentResource['attachment']>;
type CommonField = 'attachmentId' | 'sizeBytes' | 'readonly' | 'mayFormat';
type Reach = Attachment extends infer One ? (One extends Attachment ? Omit<One, CommonField> : never) : never;

/** Cinder's types of connections. */
type Way = {
  /** Asks the storage for the identity that the node has to find. */
  readonly identify: (info: ConnectionInfo, host: HostNames) => Promise<Identity>;
  readonly toReach: (info: ConnectionInfo, host: HostNames, identity: Identity) => Reach;
};

const ways: Readonly<Record<string, Way>> = {
  rbd: { identify: identifyImage, toReach: toRbd },
  iscsi: { identify: identifyUnit, toReach: toIscsi },
  nvmeof: { identify: async () => ({}), toReach: toNvme },
};

/** Finds the way of Cinder's answer. FAILED_PRECONDITION for one that nodes do not have. */
export function wayOf({ driver_volume_type: type }: ConnectionInfo): Way {
  const way = ways[type];
  if (way) return way;
  const known = Object.keys(ways).join(', ');
  throw new Problem('FAILED_PRECONDITION', `Cinder attaches by "${type}"; nodes have only ${known}`);
}

/** Makes the names of a node. They come from its id, so that no two nodes have the same, even if one is a copy. */
export function hostOf(nodeId: string) {
  const digits = createHash('sha256').update(nodeId).digest('hex').slice(0, 32);
  const uuid = digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  return {
    host: `fairlead-${digits}`,
    initiator: `iqn.2026-01.dev.fairlead:${digits}`,
    nqn: `nqn.2014-08.org.nvmexpress:uuid:${uuid}`,
    uuid,
  };
}

/** Cinder names the user of Ceph without its key, and the image without its own id. */
async function identifyImage(info: ConnectionInfo): Promise<Identity> {
  const { name = '', auth_username: user = '' } = info;
  const { CEPH_CONF: conf = '/etc/ceph/ceph.conf' } = process.env;
  const login = ['--conf', conf, '--name', `client.${user}`, '--keyfile', keyFile(user)];
  const said = await run('rbd', [...login, 'info', '--format', 'json', name]);
  const { id: imageId } = JSON.parse(said) as { readonly id?: string };
  if (!imageId) throw new Problem('FAILED_PRECONDITION', `image "${name}" has no id: use format 2`);
  return { imageId, fsid: (await run('ceph', [...login, 'fsid'])).trim() };
}

function toRbd(info: ConnectionInfo, _host: HostNames, { imageId = '', fsid = '' }: Identity): Reach {
  const { name = '', hosts = [], ports = [], auth_username: user = '' } = info;
  const [pool = '', image = ''] = name.split('/');
  const monitors = hosts.map((host, index) => addressOf(host, ports[index] ?? 6789));
  const mode = monitors.every(one => one.endsWith(':6789')) ? 'legacy' : 'crc';
  const secrets = { 'rbd-key': readFileSync(keyFile(user), 'utf8').trim() };
  return { protocol: 'rbd', monitors, mode, fsid, pool, image, imageId, user, secrets };
}

/** The file with the key of Cinder's user of Ceph, as the hosts of Nova have it. */
function keyFile(user: string): string {
  const { CEPH_KEY: path } = process.env;
  if (path) return path;
  throw new Problem('FAILED_PRECONDITION', `set CEPH_KEY: a file with the key of Ceph's user "${user}"`);
}

/** Asks the unit for its serial number (VPD page 0x80), as the node: the target accepts nobody else. */
async function identifyUnit(info: ConnectionInfo, { initiator }: HostNames): Promise<Identity> {
  const { target_iqn: target, target_portal: portal, target_lun: lun, ...more } = info;
  const { auth_username: user, auth_password: password } = more;
  const unit = `iscsi://${portal}/${target}/${lun}`;
  const args = [`--initiator-name=${initiator}`, '--evpd=1', '--pagecode=128', unit];
  const chap = { LIBISCSI_CHAP_USERNAME: user, LIBISCSI_CHAP_PASSWORD: password };
  const said = await run('iscsi-inq', args, user ? chap : {});
  const [, serial] = /Unit Serial Number:\[([^\]]*)\]/.exec(said) ?? [];
  if (serial?.trim()) return { serial: serial.trim() };
  throw new Problem('UNAVAILABLE', `target "${target}" does not tell the serial number of unit ${lun}`);
}

function toIscsi(info: ConnectionInfo, { initiator }: HostNames, { serial = '' }: Identity): Reach {
  const { target_iqn: target = '', target_lun: lun = 0, target_portal: portal = '', ...more } = info;
  const { target_portals: portals = [portal], target_iqns: targets = [target] } = more;
  const { auth_username: user, auth_password: password } = more;
  const chap = 'node.session.auth.';
  const secrets = { [`${chap}username`]: user ?? '', [`${chap}password`]: password ?? '' };
  const own = portals.filter((_, index) => targets[index] === target);
  return { protocol: 'iscsi', portals: own, target, lun, serial, initiator, ...(user && { secrets }) };
}

function toNvme(info: ConnectionInfo, { nqn: hostNqn, uuid: hostId }: HostNames): Reach {
  const { target_portal = '', target_port = 4420, transport_type = 'tcp' } = info;
  const { portals = [[target_portal, target_port, transport_type]], target_nqn, nqn = '' } = info;
  const { vol_uuid, volume_nguid } = info;
  const addresses = portals
    .filter(([, , transport]) => transport.toLowerCase() === 'tcp')
    .map(([host, port]) => addressOf(host, port));
  if (addresses.length === 0)
    throw new Problem('FAILED_PRECONDITION', 'the volume has no portal with NVMe over TCP');
  const wwid = vol_uuid ? `uuid.${vol_uuid}` : volume_nguid && `eui.${volume_nguid.replaceAll('-', '')}`;
  const unnamed =
    "Cinder gives no UUID of the namespace; set nvmeof_conn_info_version = 2 in the backend's section of cinder.conf (2023.1 or newer)";
  if (!wwid) throw new Problem('FAILED_PRECONDITION', unnamed);
  return { protocol: 'nvme-tcp', addresses, subsystem: target_nqn ?? nqn, wwid, hostNqn, hostId };
}

function addressOf(host: string, port: string | number): string {
  return host.includes(':') && !host.startsWith('[') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Runs a program of the storage. Secrets are in its environment or in files, since every user sees arguments. */
async function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
  try {
    const options = { env: { ...process.env, ...env }, timeout: 30_000 };
    return (await promisify(execFile)(program, args, options)).stdout;
  } catch (error) {
    const { code, stderr } = error as { readonly code?: unknown; readonly stderr?: string };
    const hint = code === 'ENOENT' ? 'it is not installed' : stderr;
    throw new Problem('UNAVAILABLE', `"${program}" fails: ${hint ?? String(error)}`);
  }
}
