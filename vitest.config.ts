import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin'
import { defineConfig } from 'vitest/config'

const migrations = {
  CONTROL_MIGRATIONS: await readD1Migrations('migrations/control'),
  LEDGER_MIGRATIONS: await readD1Migrations('migrations/ledger'),
}

export default defineConfig({
  test: {
    silent: 'passed-only',
    projects: [
      {
        plugins: [
          cloudflareTest({
            wrangler: { configPath: './wrangler.toml' },
            miniflare: {
              compatibilityFlags: ['service_binding_extra_handlers'],
              bindings: migrations,
              outboundService: async () => new Response('The tests reach no network.', { status: 599 }),
            },
          }),
        ],
        test: {
          name: 'workers',
          include: ['test/*.test.ts'],
          setupFiles: ['test/support/setup.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      { test: { name: 'samples', include: ['test/samples/*.test.ts'] } },
      { test: { name: 'node', include: ['test/node/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 } },
    ],
  },
})
