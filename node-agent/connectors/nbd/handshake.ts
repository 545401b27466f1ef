import type { Socket } from './libc.ts';

/** What a server says of an export. */
export type Export = {
  readonly sizeBytes: bigint;
  /** The flags of the transmission phase, as the kernel takes them. */
  readonly flags: number;
  /** The least size of a block, in bytes. */
  readonly blockBytes: number;
};

const greeting = Buffer.from('NBDMAGICIHAVEOPT');
const optionMagic = Buffer.from('IHAVEOPT');
const replyMagic = 0x3e889045565a9n;
const [fixedNewstyle, optionGo] = [1, 7];
const [replyAck, replyInfo] = [1, 3];
const [infoExport, infoBlockSize] = [0, 3];
const isError = 2 ** 31;
const errors: Readonly<Record<number, string>> = {
  1: 'does not know how to open an export (NBD_OPT_GO)',
  2: 'does not allow it',
  5: 'asks for TLS',
  6: 'has no such export',
  7: 'is shutting down',
};
/** More than any reply has, so that a server that is none is found out. */
const maxReplyBytes = 64 * 1024;

/** Opens an export by NBD's fixed newstyle negotiation (doc/proto.md); what the server refuses throws. */
export function openExport(socket: Socket, name: string): Export {
  const hello = socket.receive(greeting.length + 2);
  if (!hello.subarray(0, greeting.length).equals(greeting)) throw new Error('the server does not speak NBD');
  if ((hello.readUInt16BE(greeting.length) & fixedNewstyle) === 0)
    throw new Error('the server speaks an old form of NBD');
  socket.send(Buffer.concat([uint(4, fixedNewstyle), optionMagic, uint(4, optionGo), goRequest(name)]));
  let size: Pick<Export, 'sizeBytes' | 'flags'> | undefined;
  let blockBytes = 512;
  for (;;) {
    const { type, data } = readReply(socket);
    if (type === replyAck) break;
    if (type !== replyInfo)
      throw new Error(`the server ${errors[type - isError] ?? `answers with type ${type}`}`);
    const kind = data.readUInt16BE(0);
    if (kind === infoExport) size = { sizeBytes: data.readBigUInt64BE(2), flags: data.readUInt16BE(10) };
    if (kind === infoBlockSize) blockBytes = data.readUInt32BE(2);
  }
  if (!size) throw new Error('the server reports no size of the export');
  return { ...size, blockBytes: Math.max(512, blockBytes) };
}

function goRequest(name: string): Buffer {
  const bytes = Buffer.from(name);
  const request = Buffer.concat([uint(4, bytes.length), bytes, uint(2, 1), uint(2, infoBlockSize)]);
  return Buffer.concat([uint(4, request.length), request]);
}

function readReply(socket: Socket): { readonly type: number; readonly data: Buffer } {
  const head = socket.receive(20);
  const length = head.readUInt32BE(16);
  if (head.readBigUInt64BE(0) !== replyMagic || head.readUInt32BE(8) !== optionGo || length > maxReplyBytes)
    throw new Error('the server does not speak NBD');
  return { type: head.readUInt32BE(12), data: socket.receive(length) };
}

function uint(size: 2 | 4, value: number): Buffer {
  const data = Buffer.alloc(size);
  data.writeUIntBE(value, 0, size);
  return data;
}
