import * as z from 'zod';
import {
  asIs,
  count,
  duration,
  flag,
  group,
  named,
  nonRoot,
  podValues,
  serviceAccount,
  text,
  unprivileged,
} from './pod.ts';

const keySet = z.looseObject({ keys: z.array(z.looseObject({})) });

/** The values of the gateway, in this cluster or elsewhere. */
export const gateway = group('the gateway: a hosted one, or one in this cluster', {
  url: text(
    "address of the gateway, such as https://storage.example:7700; empty: the address of this release's gateway",
  ),
  allowHttp: flag('allow an http:// address, over which tokens are sent unencrypted', false),
  audience: text('audience of the tokens', 'fairlead'),
  enabled: flag('run the gateway in this cluster', false),
  node: text(
    'node with the disks of the pools; the gateway runs there, and volumes of these pools can be used only there',
  ),
  pools: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .default({})
    .describe('pools of the gateway, as in gateway.yaml'),
  clusters: z
    .record(
      z.string(),
      z.looseObject({
        keySet: keySet.optional(),
        serviceAccount: z.looseObject({ keySet: keySet.optional() }).optional(),
      }),
    )
    .default({})
    .describe(
      'clusters that may use the gateway, as in gateway.yaml, but with `keySet` (the public keys themselves) in place of `keys`, also in `serviceAccount`',
    ),
  operators: asIs('public keys of the operators (JWKS)'),
  keepDeleted: duration('time until a deleted volume is removed for good', '0s'),
  port: count('port of the API', 7700),
  metricsPort: count('port of health and metrics', 7701),
  tlsSecret: text('Secret with tls.crt and tls.key; empty: plain HTTP, only for use inside the cluster'),
  persistence: group('storage of the store', {
    storageClassName: text('StorageClass of the volume, of another driver; empty: the default class'),
    size: text('size of the volume', '1Gi'),
    existingClaim: text('existing claim to use'),
    hostPath: text('directory on the node to use; requires `node`'),
  }),
  ...podValues({
    memory: '128Mi',
    priorityClassName: 'system-cluster-critical',
    podSecurityContext: nonRoot,
    securityContext: unprivileged,
    graceSeconds: 30,
  }),
  annotations: named('annotations of the StatefulSet'),
  serviceAccount,
  serviceAnnotations: named('annotations of the Service'),
  serviceType: z
    .enum(['ClusterIP', 'NodePort', 'LoadBalancer'])
    .default('ClusterIP')
    .describe('type of the Service'),
});
