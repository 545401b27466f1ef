/** The members of a public JWK that decide its strength. */
type PublicMembers = Readonly<Partial<Record<'kty' | 'crv' | 'alg' | 'use' | 'x' | 'n' | 'e', unknown>>>;

/** The bounds of RSA keys (FIPS 186-5), with upper bounds that keep verification short. */
const [minModulusBits, maxModulusBits] = [2_048, 16_384];
const [minExponent, maxExponent] = [65_537, 2 ** 32];

/**
 * The encodings of Ed25519's points of small order, without the sign. Signatures for such a key need no private key; OpenSSL refuses
 * them, but libraries of other runtimes accept them. The last two are other encodings of the first two.
 */
const smallOrder: ReadonlySet<string> = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
]);

/** Says why a public key is too weak for signatures; undefined for a strong key, and for a key that is not for signatures. */
export function findWeakness(key: PublicMembers): string | undefined {
  const { kty, crv, use = 'sig' } = key;
  if (use !== 'sig') return undefined;
  if (kty === 'RSA') return findRsaWeakness(key);
  if (kty === 'EC') return findCurveFault(key);
  return kty === 'OKP' && crv === 'Ed25519' ? findPointFault(key) : undefined;
}

function findRsaWeakness({ n, e }: PublicMembers): string | undefined {
  const [modulus, exponent] = [n, e].map(toNumber);
  if (modulus === undefined || exponent === undefined) return 'is an RSA key without numbers';
  const bits = modulus.toString(2).length;
  if (bits < minModulusBits || bits > maxModulusBits)
    return `is an RSA key of ${bits} bits; use one of ${minModulusBits} to ${maxModulusBits} bits`;
  if (exponent < minExponent || exponent > maxExponent || exponent % 2n === 0n || modulus % 2n === 0n)
    return `is an RSA key whose exponent or modulus proves nothing; use one with the exponent ${minExponent}`;
  return undefined;
}

/** Checks the curve of an ES256 key. Keys for other algorithms are not used here, so they are not checked. */
function findCurveFault({ crv, alg = 'ES256' }: PublicMembers): string | undefined {
  return alg === 'ES256' && crv !== 'P-256' ? 'is an EC key on another curve than P-256' : undefined;
}

function findPointFault({ x }: PublicMembers): string | undefined {
  const bytes = Buffer.from(String(x), 'base64url');
  // The highest bit is the sign.
  if (bytes.length === 32) bytes[31] = (bytes[31] ?? 0) & 0x7f;
  return smallOrder.has(bytes.toString('hex'))
    ? 'is an Ed25519 key of small order, so its signatures need no private key'
    : undefined;
}

/** Decodes a number in base64url; undefined for any other value. */
function toNumber(value: unknown): bigint | undefined {
  const hex = typeof value === 'string' ? Buffer.from(value, 'base64url').toString('hex') : '';
  return hex === '' ? undefined : BigInt(`0x${hex}`);
}
