import { type Configuration, DeployError, idOf, writeId } from './configuration.ts'
import type { Area, Platform } from './platform.ts'
import type { Step } from './step.ts'

const D1: Area = { permission: 'D1: Edit' }
const R2: Area = { permission: 'Workers R2 Storage: Edit' }
const QUEUES: Area = { permission: 'Queues: Edit' }

/** The ids of the databases that exist, by name. */
export type DatabaseIds = Map<string, string>

interface Database {
  uuid: string
  name: string
}

/**
 * Databases are found by name, since the id of one that was made just before a failure is in no file. An id in wrangler.toml that is not a
 * placeholder is never replaced: data may be under it.
 */
export const databasesStep = (platform: Platform, { file, databases }: Configuration, ids: DatabaseIds): Step => ({
  title: 'Databases',
  async tasks() {
    const existing = await platform.list<Database>(D1, '/d1/database')
    return databases.flatMap((database) => {
      const { name, id: written } = database
      const found = existing.find((one) => one.name === name)?.uuid
      const known = idOf(database)
      if (found !== undefined) ids.set(name, found)
      if (known !== null && (known === found || !platform.canLook)) return []
      if (known !== null)
        throw new DeployError(
          `wrangler.toml says that ${known} is the id of the database ${name}, but in this account ${found ? `it is ${found}` : 'there is none of that name'}: ` +
            'check CLOUDFLARE_ACCOUNT_ID, or correct the id in wrangler.toml.',
        )
      return [
        {
          what: found ? `write the id of ${name} into wrangler.toml` : `create ${name} and write its id into wrangler.toml`,
          async make() {
            const { uuid } = found ? { uuid: found } : await platform.send<Database>(D1, 'POST', '/d1/database', { name })
            ids.set(name, uuid)
            writeId(file, written, uuid)
          },
        },
      ]
    })
  },
})

interface Rule {
  id: string
  [more: string]: unknown
}

/** An upload whose import never ended is not kept for ever. */
const ABANDONED_UPLOADS: Rule = {
  id: 'abandoned-uploads',
  enabled: true,
  conditions: { prefix: 'imports/' },
  deleteObjectsTransition: { condition: { type: 'Age', maxAge: 7 * 24 * 60 * 60 } },
}

/** A rule of the same id stays as it is: an operator may have changed it. */
export const bucketsStep = (platform: Platform, { buckets }: Configuration): Step => ({
  title: 'Buckets',
  async tasks() {
    const missing = await Promise.all(
      buckets.map(async (name) => {
        const path = `/r2/buckets/${name}`
        const exists = (await platform.find(R2, path)) !== undefined
        const { rules = [] } = (exists && (await platform.find<{ rules?: Rule[] }>(R2, `${path}/lifecycle`))) || {}
        return [
          ...(exists ? [] : [{ what: `create ${name}`, make: () => platform.send(R2, 'POST', '/r2/buckets', { name }) }]),
          ...(rules.some(({ id }) => id === ABANDONED_UPLOADS.id)
            ? []
            : [{ what: `let what lies under imports/ in ${name} expire after 7 days`, make: () => addRule(platform, path) }]),
        ]
      }),
    )
    return missing.flat()
  },
})

/** Beside the rules that a bucket has, which the platform replaces as a whole; a new bucket has one of the platform's own. */
async function addRule(platform: Platform, bucket: string): Promise<void> {
  const { rules = [] } = (await platform.find<{ rules?: Rule[] }>(R2, `${bucket}/lifecycle`)) ?? {}
  await platform.send(R2, 'PUT', `${bucket}/lifecycle`, { rules: [...rules, ABANDONED_UPLOADS] })
}

interface Queue {
  queue_name: string
}

export const queuesStep = (platform: Platform, { queues }: Configuration): Step => ({
  title: 'Queues',
  async tasks() {
    const existing = new Set((await platform.list<Queue>(QUEUES, '/queues')).map(({ queue_name }) => queue_name))
    return queues
      .filter((name) => !existing.has(name))
      .map((name) => ({ what: `create ${name}`, make: () => platform.send(QUEUES, 'POST', '/queues', { queue_name: name }) }))
  },
})
