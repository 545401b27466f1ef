import type { FilesystemName } from '../filesystems.ts';
import { invalidProblem } from '../problem.ts';

/** The attach protocols of shares: directories with their own filesystem, which nodes do not make. */
export const shareProtocols = ['nfs', 'cephfs', 'bind'] as const;

type ShareProtocol = (typeof shareProtocols)[number];

/** The kind of a mount, which decides its allowed options: a filesystem, or the protocol of a share. */
export type MountKind = FilesystemName | ShareProtocol;

type OptionRule = {
  /** The allowed values; `''` means no value. No value can contain a comma outside of quotes. */
  readonly values: RegExp;
  /** The option has no effect on a node and is omitted from the mount. */
  readonly isLeftOut?: true;
  /** Returns the option in the spelling for `mount`. */
  readonly becomes?: (value: string) => string;
};
type OptionTable = Readonly<Record<string, OptionRule>>;

const noValue = /^$/;
const number = /^\d{1,9}$/;
const seconds = /^\d{1,5}$/;
const nothing = /(?!)/;

/** Makes the pattern of an SELinux level: a sensitivity with categories, or a range of two. */
const level = (separator: string): string => {
  const one = `s\\d{1,2}(?::c\\d{1,4}(?:[.${separator}]c\\d{1,4}){0,15})?`;
  return `${one}(?:-${one})?`;
};
const owner = '[a-z_][a-z0-9_]{0,63}:[a-z_][a-z0-9_]{0,63}:[a-z_][a-z0-9_]{0,63}';

/** An SELinux context as kubelet gives it. One with commas must be in quotes, or `mount` would split it. */
const selinuxContext = new RegExp(`^(?:"${owner}:${level(',')}"|${owner}:${level('')})$`);

export const commonOptions: OptionTable = {
  ...plain('ro', 'noatime', 'nodiratime', 'relatime', 'strictatime', 'lazytime'),
  ...plain('nosuid', 'nodev', 'noexec', 'sync', 'dirsync'),
  ...valued({ context: selinuxContext }),
  // These are defaults, or are for /etc/fstab. A read-only attachment stays read-only even with `rw`.
  ...leftOut('defaults', 'rw', 'async', 'auto', 'noauto', 'nofail', 'nouser', '_netdev'),
};

/** Options that are always on for filesystems on devices. */
const always: OptionTable = leftOut('acl', 'user_xattr');

/** The options by the kind of a mount. None of them can skip a journal or mount anything other than the volume. */
export const optionsByKind: Readonly<Record<MountKind, OptionTable>> = {
  ext4: {
    ...always,
    ...plain('discard', 'nodiscard', 'delalloc', 'nodelalloc', 'auto_da_alloc', 'noauto_da_alloc'),
    ...plain('journal_checksum', 'noinit_itable', 'usrquota', 'grpquota', 'prjquota', 'nobarrier'),
    ...valued({
      barrier: /^[01]?$/,
      commit: seconds,
      data: /^(ordered|writeback|journal)$/,
      errors: /^(remount-ro|continue)$/,
      init_itable: /^\d{0,5}$/,
      max_batch_time: number,
      min_batch_time: number,
      stripe: number,
    }),
  },
  xfs: {
    ...always,
    // The kernel has removed these options: their effect is always on or no longer possible.
    ...leftOut('attr2', 'barrier', 'nobarrier'),
    ...plain('nouuid', 'discard', 'nodiscard', 'inode32', 'inode64', 'largeio', 'nolargeio', 'noalign'),
    ...plain('swalloc', 'filestreams', 'wsync', 'noquota'),
    ...plain('uquota', 'gquota', 'pquota', 'usrquota', 'grpquota', 'prjquota'),
    ...valued({
      allocsize: /^\d{1,9}[kmg]?$/,
      logbsize: /^(0|(16|32|64|128|256)k|16384|32768|65536|131072|262144)$/,
      logbufs: /^[2-8]$/,
      sunit: /^\d{1,6}$/,
      swidth: /^\d{1,6}$/,
    }),
  },
  // `subvol` and `device` are missing on purpose: they would mount a part of the volume, or another device.
  btrfs: {
    ...always,
    ...leftOut('barrier'),
    ...plain('nodiscard', 'ssd', 'nossd', 'ssd_spread', 'autodefrag', 'noautodefrag', 'flushoncommit'),
    ...plain('datacow', 'nodatacow', 'datasum', 'nodatasum', 'skip_balance', 'user_subvol_rm_allowed'),
    ...valued({
      compress: /^(|no|none|zlib(:[1-9])?|lzo|zstd(:([1-9]|1[0-5]))?)$/,
      'compress-force': /^(zlib(:[1-9])?|lzo|zstd(:([1-9]|1[0-5]))?)$/,
      discard: /^(|sync|async)$/,
      space_cache: /^(|v1|v2)$/,
      commit: seconds,
      max_inline: /^\d{1,6}k?$/,
      thread_pool: /^\d{1,3}$/,
    }),
  },
  nfs: {
    ...plain('hard', 'soft', 'softerr', 'resvport', 'noresvport', 'ac', 'noac', 'cto', 'nocto'),
    ...plain('sharecache', 'nosharecache', 'rdirplus', 'nordirplus', 'fsc', 'nofsc'),
    ...valued({
      vers: /^4(\.[012])?$/,
      timeo: number,
      retrans: number,
      rsize: number,
      wsize: number,
      nconnect: /^([1-9]|1[0-6])$/,
      proto: /^(tcp|tcp6|rdma)$/,
      port: /^\d{1,5}$/,
      sec: /^(sys|krb5|krb5i|krb5p)$/,
      actimeo: number,
      acregmin: number,
      acregmax: number,
      acdirmin: number,
      acdirmax: number,
      lookupcache: /^(all|none|pos|positive)$/,
    }),
    // These synonyms are translated to one name, so that they replace the agent's own options.
    nfsvers: { values: /^4(\.[012])?$/, becomes: value => `vers=${value}` },
    tcp: { values: noValue, becomes: () => 'proto=tcp' },
    rdma: { values: noValue, becomes: () => 'proto=rdma' },
    // Locks and access control lists are part of NFS 4, which has no signals. Kubelet repeats mounts, so mount need not.
    ...leftOut('lock', 'nolock', 'acl', 'noacl', 'intr', 'nointr', 'bg', 'fg'),
    local_lock: { values: /^(none|all|flock|posix)$/, isLeftOut: true },
    retry: { values: seconds, isLeftOut: true },
  },
  cephfs: {
    ...plain('dirstat', 'nodirstat', 'rbytes', 'norbytes', 'wsync', 'nowsync'),
    ...valued({
      rsize: /^\d{1,12}$/,
      wsize: /^\d{1,12}$/,
      rasize: /^\d{1,12}$/,
      readdir_max_entries: /^\d{1,12}$/,
      caps_wanted_delay_min: /^\d{1,12}$/,
      caps_wanted_delay_max: /^\d{1,12}$/,
    }),
  },
  // These options belong to the directory's filesystem and cannot be set for a bind mount.
  bind: valued({ lazytime: nothing, sync: nothing, dirsync: nothing, context: nothing }),
};

/** Narrows a protocol to one of shares; INVALID_ARGUMENT for any other. */
export function requireShareProtocol(protocol: string): ShareProtocol {
  const found = shareProtocols.find(one => one === protocol);
  if (found) return found;
  throw invalidProblem(
    `a volume over ${protocol} is not a share; the protocols of shares are ${shareProtocols.join(', ')}`,
  );
}

/**
 * Returns a message with the refused options, formatted by `show`, and the kinds of mount that refuse them; undefined if one
 * kind accepts all options.
 */
export function mountOptionFault(
  options: readonly string[],
  kinds: readonly MountKind[],
  show = (option: string): string => option,
): string | undefined {
  if (kinds.some(kind => takesMountOptions(kind, options))) return undefined;
  const refusing = (option: string): readonly MountKind[] => kinds.filter(kind => !ruleOf(option, kind));
  const refused = options.filter(option => refusing(option).length > 0);
  const faults = [...Map.groupBy(refused, option => refusing(option).join(', '))].map(
    ([names, flags]) => `"${flags.map(show).join('", "')}" is not allowed for ${names}`,
  );
  return `mount flag ${faults.join('; ')}`;
}

/** INVALID_ARGUMENT unless one of the kinds accepts all options; `mount` could split or misread other options. */
export function requireMountOptions(options: readonly string[], ...kinds: readonly MountKind[]): void {
  const fault = mountOptionFault(options, kinds);
  if (fault !== undefined) throw invalidProblem(fault);
}

export function takesMountOptions(kind: MountKind, options: readonly string[]): boolean {
  return options.every(option => ruleOf(option, kind) !== undefined);
}

export function partMountOptions(kind: MountKind, options: readonly string[]) {
  const used: string[] = [];
  const unused: string[] = [];
  for (const option of options) {
    const { isLeftOut, becomes = () => option } = ruleOf(option, kind) ?? {};
    if (isLeftOut) unused.push(option);
    else used.push(becomes(valueOf(option)));
  }
  return { used, unused };
}

/** Returns the rule that allows the option; undefined for a refused option. */
function ruleOf(option: string, kind: MountKind): OptionRule | undefined {
  const [name = ''] = option.split('=', 1);
  const ofKind = optionsByKind[kind];
  const table = Object.hasOwn(ofKind, name) ? ofKind : commonOptions;
  const rule = Object.hasOwn(table, name) ? table[name] : undefined;
  // `name=` lacks the announced value.
  return !option.endsWith('=') && rule?.values.test(valueOf(option)) ? rule : undefined;
}

function valueOf(option: string): string {
  const [, ...rest] = option.split('=');
  return rest.join('=');
}

function plain(...names: readonly string[]): OptionTable {
  return Object.fromEntries(names.map(name => [name, { values: noValue }]));
}

function leftOut(...names: readonly string[]): OptionTable {
  return Object.fromEntries(names.map(name => [name, { values: noValue, isLeftOut: true }]));
}

function valued(rules: Readonly<Record<string, RegExp>>): OptionTable {
  return Object.fromEntries(Object.entries(rules).map(([name, values]) => [name, { values }]));
}
