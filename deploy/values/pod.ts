import * as z from 'zod';
import { logLevels } from '../../src/lib/log.ts';

/** An object that Kubernetes, not the chart, checks against its schema. */
const object = z.record(z.string(), z.unknown());
const objects = z.array(object);
/** A map of texts, such as labels, annotations or parameters. */
export const texts = z.record(z.string(), z.string());

/** Makes a value that is copied into a manifest unchanged. */
export const asIs = (doc: string, value: Readonly<Record<string, unknown>> = {}) =>
  object.default(value).describe(doc);
/** Makes a list that is copied into a manifest unchanged. */
export const listAsIs = (doc: string, value: Record<string, unknown>[] = []) =>
  objects.default(value).describe(doc);
/** Makes a map of texts, empty by default. */
export const named = (doc: string) => texts.default({}).describe(doc);
/** Makes a text, empty by default. */
export const text = (doc: string, value = '') => z.string().default(value).describe(doc);
export const flag = (doc: string, value: boolean) => z.boolean().default(value).describe(doc);
/** Makes a whole number from 0 on. */
export const count = (doc: string, value: number) => z.int().min(0).default(value).describe(doc);
/** Makes a list of texts, empty by default. */
export const list = (doc: string, value: string[] = []) => z.array(z.string()).default(value).describe(doc);
/** Makes a duration in the notation of Go and Fairlead, such as 30s. */
export const duration = (doc: string, value: string) =>
  z
    .string()
    .regex(/^(\d+(ms|s|m|h))?$/)
    .default(value)
    .describe(doc);

/** Makes a group of values below one name, each with its default. */
export const group = <T extends z.core.$ZodLooseShape>(doc: string, members: T) =>
  z
    .strictObject(members)
    .prefault({} as never)
    .describe(doc);

export const image = (repository: string, tag: string) =>
  group('container image; a digest wins over a tag', {
    repository: text('repository of the image', repository),
    tag: text("tag of the image; empty: the chart's appVersion", tag),
    digest: text('digest of the image, such as sha256:…'),
    pullPolicy: z
      .enum(['Always', 'IfNotPresent', 'Never'])
      .default('IfNotPresent')
      .describe('pull policy of the image'),
  });

/** The security context of a container without rights. */
export const unprivileged = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/** The pod security context of the gateway and the controller: a user without rights. */
export const nonRoot = {
  runAsNonRoot: true,
  runAsUser: 65532,
  runAsGroup: 65532,
  fsGroup: 65532,
  seccompProfile: { type: 'RuntimeDefault' },
};

/** Makes the values that every container has. */
export const containerValues = (securityContext: Readonly<Record<string, unknown>>, memory: string) => ({
  resources: asIs('resource requests and limits', { requests: { cpu: '10m', memory } }),
  securityContext: asIs('security context of the container', securityContext),
  extraArgs: list('more arguments'),
  extraEnv: listAsIs('more environment variables, as in a container'),
});

type PodDefaults = {
  readonly memory: string;
  readonly priorityClassName: string;
  readonly podSecurityContext: Readonly<Record<string, unknown>>;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly tolerations?: Record<string, unknown>[];
  readonly hostNetwork?: boolean;
  readonly graceSeconds: number;
};

/** Makes the values that each of the three pods has. */
export const podValues = (defaults: PodDefaults) => ({
  logLevel: z
    .enum(['', ...logLevels])
    .default('')
    .describe('min level of log messages; empty: as `logLevel`'),
  ...containerValues(defaults.securityContext, defaults.memory),
  extraEnvFrom: listAsIs('ConfigMaps and Secrets with more environment variables'),
  extraVolumes: listAsIs('more volumes of the pod'),
  extraVolumeMounts: listAsIs('mounts of `extraVolumes`'),
  podLabels: named('more labels of the pod'),
  podAnnotations: named('annotations of the pod'),
  podSecurityContext: asIs('security context of the pod', defaults.podSecurityContext),
  hostNetwork: flag("use the node's network", defaults.hostNetwork ?? false),
  dnsPolicy: text(
    "DNS policy of the pod; empty: Kubernetes' default, or ClusterFirstWithHostNet on the host network",
  ),
  nodeSelector: named('labels of the nodes that may run the pod'),
  tolerations: listAsIs('taints that the pod tolerates', defaults.tolerations ?? []),
  affinity: asIs('affinity of the pod'),
  priorityClassName: text('priority class of the pod', defaults.priorityClassName),
  terminationGracePeriodSeconds: count('time that the pod has to end, in seconds', defaults.graceSeconds),
});

/** The values of a pod's service account. */
export const serviceAccount = group('service account of the pod', {
  create: flag('create the service account', true),
  name: text('name of the service account; empty: a name made from the release'),
  annotations: named('annotations of the service account'),
});

/** The values of the PodDisruptionBudget of a part with replicas. */
export const disruptionBudget = (part: string) =>
  group(`PodDisruptionBudget of the ${part}`, {
    enabled: flag('create the PodDisruptionBudget', true),
    maxUnavailable: z
      .union([z.int(), z.string()])
      .default(1)
      .describe('max replicas that may be evicted at a time'),
  });
