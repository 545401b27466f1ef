import type { Host } from '../host.ts';

/** Prerequisites: a program, a kernel module, and a listening service. */
export type Needs = {
  readonly tool?: string;
  /** The module's name in sysfs, with underscores. */
  readonly module?: string;
  /** The service's UNIX socket in the spelling of /proc/net/unix. */
  readonly socket?: string;
};

/** Describes the first missing prerequisite; undefined if none is missing. Starts and loads nothing. */
export async function findReason({ tool, module, socket }: Needs, host: Host): Promise<string | undefined> {
  if (tool !== undefined && !(await isInstalled(tool, host)))
    return `"${tool}" is not installed on this node`;
  if (module !== undefined && !(await hasModule(module, host)))
    return `the kernel of this node has no module "${module}", neither loaded nor in /lib/modules`;
  if (socket !== undefined && !(await isListening(socket, host))) return `nothing listens on "${socket}"`;
  return undefined;
}

export async function isInstalled(tool: string, host: Host): Promise<boolean> {
  for (const directory of new Set((process.env['PATH'] ?? '').split(':')))
    if (directory.startsWith('/') && (await host.isThere(`${directory}/${tool}`))) return true;
  return false;
}

async function hasModule(name: string, host: Host): Promise<boolean> {
  if (await host.isThere(`/sys/module/${name}`)) return true;
  const release = (await host.readText('/proc/sys/kernel/osrelease'))?.trim();
  // File names of modules may have hyphens in place of underscores.
  const pattern = new RegExp(`/${name.replaceAll('_', '[-_]')}\\.ko`, 'm');
  for (const list of ['modules.builtin', 'modules.dep'])
    if (pattern.test((await host.readText(`/lib/modules/${release}/${list}`)) ?? '')) return true;
  return false;
}

async function isListening(socket: string, host: Host): Promise<boolean> {
  const lines = ((await host.readText('/proc/net/unix')) ?? '').split('\n');
  return lines.some(line => line.endsWith(` ${socket}`));
}
