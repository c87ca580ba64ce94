import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RuleKey, type RuleRow, Rules } from '../src/authority/rules/dated.ts'
import { executeInControlPlane, executeStatementsInControlPlane, givenFile, operatorRequest } from './control-plane.ts'
import {
  assertShort,
  FileRefused,
  ownRulesIn,
  ownRulesSql,
  productKeysIn,
  productKeysSql,
  type RuleCommand,
  ruleCommandOf,
} from './rule-commands.ts'
import { ROOT } from './wrangler.ts'

const USAGE = `Shows and sets the dated rules behind the figures: rates, caps, thresholds, catalogs (docs/rules.md).

  npm run rules                          lists the rules in force today, and which of them this deployment sets itself
  npm run rules -- show uma              shows all values of a rule with their days, provisions and sources
  npm run rules -- set own.json          replaces all values that this deployment sets itself by those of the file
  npm run rules -- products file.csv     loads the labels of c_ClaveProdServ from that sheet of catCFDI, exported as CSV

  --env test | live   uses a hosted service; without it, the local one in STATE_DIR

The service goes by a change within a minute.`

type Environment = 'test' | 'live' | undefined
type OwnRow = Omit<RuleRow, 'value'> & { value: string }

const defaults = JSON.parse(readFileSync(join(ROOT, 'assets/rules.json'), 'utf8')) as RuleRow[]
const ownOf = async (env: Environment): Promise<RuleRow[]> =>
  (await executeInControlPlane<OwnRow>(env, 'select * from rules order by key, valid_from')).map((row) => ({
    ...row,
    value: JSON.parse(row.value),
  }))

const shown = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 100 ? `${text.slice(0, 99)}…` : text
}
const days = ({ valid_from, valid_to }: Pick<RuleRow, 'valid_from' | 'valid_to'>): string => `${valid_from} to ${valid_to ?? '…'}`

async function list(env: Environment): Promise<void> {
  const own = await ownOf(env)
  const today = Rules.of(own, defaults, new Date().toISOString().slice(0, 10))
  for (const key of new Set(defaults.map((row) => row.key))) today.find(key)
  const isOwn = (key: string, from: string) => own.some((row) => row.key === key && row.valid_from === from)
  for (const { key, valid_from, valid_to, confidence } of today.basis())
    console.log(
      `${key}: ${shown(today.find(key as RuleKey))}  (${days({ valid_from, valid_to })}, ${isOwn(key, valid_from) ? 'own, ' : ''}${confidence})`,
    )
}

async function show(env: Environment, key: RuleKey): Promise<void> {
  const rows = [...(await ownOf(env)).map((row) => ({ ...row, by: 'own' })), ...defaults.map((row) => ({ ...row, by: 'default' }))]
  for (const row of rows.filter((one) => one.key === key)) {
    console.log(`${days(row)}  ${row.by}, ${row.confidence}\n  ${row.rule_ref}. ${row.source}`)
    console.log(`  ${JSON.stringify(row.value)}`)
  }
}

async function carryOut(env: Environment, command: RuleCommand | null): Promise<void> {
  if (command === null) return list(env)
  if (command.kind === 'show') return show(env, command.key)
  const bytes = givenFile(command.file)
  if (command.kind === 'set') {
    const rows = ownRulesIn(bytes.toString('utf8'))
    assertShort(rows, defaults)
    await executeStatementsInControlPlane(env, ownRulesSql(rows))
    console.log(`This deployment now sets ${rows.length} ${rows.length === 1 ? 'value' : 'values'} itself.`)
  } else {
    const keys = productKeysIn(textOf(bytes))
    await executeStatementsInControlPlane(env, productKeysSql(keys))
    console.log(`${keys.length} keys of c_ClaveProdServ have their labels.`)
  }
}

/** Spreadsheets export UTF-8, or windows-1252. */
function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    return new TextDecoder('windows-1252').decode(bytes)
  }
}

const { command, env } = operatorRequest(USAGE, ruleCommandOf)
try {
  await carryOut(env, command)
} catch (error) {
  if (error instanceof FileRefused) console.error(`The file was refused, and nothing was changed.\n${error.message}`)
  else console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
