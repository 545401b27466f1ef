import * as z from 'zod';
import {
  asIs,
  count,
  disruptionBudget,
  duration,
  flag,
  group,
  list,
  listAsIs,
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
  operatorsOidc: z
    .looseObject({ keySet: keySet.optional() })
    .default({})
    .describe(
      "operators with an account at an OpenID provider, as `oidc` in gateway.yaml, but with `keySet` (the provider's public keys) in place of `keys`; without `keySet`: the keys that the provider publishes",
    ),
  keepDeleted: duration('time until a deleted volume is removed for good', '0s'),
  port: count('port of the API', 7700),
  metricsPort: count('port of health and metrics', 7701),
  tlsSecret: text('Secret with tls.crt and tls.key; empty: plain HTTP, only for use inside the cluster'),
  clientCaSecret: text(
    'Secret with ca.crt: every client must have a certificate by one of these authorities, beside its token; requires `tlsSecret`',
  ),
  keySecret: text(
    'Secret with keys.json, the private keys that all replicas sign with (`fairlead enroll gateway`); required with `store.postgres`; empty: a key beside the SQLite file',
  ),
  replicas: count('number of replicas; more than 1 requires `store.postgres`', 1),
  store: group('the store', {
    postgres: group('a PostgreSQL database in place of the SQLite file in `persistence`', {
      urlSecret: text(
        "Secret with the database's connection URL, such as the one that CloudNativePG makes; empty: SQLite",
      ),
      urlKey: text('key of the Secret that holds the URL', 'uri'),
      caSecret: text(
        "Secret with ca.crt, the authority of the database's certificate; the connections are then encrypted and verified; empty: as the URL says",
      ),
    }),
    upgrade: flag(
      'upgrade the store of an older release: all replicas end before a new one starts. Otherwise a new replica does not start with such a store, and the old replicas continue',
      false,
    ),
  }),
  persistence: group('storage of the SQLite file', {
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
    graceSeconds: 75,
  }),
  annotations: named('annotations of the StatefulSet or Deployment'),
  preStopSeconds: count(
    'time between the removal of a replica from the Service and its SIGTERM, in seconds; after it, running calls have until 5 seconds before the end of `terminationGracePeriodSeconds`',
    5,
  ),
  topologySpreadConstraints: listAsIs(
    'spread of the replicas; empty: evenly over nodes, and over zones if possible',
  ),
  updateStrategy: asIs(
    'update strategy of the Deployment; empty: a new replica is ready before an old one ends',
  ),
  podDisruptionBudget: disruptionBudget('gateway'),
  ingress: group('Ingress, which ends TLS', {
    host: text('name of the host, such as storage.example; empty: no Ingress'),
    className: text('class of the Ingress'),
    tlsSecret: text("Secret with the host's certificate; empty: the default certificate of the class"),
    annotations: named('annotations of the Ingress'),
  }),
  httpRoute: group('HTTPRoute of the Gateway API, for a listener that ends TLS', {
    parentRefs: listAsIs('listeners, as in an HTTPRoute; empty: no HTTPRoute'),
    hostnames: list('names of the host'),
    timeout: duration('time limit of a request; 0s: none', '0s'),
    annotations: named('annotations of the HTTPRoute'),
  }),
  serviceAccount,
  serviceAnnotations: named('annotations of the Service'),
  serviceType: z
    .enum(['ClusterIP', 'NodePort', 'LoadBalancer'])
    .default('ClusterIP')
    .describe('type of the Service'),
});
