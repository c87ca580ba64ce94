import { type SQL, sql } from 'drizzle-orm'
import { bare } from '../../platform/db/statement.ts'
import { cfdi } from '../tables.ts'

/** The rejections of a file that is what the authority has, and that no later delivery changes. */
const CODES: ReadonlySet<string> = new Set(['zip.too_large', 'cfdi.too_large', 'cfdi.too_complex', 'cfdi.too_deep'])

/** Whether a file was rejected because of the limits of the service. */
export const isBeyondLimits = (code: string): boolean => CODES.has(code)

/** Notes which documents, of which only the metadata is stored, have an XML that is beyond the limits. */
export const noteBeyondLimits = (entity: number, uuids: readonly string[]): SQL =>
  sql`update ${cfdi} set ${bare(cfdi.beyond_limits)} = 'xml'
      where (${cfdi.entity}, ${cfdi.uuid}) in (select ${entity}, value from json_each(${JSON.stringify(uuids)}))
        and ${cfdi.xml_object} is null and ${cfdi.beyond_limits} is null`
