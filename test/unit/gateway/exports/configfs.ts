import type { ConfigTree } from '../../../../gateway/local/kernel/configfs.ts';

/** The content of a new directory: attributes with their values, and directories, which end with a slash. */
type Defaults = Readonly<Record<string, string>>;

const rows: readonly (readonly [RegExp, Defaults])[] = [
  [/nvmet\/subsystems\/[^/]+$/, { attr_allow_any_host: '0', 'namespaces/': '', 'allowed_hosts/': '' }],
  [
    /namespaces\/\d+$/,
    { enable: '0', device_path: '', device_uuid: '', buffered_io: '0', revalidate_size: '' },
  ],
  [
    /nvmet\/ports\/\d+$/,
    { addr_adrfam: '', addr_trtype: '', addr_traddr: '', addr_trsvcid: '', 'subsystems/': '' },
  ],
  [
    /core\/fileio_\d+\/[^/]+$/,
    {
      control: '',
      enable: '0',
      'wwn/': '',
      'wwn/vpd_unit_serial': 'T10 VPD Unit Serial Number: ',
      'attrib/': '',
      'attrib/emulate_tpu': '0',
    },
  ],
  [
    /tpgt_1$/,
    {
      enable: '0',
      'lun/': '',
      'np/': '',
      'attrib/': '',
      'attrib/authentication': '0',
      'attrib/generate_node_acls': '0',
      'attrib/cache_dynamic_acls': '0',
      'attrib/demo_mode_write_protect': '1',
      'auth/': '',
      'auth/userid': '',
      'auth/password': '',
      'auth/userid_mutual': '',
      'auth/password_mutual': '',
    },
  ],
];
const keys: Defaults = { dhchap_key: '', dhchap_ctrl_key: '' };

type Entry =
  | { readonly kind: 'directory'; readonly isDefault: boolean }
  | { readonly kind: 'attribute'; value: string; isSecret: boolean }
  | { readonly kind: 'link'; readonly target: string };

/**
 * Creates a tree that behaves like the kernel's targets, as far as exports depend on it; calls `step` before each
 * change.
 */
export function createConfigTree({ hasKeys = false, step = (): void => {} } = {}) {
  const entries = new Map<string, Entry>();
  const root = '/sys/kernel/config';
  for (const path of [
    '',
    '/nvmet',
    '/nvmet/subsystems',
    '/nvmet/hosts',
    '/nvmet/ports',
    '/target',
    '/target/core',
  ])
    entries.set(root + path, { kind: 'directory', isDefault: true });

  const below = (path: string): readonly string[] =>
    [...entries.keys()].filter(other => other.startsWith(`${path}/`));
  const requireParent = (path: string): void => {
    if (entries.get(parentOf(path))?.kind !== 'directory') fail('ENOENT', path);
  };

  function fill(path: string): void {
    const defaults = rows.find(([pattern]) => pattern.test(path))?.[1] ?? {};
    const all = /nvmet\/hosts\/[^/]+$/.test(path) && hasKeys ? keys : defaults;
    for (const [name, value] of Object.entries(all))
      if (name.endsWith('/'))
        entries.set(`${path}/${name.slice(0, -1)}`, { kind: 'directory', isDefault: true });
      else entries.set(`${path}/${name}`, { kind: 'attribute', value, isSecret: false });
  }

  function write(path: string, value: string, isSecret = false): void {
    step();
    const entry = entries.get(path);
    if (entry?.kind !== 'attribute') return fail('ENOENT', path);
    const isOn = tree.read(`${parentOf(path)}/enable`) === '1';
    if (isOn && /device_(path|uuid)$|buffered_io$/.test(path)) fail('EBUSY', path);
    // A write to it is a command, and not a value.
    entry.value = path.endsWith('/revalidate_size') ? 'a new size' : value;
    entry.isSecret ||= isSecret;
  }

  const tree: ConfigTree = {
    list: path =>
      below(path)
        .map(other => other.slice(path.length + 1))
        .filter(name => !name.includes('/')),
    read(path) {
      const entry = entries.get(path);
      return entry?.kind === 'attribute' ? entry.value : undefined;
    },
    write,
    writeSecret: (path, value) => write(path, value, true),
    create(path) {
      step();
      requireParent(path);
      if (entries.has(path)) return;
      entries.set(path, { kind: 'directory', isDefault: false });
      fill(path);
    },
    createApart: async path => tree.create(path),
    async link(target, path) {
      step();
      requireParent(path);
      if (!entries.has(target)) fail('ENOENT', target);
      if (!entries.has(path)) entries.set(path, { kind: 'link', target });
    },
    writeSlowly: async (path, value) => write(path, value),
    async unlink(path) {
      step();
      entries.delete(path);
    },
    async remove(path) {
      step();
      if (!entries.has(path)) return;
      if (below(path).some(other => isHeld(entries.get(other)))) fail('ENOTEMPTY', path);
      if ([...entries.values()].some(other => other.kind === 'link' && other.target === path))
        fail('EBUSY', path);
      for (const other of [path, ...below(path)]) entries.delete(other);
    },
    requireFree() {},
  };
  return {
    tree,
    /**
     * Lists the existing paths that exports made, except shared ones: ports, the fabric, and the directory of a pool's
     * stores.
     */
    made: (): readonly string[] =>
      [...entries].flatMap(([path, entry]) =>
        entry.kind === 'attribute' ||
        (entry.kind === 'directory' && entry.isDefault) ||
        /ports\/\d+$|target\/iscsi$|fileio_\d+$/.test(path)
          ? []
          : path.slice(root.length),
      ),
    /** Lists the attributes with a value that users other than root may read. */
    open: (): string =>
      [...entries.values()]
        .flatMap(entry => (entry.kind === 'attribute' && !entry.isSecret ? entry.value : []))
        .join('\n'),
    valuesOf: (name: string): readonly string[] =>
      [...entries].flatMap(([path, entry]) =>
        entry.kind === 'attribute' && path.endsWith(`/${name}`) ? entry.value : [],
      ),
    secrets: (): readonly string[] =>
      [...entries.values()].flatMap(entry =>
        entry.kind === 'attribute' && entry.isSecret ? entry.value : [],
      ),
  };
}

function fail(code: string, path: string): never {
  throw Object.assign(new Error(`${code}: ${path}`), { code });
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

function isHeld(entry?: Entry): boolean {
  return entry?.kind === 'link' || (entry?.kind === 'directory' && !entry.isDefault);
}
