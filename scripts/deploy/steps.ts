import type { Configuration } from './configuration.ts'
import type { Platform } from './platform.ts'
import { bucketsStep, type DatabaseIds, databasesStep, queuesStep } from './resources.ts'
import { type Health, healthStep, migrationsStep, secretsStep, type Wrangler, workerStep } from './worker.ts'

/** Something that a deployment needs and that is not there yet. */
export interface Task {
  /** As an order: "create the queue …". */
  what: string
  make(): Promise<unknown>
}

/** A part of a deployment. What is missing is looked up anew each time, so that a deployment can be run again after any failure. */
export interface Step {
  title: string
  tasks(): Promise<readonly Task[]>
}

/** In their order: the Worker needs all that is before it, and the health all that is. */
export function stepsOf(platform: Platform, configuration: Configuration, wrangler: Wrangler, health: Health): Step[] {
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
