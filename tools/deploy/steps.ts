import type { Configuration } from './configuration.ts'
import type { Platform } from './platform.ts'
import { bucketsStep, type DatabaseIds, databasesStep, queuesStep } from './resources.ts'
import type { Step } from './step.ts'
import { type HealthCheck, healthStep, migrationsStep, secretsStep, type Wrangler, workerStep } from './worker.ts'

/** In their order: the Worker needs everything before it, and the health needs the Worker. */
export function stepsOf(platform: Platform, configuration: Configuration, wrangler: Wrangler, health: HealthCheck): Step[] {
  const ids: DatabaseIds = new Map()
  return [
    databasesStep(platform, configuration, ids),
    bucketsStep(platform, configuration),
    queuesStep(platform, configuration),
    secretsStep(platform, configuration, wrangler),
    migrationsStep(platform, configuration, ids, wrangler),
    workerStep(configuration, wrangler),
    healthStep(configuration, health),
  ]
}

/** Does what is missing, step by step, and prints it; a plan is printed only. */
export async function follow(steps: readonly Step[], isPlan: boolean, print: (line: string) => void): Promise<void> {
  for (const { title, tasks } of steps) {
    const missing = await tasks()
    print(missing.length === 0 ? `${title}: nothing to do.` : `${title}:`)
    for (const { what, make } of missing) {
      print(`  ${what}`)
      if (!isPlan) await make()
    }
  }
}
