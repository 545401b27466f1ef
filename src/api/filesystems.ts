import { Problem } from './problem.ts';

/** What an option may be: in words, and as a test. */
type OptionRule = { readonly says: string; readonly accepts: (value: string) => boolean };

/** The options for a new filesystem of one kind. */
type FilesystemRules = {
  readonly options: Readonly<Record<string, OptionRule>>;
  /** Why options that are right one by one cannot be had together; undefined when they can. */
  readonly conflict?: (options: FormatOptions) => string | undefined;
};

/** Options for a new filesystem by name, such as `fs.blockSize`. They go to mkfs alone: a filesystem that is there stays as it is. */
export type FormatOptions = Readonly<Record<string, string>>;

/** Every filesystem that nodes make, with the options that parameters may hold for it, as mkfs gets them. */
export const filesystemRules = {
  ext4: {
    options: {
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
      'fs.blockSize': oneOf('1024', '2048', '4096'),
      'fs.inodeSize': oneOf('512', '1024', '2048'),
      'fs.label': label(12),
    },
    conflict: ({ 'fs.blockSize': block = '4096', 'fs.inodeSize': inode = '512' }) =>
      Number(inode) * 2 > Number(block) ? 'fs.inodeSize is more than half of fs.blockSize' : undefined,
  },
  btrfs: {
    options: {
      'fs.nodeSize': oneOf('4096', '8192', '16384', '32768', '65536'),
      'fs.checksum': oneOf('crc32c', 'xxhash', 'sha256', 'blake2'),
      'fs.label': label(64),
    },
  },
} as const satisfies Record<string, FilesystemRules>;

/** The name of a filesystem that nodes make. */
export type FilesystemName = keyof typeof filesystemRules;

/** The names of all filesystems that nodes make. */
export const filesystemNames = Object.keys(filesystemRules) as readonly FilesystemName[];

/** True for the name of a filesystem that nodes make. */
export function isFilesystemName(name: string): name is FilesystemName {
  return Object.hasOwn(filesystemRules, name);
}

/** The options for a new filesystem among a volume's parameters, or in its context. */
export function formatOptionsOf(map: Readonly<Record<string, string>>): FormatOptions {
  return Object.fromEntries(Object.entries(map).filter(([key]) => key.startsWith('fs.')));
}

/** How nodes can encrypt what a volume holds, by the value of its parameter `encryption`. */
const encryptions = ['luks'] as const;

/** How nodes encrypt what a volume holds. */
export type Encryption = (typeof encryptions)[number];

/** How nodes encrypt a volume with these parameters; undefined: not at all. INVALID_ARGUMENT for what they do not know. */
export function encryptionOf({ encryption }: Readonly<Record<string, string>> = {}): Encryption | undefined {
  const known = encryptions.find(one => one === encryption);
  if (known === encryption) return known;
  throw new Problem('INVALID_ARGUMENT', `parameter "encryption" is not ${encryptions.join(' or ')}`);
}

/** True for a parameter of a volume that is for the nodes, and not for its pool. */
export function isForNodes(parameter: string): boolean {
  return parameter.startsWith('fs.') || parameter === 'encryption';
}

/** INVALID_ARGUMENT that says all that is wrong with the options for the filesystem; without one, for each of them. */
export function requireFormatOptions(options: FormatOptions, filesystem?: FilesystemName): void {
  const names = filesystem === undefined ? filesystemNames : [filesystem];
  const faults = names.map(name => findFaults(name, options));
  if (faults.every(ofOne => ofOne.length > 0))
    throw new Problem('INVALID_ARGUMENT', faults.flat().join('; '));
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

function within(least: number, most: number): OptionRule {
  const accepts = (value: string): boolean =>
    /^[1-9]\d{0,8}$/.test(value) && +value >= least && +value <= most;
  return { says: `a whole number from ${least} to ${most}`, accepts };
}

function label(most: number): OptionRule {
  return {
    says: `of at most ${most} letters, digits, "-", "_" and ".", with a letter or digit at its start`,
    accepts: value => value.length <= most && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(value),
  };
}
