import { poll } from '../../../src/lib/concurrency.ts';
import { capture } from '../cluster/capture.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { waitFor } from '../cluster/wait.ts';
import type { Installation } from '../installation/installation.ts';

/** A namespace of Kubernetes for a single scenario. */
export interface Workspace {
  readonly name: string;
  readonly cluster: Cluster;
  /** Runs kubectl in the namespace and returns its output; rejects with its error output if it fails. */
  kubectl(...args: readonly string[]): Promise<string>;
  apply(...manifests: readonly object[]): Promise<void>;
  /** Resolves once these pods are ready. */
  untilReady(...pods: readonly string[]): Promise<void>;
  /** Resolves once kubectl reads a matching text at a path of an object, such as `claim/data` and `{.status.phase}`. */
  untilReads(object: string, path: string, expected: RegExp): Promise<string>;
  /** Resolves with the events of an object once one matches. */
  untilEvent(object: string, expected: RegExp): Promise<string>;
  /** Runs a command in a pod and returns its output. */
  exec(pod: string, ...argv: readonly string[]): Promise<string>;
  /** Deletes objects, such as `pod/one`, and waits until they are gone. */
  remove(...objects: readonly string[]): Promise<void>;
}

/** The measurements of a scenario in milliseconds, by name. */
export type Figures = Readonly<Record<string, number>>;

/** Actions of a user by the sentence that describes them; returned figures are printed. */
export type Scenarios<T = Installation> = Readonly<
  Record<string, (installation: T) => Promise<Figures | void>>
>;

/**
 * Runs work in a namespace of its own, and deletes the namespace afterwards; a failure is reported with the namespace's
 * events.
 */
export async function inWorkspace<T>(
  cluster: Cluster,
  name: string,
  work: (workspace: Workspace) => Promise<T>,
): Promise<T> {
  await cluster.kubectl('create', 'namespace', name);
  const workspace = openWorkspace(cluster, name);
  await waitFor('the service account', () => workspace.kubectl('get', 'serviceaccount', 'default'));
  const result = await work(workspace).catch(async (error: unknown) => {
    const events = await workspace.kubectl('get', 'events,pods,pvc').catch(() => '');
    throw new Error(`in namespace ${name} of cluster ${cluster.number}:\n${events}`, { cause: error });
  });
  await cluster.kubectl('delete', 'namespace', name, '--timeout=180s');
  return result;
}

/** Opens a namespace that exists. */
export function openWorkspace(cluster: Cluster, name: string): Workspace {
  const kubectl = (...args: readonly string[]) => cluster.kubectl('--namespace', name, ...args);
  const read = (object: string, path: string) => kubectl('get', object, '--output', `jsonpath=${path}`);
  return {
    name,
    cluster,
    kubectl,
    async apply(...manifests) {
      const list = { apiVersion: 'v1', kind: 'List', items: manifests };
      const argv = cluster.commandLine(['--namespace', name, 'apply', '--filename', '-']);
      await capture(argv, JSON.stringify(list));
    },
    async untilReady(...pods) {
      const objects = pods.map(pod => `pod/${pod}`);
      await kubectl('wait', '--for=condition=Ready', ...objects, '--timeout=180s');
    },
    untilReads: (object, path, expected) => until(`${path} of ${object}`, () => read(object, path), expected),
    untilEvent(object, expected) {
      const events = () => kubectl('events', '--for', object, '--output', 'jsonpath={.items[*].message}');
      return until(`an event of ${object}`, events, expected);
    },
    exec: (pod, ...argv) => kubectl('exec', pod, '--', ...argv),
    async remove(...objects) {
      await kubectl('delete', ...objects, '--timeout=180s');
    },
  };
}

/** Each look costs a process that loads a lot of code, so the interval is long. */
async function until(what: string, look: () => Promise<string>, expected: RegExp): Promise<string> {
  let last = '';
  const isSeen = async () => {
    last = await look().catch(String);
    return expected.test(last) || undefined;
  };
  if (await poll(isSeen, { everyMs: 500, timeoutMs: 180_000 })) return last;
  throw new Error(`waited in vain for ${what}; saw "${last}"`);
}
