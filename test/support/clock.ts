import { vi } from 'vitest'

/** From here on it is this instant, for the service as well. */
export const at = (instant: string): void => {
  if (vi.isFakeTimers()) vi.setSystemTime(instant)
  else vi.useFakeTimers({ toFake: ['Date'], now: new Date(instant) })
}

/** Takes back what a test replaced, and its clock. */
export function restore(): void {
  vi.restoreAllMocks()
  vi.useRealTimers()
}
