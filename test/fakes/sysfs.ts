import type { PathKind } from '../../node-agent/host.ts';
import { createFakeHost, type FakeHost } from './host.ts';
import type { ExtraTool } from './state.ts';

/** A fake machine whose kernel shows a tree of texts and accepts writes to it. */
export interface SysfsHost extends FakeHost {
  /** Shows a text at a path, and the directories above it. */
  put(path: string, text: string | number): void;
  /** Removes a path and everything below it. */
  drop(path: string): void;
  get(path: string): string | undefined;
  names(path: string): readonly string[];
  /** Commands by name, without a directory. */
  readonly tools: Map<string, ExtraTool>;
  /** Functions that handle writes to a matching path. */
  readonly writes: Map<RegExp, (match: RegExpExecArray, text: string) => void>;
  /** Every command that was run, with its arguments. */
  readonly lines: string[];
}

/** Creates a fake machine with an empty tree. */
export function createSysfsHost(): SysfsHost {
  const fake = createFakeHost();
  const tree = new Map<string, string>();
  const names = (path: string): readonly string[] => {
    const below = [...tree.keys()].filter(key => key.startsWith(`${path}/`));
    return [...new Set(below.map(key => key.slice(path.length + 1).split('/', 1)[0] ?? ''))];
  };
  const resolve = (path: string): string => {
    const [, number, rest] = /^\/sys\/dev\/block\/([^/]+)(\/.*)$/.exec(path) ?? [];
    if (rest === undefined) return path;
    const name = names('/sys/block').find(disk => tree.get(`/sys/block/${disk}/dev`)?.trim() === number);
    return `/sys/block/${name}${rest}`;
  };
  const kindOf = async (path: string): Promise<PathKind> => {
    const kind = await fake.kindOf(path);
    const real = resolve(path);
    if (tree.has(real)) return 'file';
    return names(real).length > 0 ? 'directory' : kind;
  };
  const tools = new Map<string, ExtraTool>();
  const writes: SysfsHost['writes'] = new Map();
  const write = ([, path = '']: readonly string[], input: string): number => {
    for (const [pattern, work] of writes) {
      const match = pattern.exec(resolve(path));
      if (!match) continue;
      work(match, input);
      return 0;
    }
    return 1;
  };
  tools.set('tee', write);
  tools.set('cat', ([, path = '']) => ({ stdout: tree.get(resolve(path)) ?? '' }));
  const lines: string[] = [];
  return {
    ...fake,
    get steps() {
      return fake.steps;
    },
    run: (command, args, options) => {
      const name = command.slice(command.lastIndexOf('/') + 1);
      lines.push([name, ...args].join(' '));
      const tool = tools.get(name);
      if (tool) fake.state.extra.set(name, tool);
      return fake.run(name, args, options);
    },
    readText: async path => (await fake.readText(path)) ?? tree.get(resolve(path)),
    list: async path => [...(await fake.list(path)), ...names(resolve(path))],
    kindOf,
    isThere: async path => (await kindOf(path)) !== 'nothing',
    put: (path, text) => void tree.set(path, `${text}\n`),
    drop: path => {
      for (const key of Array.from(tree.keys()))
        if (key === path || key.startsWith(`${path}/`)) tree.delete(key);
    },
    get: path => tree.get(path)?.trim(),
    names,
    tools,
    writes,
    lines,
  };
}

/** Mounts a device on a fake machine until the returned function is called. */
export function mountFake(host: SysfsHost, devicePath: string): () => void {
  const name = devicePath.slice('/dev/'.length);
  const device = host.get(`/sys/block/${name}/dev`) ?? '';
  const mount = { id: 9, parentId: 1, device, root: '/', path: '/mnt', options: ['rw'], type: 'ext4' };
  const { state } = host;
  state.mounts = [...state.mounts, { ...mount, source: devicePath, superOptions: ['rw'] }];
  return () => {
    state.mounts = state.mounts.filter(({ path }) => path !== '/mnt');
  };
}
