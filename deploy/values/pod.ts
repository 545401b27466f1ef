import { z } from 'zod';
import { logLevels } from '../../src/lib/log.ts';

/** Anything that Kubernetes' own schema says better. */
const object = z.record(z.string(), z.unknown());
const objects = z.array(object);
/** Labels, annotations, parameters: names with texts. */
export const texts = z.record(z.string(), z.string());

/** A value that goes into a manifest as it stands. */
export const asIs = (doc: string, value: Readonly<Record<string, unknown>> = {}) =>
  object.default(value).describe(doc);
/** A list that goes into a manifest as it stands. */
export const listAsIs = (doc: string, value: Record<string, unknown>[] = []) =>
  objects.default(value).describe(doc);
/** Names with texts, none by default. */
export const named = (doc: string) => texts.default({}).describe(doc);
/** A text, empty by default. */
export const text = (doc: string, value = '') => z.string().default(value).describe(doc);
/** A switch. */
export const flag = (doc: string, value: boolean) => z.boolean().default(value).describe(doc);
/** A whole number. */
export const count = (doc: string, value: number) => z.int().min(0).default(value).describe(doc);
/** Texts in a list, none by default. */
export const list = (doc: string, value: string[] = []) => z.array(z.string()).default(value).describe(doc);
/** How long, as Go and Fairlead write it. */
export const duration = (doc: string, value: string) =>
  z
    .string()
    .regex(/^(\d+(ms|s|m|h))?$/)
    .default(value)
    .describe(doc);

/** Values below one name, each with its default. */
export const group = <T extends z.core.$ZodLooseShape>(doc: string, members: T) =>
  z
    .strictObject(members)
    .prefault({} as never)
    .describe(doc);

/** An image, by its digest where there is one. */
export const image = (repository: string, tag: string) =>
  group('the image; a digest wins over a tag', {
    repository: text('where it is', repository),
    tag: text("its tag; empty: the chart's appVersion", tag),
    digest: text('its digest, such as sha256:…'),
    pullPolicy: z
      .enum(['Always', 'IfNotPresent', 'Never'])
      .default('IfNotPresent')
      .describe('when it is pulled'),
  });

/** What a container without rights has. */
export const unprivileged = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};

/** The user without rights as whom the gateway and the controller run. */
export const nonRoot = {
  runAsNonRoot: true,
  runAsUser: 65532,
  runAsGroup: 65532,
  fsGroup: 65532,
  seccompProfile: { type: 'RuntimeDefault' },
};

/** What every container has. */
export const containerValues = (securityContext: Readonly<Record<string, unknown>>, memory: string) => ({
  resources: asIs('what it requests, and its limits', { requests: { cpu: '10m', memory } }),
  securityContext: asIs("the container's security context", securityContext),
  extraArgs: list('more arguments'),
  extraEnv: listAsIs('more variables, as in a container'),
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

/** What every one of the three pods has. */
export const podValues = (defaults: PodDefaults) => ({
  logLevel: z
    .enum(['', ...logLevels])
    .default('')
    .describe('the least level of what it logs; empty: as `logLevel`'),
  ...containerValues(defaults.securityContext, defaults.memory),
  extraEnvFrom: listAsIs('ConfigMaps and Secrets with more variables'),
  extraVolumes: listAsIs('more volumes of the pod'),
  extraVolumeMounts: listAsIs('where they are mounted'),
  podLabels: named('more labels of the pod'),
  podAnnotations: named('annotations of the pod'),
  podSecurityContext: asIs("the pod's security context", defaults.podSecurityContext),
  hostNetwork: flag("whether it has the node's network", defaults.hostNetwork ?? false),
  dnsPolicy: text('how it finds names; empty: as Kubernetes sets it'),
  nodeSelector: named('labels of the nodes on which it runs'),
  tolerations: listAsIs('taints that it tolerates', defaults.tolerations ?? []),
  affinity: asIs('where it runs rather'),
  priorityClassName: text('its priority class', defaults.priorityClassName),
  terminationGracePeriodSeconds: count('how long it may take to end', defaults.graceSeconds),
});

/** The account of a pod. */
export const serviceAccount = group('its service account', {
  create: flag('whether the chart makes it', true),
  name: text('its name; empty: one made of the release'),
  annotations: named('its annotations'),
});
