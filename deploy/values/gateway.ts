import { z } from 'zod';
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

/** Where the gateway is, or that it runs in this cluster. */
export const gateway = group('the gateway: where it is, or that it runs here', {
  url: text('its address, such as https://storage.example:7700; empty: that of the gateway of this release'),
  allowHttp: flag('whether its address may be http://, over which tokens go unencrypted', false),
  audience: text("the tokens' audience", 'fairlead'),
  enabled: flag('whether it runs in this cluster', false),
  node: text(
    'the node with the disks of its pools: it runs there, and volumes of those pools are used there',
  ),
  pools: z
    .record(z.string(), z.record(z.string(), z.unknown()))
    .default({})
    .describe('its pools, as in gateway.yaml'),
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
      'who may call, as in gateway.yaml, with `keySet`, the public keys, in place of `keys`, also in `serviceAccount`',
    ),
  operators: asIs('the public keys (JWKS) of operators'),
  keepDeleted: duration('how long a deleted volume can be restored', '0s'),
  port: count('its port', 7700),
  metricsPort: count('the port of its health and metrics', 7701),
  tlsSecret: text('a Secret with tls.crt and tls.key; empty: plain HTTP, inside the cluster alone'),
  persistence: group('where its store is', {
    storageClassName: text('the class of its volume, of another driver; empty: the default class'),
    size: text("its volume's size", '1Gi'),
    existingClaim: text('a claim to use'),
    hostPath: text('a directory of the node to use, with `node`'),
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
  serviceAnnotations: named('annotations of its Service'),
  serviceType: z
    .enum(['ClusterIP', 'NodePort', 'LoadBalancer'])
    .default('ClusterIP')
    .describe('the kind of its Service'),
});
