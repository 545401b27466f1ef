import { connectCinder } from '../../examples/cinder/cinder.ts';

/** Adds a volume type. Cinder ignores specs with a scope that it does not know, such as `test:name`. */
export async function addType(
  env: Readonly<Record<string, string>>,
  name: string,
  specs: object,
): Promise<void> {
  await connectCinder(env).send('POST', '/types', { volume_type: { name, extra_specs: specs } });
}
