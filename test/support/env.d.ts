import type { D1Migration } from '@cloudflare/vitest-plugin'

declare global {
  namespace Cloudflare {
    interface Env {
      CONTROL_MIGRATIONS: D1Migration[]
      EVENTS_MIGRATIONS: D1Migration[]
      LEDGER_MIGRATIONS: D1Migration[]
      /** Three a minute. */
      TIGHT: RateLimit
      /** Writes mail into files. */
      MAIL: SendEmail
    }
  }
}
