/** Yields attachments as a gateway reads them from its records. Their volumes can be used at once. */
export async function* recorded<Volume, Recorded extends { readonly volume: Volume }>(
  attached: readonly Recorded[],
) {
  for (const one of attached) yield { ...one, find: async (): Promise<Recorded['volume']> => one.volume };
}
