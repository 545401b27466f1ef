import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { parseArgs, promisify } from 'node:util';
import {
  Client,
  credentials,
  Server,
  ServerCredentials,
  status,
  type ServerWritableStream,
} from '@grpc/grpc-js';
import {
  callStream,
  findSnapshot,
  loadService,
  loadSnapshotMetadata,
  openApiServer,
  snapshots,
  type ApiServer,
} from './api.ts';

/** The flags that the chart gives the sidecar; like the sidecar, the stand-in ends on any other. */
const options = {
  'csi-address': { type: 'string', default: '' },
  'http-endpoint': { type: 'string', default: '' },
  port: { type: 'string', default: '' },
  'tls-cert': { type: 'string', default: '' },
  'tls-key': { type: 'string', default: '' },
  audience: { type: 'string', default: '' },
  'kube-api-qps': { type: 'string' },
  'kube-api-burst': { type: 'string' },
  timeout: { type: 'string' },
  v: { type: 'string' },
} as const;

type Request = {
  readonly security_token: string;
  readonly namespace: string;
  readonly snapshot_name?: string;
  readonly base_snapshot_id?: string;
  readonly target_snapshot_name?: string;
  readonly starting_offset: string;
  readonly max_results: number;
};
type Stream = ServerWritableStream<Request, object>;

/** The user of a token, as a TokenReview describes it. */
type Review = {
  readonly status: {
    readonly authenticated?: boolean;
    readonly audiences?: readonly string[];
    readonly user: { readonly username: string } & Readonly<Record<string, unknown>>;
  };
};

/**
 * Stands in for the sidecar external-snapshot-metadata, because not every machine can get its image. It takes the same
 * flags, serves the same API over TLS, asks the API server for the same reviews, and calls the driver in the same way.
 * It has no metrics and no time limits.
 */
async function main(argv: readonly string[]): Promise<void> {
  const { values: flags } = parseArgs({ args: [...argv], options });
  const api = await openApiServer();
  const csi = new Client(`unix://${flags['csi-address']}`, credentials.createInsecure());
  const driver = loadService('csi.proto', 'csi.v1.SnapshotMetadata');
  const server = new Server();
  const handle =
    (rpc: 'GetMetadataAllocated' | 'GetMetadataDelta') =>
    async (stream: Stream): Promise<void> => {
      try {
        await requireAllowed(api, flags.audience, stream.request);
        const message = await toCsi(api, stream.request);
        for await (const page of callStream(csi, driver[rpc], message)) stream.write(page);
        stream.end();
      } catch (error) {
        stream.emit('error', error);
      }
    };
  server.addService(loadSnapshotMetadata(), {
    GetMetadataAllocated: handle('GetMetadataAllocated'),
    GetMetadataDelta: handle('GetMetadataDelta'),
  });
  const files = { cert_chain: readFileSync(flags['tls-cert']), private_key: readFileSync(flags['tls-key']) };
  const listen = promisify(server.bindAsync.bind(server));
  await listen(`0.0.0.0:${flags.port}`, ServerCredentials.createSsl(null, [files]));
  const health = createServer(({ url }, reply) => reply.writeHead(url === '/health' ? 200 : 404).end());
  health.listen(Number(flags['http-endpoint'].split(':').at(-1)));
  process.once('SIGTERM', () => process.exit(0));
}

/** Requires a token for the audience, of an account that may read VolumeSnapshots in the namespace. */
async function requireAllowed({ post }: ApiServer, audience: string, request: Request): Promise<void> {
  const review = await post<Review>('/apis/authentication.k8s.io/v1/tokenreviews', {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token: request.security_token, audiences: [audience] },
  });
  const { authenticated, audiences, user } = review.status;
  if (authenticated !== true || audiences?.includes(audience) !== true)
    throw withCode(status.UNAUTHENTICATED, 'the token is not valid for the audience');
  const { username, ...others } = user;
  const access = await post<{ readonly status: { readonly allowed: boolean } }>(
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: username,
        ...others,
        resourceAttributes: {
          verb: 'get',
          namespace: request.namespace,
          group: 'snapshot.storage.k8s.io',
          version: 'v1',
          resource: 'volumesnapshots',
        },
      },
    },
  );
  if (!access.status.allowed)
    throw withCode(status.PERMISSION_DENIED, `"${username}" may not read the snapshots`);
}

/** Makes CSI's request. Like the sidecar it reads the snapshot's class, which can name a Secret. */
async function toCsi(api: ApiServer, request: Request): Promise<object> {
  const { starting_offset, max_results } = request;
  const name = request.snapshot_name ?? request.target_snapshot_name ?? '';
  const { handle, className } = await findSnapshot(api, request.namespace, name);
  await api.get(`${snapshots}/volumesnapshotclasses/${className}`);
  return {
    snapshot_id: handle,
    base_snapshot_id: request.base_snapshot_id,
    target_snapshot_id: handle,
    starting_offset,
    max_results,
  };
}

const withCode = (code: status, details: string) => Object.assign(new Error(details), { code, details });

await main(process.argv.slice(2));
