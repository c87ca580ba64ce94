import type { Mutex } from '../locks/locks.ts'

const LEASE_MS = 30_000

/**
 * Repeats a step as the only holder of a mutex, while the step reports more work and `mayGoOn` agrees. Returns whether work may be left for
 * another message: the work did not end, or somebody has been refused since. Returns false at once while somebody else holds the mutex.
 */
export async function repeatAlone(
  mutex: Pick<Mutex, 'enter' | 'leave'> | DurableObjectStub<Mutex>,
  step: () => Promise<boolean>,
  mayGoOn: () => boolean,
): Promise<boolean> {
  const token = crypto.randomUUID()
  if (!(await mutex.enter(token, LEASE_MS))) return false
  let isMore = true
  let isRefused = false
  try {
    while (isMore && mayGoOn()) {
      isMore = await step()
      // Somebody else may have taken over after a long step.
      if (!(await mutex.enter(token, LEASE_MS))) return false
    }
  } finally {
    isRefused = await mutex.leave(token)
  }
  return isMore || isRefused
}
