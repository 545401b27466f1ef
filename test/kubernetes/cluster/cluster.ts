import { join } from 'node:path';
import { capture } from './capture.ts';
import { startControlPlane, type ControlPlane } from './control-plane.ts';
import { makeCredentials, type Credentials } from './credentials.ts';
import type { Site } from './site.ts';
import { waitFor } from './wait.ts';

/** A Kubernetes cluster in a site. */
export interface Cluster {
  readonly number: number;
  readonly site: Site;
  readonly credentials: Credentials;
  readonly controlPlane: ControlPlane;
  /** The directory of Kubernetes' own programs. */
  readonly programs: string;
  /** Makes the command line of kubectl as the cluster's administrator. */
  commandLine(args: readonly string[]): readonly string[];
  /** Runs kubectl as the cluster's administrator and returns its output; rejects with its error output if it fails. */
  kubectl(...args: readonly string[]): Promise<string>;
  apply(...manifests: readonly object[]): Promise<void>;
}

/**
 * A cluster's number within its site, from 1, the names of the nodes that may join it, and the directory of Kubernetes'
 * own programs, by default the site's.
 */
export type ClusterPlan = {
  readonly number: number;
  readonly nodes: readonly string[];
  readonly programs?: string;
  /** The time until a silent node counts as not ready; by default short. */
  readonly nodeGraceSeconds?: number;
};

/** Starts a cluster without nodes; resolves once its API server answers. */
export async function startCluster(site: Site, plan: ClusterPlan): Promise<Cluster> {
  const { number, nodes, programs = site.bin, nodeGraceSeconds = 20 } = plan;
  const credentials = makeCredentials(join(site.directory, `cluster-${number}`), number, nodes);
  const controlPlane = await startControlPlane(site, { number, programs }, credentials);
  const commandLine = (args: readonly string[]) =>
    site.namespace.enter([
      join(site.bin, 'kubectl'),
      '--kubeconfig',
      credentials.kubeconfigOf('admin'),
      ...args,
    ]);
  const kubectl = (...args: readonly string[]) => capture(commandLine(args));
  await waitFor('the API server', () => kubectl('get', '--raw', '/readyz'), controlPlane.apiServer);
  controlPlane.startControllers(nodeGraceSeconds);
  return {
    number,
    site,
    credentials,
    controlPlane,
    programs,
    commandLine,
    kubectl,
    async apply(...manifests) {
      const list = { apiVersion: 'v1', kind: 'List', items: manifests };
      await capture(commandLine(['apply', '--filename', '-']), JSON.stringify(list));
    },
  };
}
