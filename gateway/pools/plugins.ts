// A namespace import, because other runtimes do not have `registerHooks`. They do not need it.
import * as modules from 'node:module';
import { pathToFileURL } from 'node:url';
import type { Segments } from '../../src/api/topology.ts';
import { suggest } from '../../src/lib/words/suggest.ts';
import type { AttachmentBounds, BackendPlugin } from '../backend.ts';
import type { Bounds } from '../scheduling/limit.ts';

export type Plugins = Readonly<Record<string, BackendPlugin>>;

/** The backends, and the reason for each name that has none. */
export type FoundPlugins = { readonly plugins: Plugins; readonly faults: ReadonlyMap<string, string> };

/** The checked entry of a pool: its backend, its topology, and the backend's own settings. */
export type PoolEntry = {
  readonly backend: string;
  readonly topology: Segments | undefined;
  /** The number of operations that it gets at a time. */
  readonly concurrency: Bounds;
  /** The operator's bounds of its attachments. */
  readonly attachments?: AttachmentBounds;
  /** Its deleted volumes can be restored for this time, in milliseconds; absent: for the gateway's time. */
  readonly keepDeletedMs?: number;
  readonly settings: unknown;
};

const packageName = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/;

/**
 * Finds the built-in backends and the backends of npm packages. A package is looked up from the directory, then from
 * the working directory, and its export `backend` is the plug-in. Its code has all rights of this process.
 */
export async function findPlugins(
  known: Plugins,
  names: readonly string[],
  directory: string,
): Promise<FoundPlugins> {
  const faults = new Map<string, string>();
  const missing = new Set(names.filter(name => !Object.hasOwn(known, name)));
  const found = await Promise.all(
    [...missing].map(async name => {
      try {
        return [[name, await loadPackage(name, [directory, process.cwd()])] as const];
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        const there = Object.keys(known).join(', ');
        faults.set(
          name,
          `"${name}" is neither a built-in backend (${there}) nor a package with a backend${suggest(name, Object.keys(known))}: ${reason}`,
        );
        return [];
      }
    }),
  );
  return { plugins: { ...known, ...Object.fromEntries(found.flat()) }, faults };
}

/** Finds the backend of this name among these; a pool may name anything. */
export function pluginOf(plugins: Plugins, name: unknown): BackendPlugin | undefined {
  return Object.hasOwn(plugins, String(name)) ? plugins[String(name)] : undefined;
}

async function loadPackage(name: string, directories: readonly string[]): Promise<BackendPlugin> {
  if (!packageName.test(name)) throw new Error('it is not the name of a package');
  const urls = directories.map(directory => resolvePackage(name, directory));
  const url = urls.find(one => one !== undefined);
  if (url === undefined)
    throw new Error(`no such package is installed at ${[...new Set(directories)].join(' or ')}`);
  const { backend } = (await import(url)) as { readonly backend?: unknown };
  if (!isPlugin(backend)) throw new Error('its export "backend" has no "settings" and "open"');
  return backend;
}

/** Resolves the package as an import in a file of the directory would; undefined if it is not installed. */
function resolvePackage(name: string, directory: string): string | undefined {
  const parentURL = pathToFileURL(`${directory}/`).href;
  const hooks = modules.registerHooks({
    resolve: (specifier, context, next) => next(specifier, { ...context, parentURL }),
  });
  try {
    return import.meta.resolve(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return undefined;
    throw error;
  } finally {
    hooks.deregister();
  }
}

function isPlugin(value: unknown): value is BackendPlugin {
  const { settings, open } = Object(value) as Partial<BackendPlugin>;
  return typeof settings?.safeParse === 'function' && typeof open === 'function';
}
