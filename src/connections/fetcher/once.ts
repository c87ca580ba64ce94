import type { System } from '../../platform/context.ts'
import { Failure } from '../../platform/failures.ts'
import { endOf, macOf } from './signature.ts'
import { keepSignature } from './store.ts'

/** Admits a signature that is right once, as long as its timestamp is good. Throws Failure 409 fetcher.repeated. */
export async function admitOnce({ db, now }: System, signature: string, timestamp: string): Promise<void> {
  if (!(await keepSignature(db, macOf(signature), endOf(timestamp), now.getTime())))
    throw new Failure('conflict', 'fetcher.repeated', 'A lease was asked for with this signature before. Sign another request.')
}
