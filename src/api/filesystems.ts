import { Problem } from './problem.ts';

/** The allowed values of an option: for messages, and as a test. */
type OptionRule = { readonly says: string; readonly accepts: (value: string) => boolean };

type FilesystemRules = {
  readonly options: Readonly<Record<string, OptionRule>>;
  /** Describes a conflict between options that are valid one by one. */
  readonly conflict?: (options: FormatOptions) => string | undefined;
};

/**
 * Options of filesystems by name, such as `fs.blockSize`. They apply only to new filesystems, through mkfs; `fs.trim` applies
 * while the filesystem is mounted.
 */
export type FormatOptions = Readonly<Record<string, string>>;

/** How often nodes give the blocks of deleted files back to the storage. */
const trimmings = ['off', 'daily', 'weekly'] as const;

/** The options that every filesystem has. */
const common = { 'fs.trim': oneOf(...trimmings) };

/** All filesystems that nodes make, with the format options that parameters may have for them. */
export const filesystemRules = {
  ext4: {
    options: {
      ...common,
      'fs.blockSize': oneOf('1024', '2048', '4096'),
      'fs.inodeSize': oneOf('256', '512', '1024'),
      'fs.bytesPerInode': within(1_024, 67_108_864),
      'fs.label': label(16),
    },
    conflict: ({ 'fs.inodeSize': inode = '256', 'fs.bytesPerInode': ratio = '16384' }) =>
      Number(ratio) < Number(inode) * 2 ? 'fs.bytesPerInode is less than twice fs.inodeSize' : undefined,
  },
  xfs: {
    options: {
      ...common,
      'fs.blockSize': oneOf('1024', '2048', '4096'),
      'fs.inodeSize': oneOf('512', '1024', '2048'),
      'fs.label': label(12),
    },
    conflict: ({ 'fs.blockSize': block = '4096', 'fs.inodeSize': inode = '512' }) =>
      Number(inode) * 2 > Number(block) ? 'fs.inodeSize is more than half of fs.blockSize' : undefined,
  },
  btrfs: {
    options: {
      ...common,
      'fs.nodeSize': oneOf('4096', '8192', '16384', '32768', '65536'),
      'fs.checksum': oneOf('crc32c', 'xxhash', 'sha256', 'blake2'),
      'fs.label': label(64),
    },
  },
} as const satisfies Record<string, FilesystemRules>;

export type FilesystemName = keyof typeof filesystemRules;

export const filesystemNames = Object.keys(filesystemRules) as readonly FilesystemName[];

export function isFilesystemName(name: string): name is FilesystemName {
  return Object.hasOwn(filesystemRules, name);
}

/** Older filesystems, which nodes mount with the driver of a newer one but do not make. */
const older: ReadonlyMap<string, FilesystemName> = new Map([
  ['ext2', 'ext4'],
  ['ext3', 'ext4'],
]);

/** Returns the filesystem whose driver and tools handle the named one; undefined for an unknown name. */
export function driverOf(name: string): FilesystemName | undefined {
  return isFilesystemName(name) ? name : older.get(name);
}

/** Extracts the format options from a volume's parameters or context. */
export function formatOptionsOf(map: Readonly<Record<string, string>>): FormatOptions {
  return Object.fromEntries(Object.entries(map).filter(([key]) => key.startsWith('fs.')));
}

/** Returns how often a volume with these options is trimmed. */
export function trimOf(options: FormatOptions): (typeof trimmings)[number] {
  return trimmings.find(one => one === options['fs.trim']) ?? 'off';
}

/** The values of the parameter `encryption`: the known ways to encrypt a volume on nodes. */
const encryptions = ['luks'] as const;

export type Encryption = (typeof encryptions)[number];

/** Returns the encryption of a volume with these parameters, or undefined; INVALID_ARGUMENT for an unknown one. */
export function encryptionOf({ encryption }: Readonly<Record<string, string>> = {}): Encryption | undefined {
  const known = encryptions.find(one => one === encryption);
  if (known === encryption) return known;
  throw new Problem('INVALID_ARGUMENT', `parameter "encryption" is not ${encryptions.join(' or ')}`);
}

/** True for a parameter that nodes use and the pool does not. */
export function isForNodes(parameter: string): boolean {
  return parameter.startsWith('fs.') || parameter === 'encryption';
}

/** The prefixes of keys that only Kubernetes' sidecars and kubelet may set. */
const kubernetesPrefixes = ['csi.storage.k8s.io/', 'storage.kubernetes.io/'];

/** True for a parameter or a member of a context that only Kubernetes may set. */
export function isKubernetes(key: string): boolean {
  return kubernetesPrefixes.some(prefix => key.startsWith(prefix));
}

/** Removes the members of a context that a storage must not set: members for nodes, and members of Kubernetes. */
export function storageContext(context: Readonly<Record<string, string>>): Record<string, string> {
  const own = Object.entries(context).filter(([key]) => !isForNodes(key) && !isKubernetes(key));
  return Object.fromEntries(own);
}

/** INVALID_ARGUMENT, with all faults, if the filesystem does not accept the options; without a name, if no filesystem does. */
export function requireFormatOptions(options: FormatOptions, filesystem?: FilesystemName): void {
  const names = filesystem === undefined ? filesystemNames : [filesystem];
  const faults = names.map(name => findFaults(name, options));
  if (faults.every(ofOne => ofOne.length > 0))
    throw new Problem('INVALID_ARGUMENT', faults.flat().join('; '));
}

export function takesFormatOptions(name: FilesystemName, options: FormatOptions): boolean {
  return findFaults(name, options).length === 0;
}

function findFaults(name: FilesystemName, options: FormatOptions): readonly string[] {
  const rules: FilesystemRules = filesystemRules[name];
  const known = Object.keys(rules.options);
  const faults = Object.entries(options).flatMap(([key, value]) => {
    const rule = known.includes(key) ? rules.options[key] : undefined;
    if (!rule) return [`parameter "${key}" is not known for ${name}; there are ${known.join(', ')}`];
    return rule.accepts(value) ? [] : [`parameter "${key}" for ${name} is not ${rule.says}`];
  });
  const conflict = faults.length === 0 && rules.conflict?.(options);
  return conflict ? [`parameters for ${name}: ${conflict}`] : faults;
}

function oneOf(...words: readonly string[]): OptionRule {
  return { says: `one of ${words.join(', ')}`, accepts: value => words.includes(value) };
}

function within(min: number, max: number): OptionRule {
  const accepts = (value: string): boolean => /^[1-9]\d{0,8}$/.test(value) && +value >= min && +value <= max;
  return { says: `a whole number from ${min} to ${max}`, accepts };
}

function label(max: number): OptionRule {
  return {
    says: `a label of at most ${max} letters, digits, "-", "_" and ".", with a letter or digit at its start`,
    accepts: value => value.length <= max && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(value),
  };
}
