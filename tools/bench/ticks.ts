import { measure } from './measures.ts'
import { type Rig, withRig } from './rig.ts'
import { sized } from './sizes.ts'
import type { Ran, Recording } from './workers/storage.ts'

const EXTRACTORS = sized(1_000_000, 50_000)
const AT_ONCE = 50_000
const MEXICO_CITY = 'America/Mexico_City'
const ZONES = [MEXICO_CITY, ...Intl.supportedValuesOf('timeZone').filter((zone) => /^(America|Asia)\/[P-Z]/.test(zone))].slice(0, 40)
/** Its midnight in Mexico City, and the quarter of an hour after. */
const DAY = '2027-03-17'
const MIDNIGHT = `${DAY}T06:00:00Z`
const LATER = `${DAY}T06:15:00Z`

/** A number below so many, of the extractor `i`: the same in every run, and another with another factor. */
const below = (limit: number, factor: number): string => `(i * ${factor} % 2147483647 % ${limit})`

/** Half of them in Mexico City; 60 % daily, 30 % every so many days up to a year, 10 % on a weekday of the month. */
async function fill({ query }: Rig): Promise<void> {
  for (let from = 0; from < EXTRACTORS; from += AT_ONCE)
    await query(
      'control',
      `insert into extractors (extractor_id, organization_id, name, is_enabled, trigger_kind, schedule_kind, schedule_spec, timezone, scope,
         data_source_keys, cadence, armed_day, created_at)
       select printf('ext_%026d', i), printf('org_%026d', i / 2), 'Diario', 1, 'schedule', 'daily', '{}', zone, 'last_n_months', '["sat_csf"]',
         case when turn < 60 then 'daily' when turn < 90 then 'every:' || n || ':' || (phase % n) else 'nth:' || (n % 7) || ':' || (1 + phase % 5) end,
         '2026-03-01', 0
       from (
         select i, ${below(100, 1_103_515_245)} as turn, 1 + ${below(365, 1_664_525)} as n, ${below(40_000, 69_621_031)} as phase,
           iif(i % 2, ?3, (select value from json_each(?4) where key = 1 + i / 2 % cast(?5 as integer))) as zone
         from (with recursive numbers (i) as (select cast(?1 as integer) union all select i + 1 from numbers where i + 1 < ?2) select i from numbers))`,
      ...[from, from + AT_ONCE, MEXICO_CITY, JSON.stringify(ZONES), ZONES.length - 1],
    )
  await query(
    'control',
    `insert into zones select value, case value when ?2 then date(?3, '-1 day') else date(?3, '+1 day') end from json_each(?1) where true
     on conflict do update set evaluated_day = excluded.evaluated_day`,
    ...[JSON.stringify(ZONES), MEXICO_CITY, DAY],
  )
}

const statementsOf = ({ calls }: Recording): Ran[] => calls.flatMap(({ statements }) => statements)
const sum = (of: readonly Ran[], what: 'rows_read' | 'rows_written'): number => of.reduce((all, ran) => all + ran[what], 0)

const tick = (rig: Rig, time: string) => rig.recorded(() => rig.ask(`/tick?name=${time}`))

export const ticks = measure({
  figures: {
    'tick.idle_rows_read': {
      atMost: ZONES.length + 2,
      meaning: `Rows that D1 reads in a quarter of an hour without a midnight, with ${EXTRACTORS.toLocaleString('en')} extractors over ${ZONES.length} zones`,
    },
    'tick.idle_rows_written': { atMost: 0, meaning: 'Rows that D1 writes then' },
    'tick.rows_read_per_due': {
      atMost: 1.1,
      digits: 4,
      meaning: 'Rows that D1 reads for each extractor that is due at midnight in Mexico City, until their runs are planned',
    },
  },
  take: () =>
    withRig(async (rig) => {
      await fill(rig)
      const midnight = await tick(rig, MIDNIGHT)
      const due = (await rig.query('control', `select count(*) from runs where trigger = 'schedule' and local_date = ?`, DAY))
        .rows[0]![0] as number
      const finding = statementsOf(midnight.recording).filter(({ sql }) => !/^\s*insert into "runs"/.test(sql))
      const idle = statementsOf((await tick(rig, LATER)).recording)
      if (process.env['BENCH_VERBOSE'])
        console.error(`  ${due} due, ${sum(finding, 'rows_read')} rows read, ${midnight.recording.calls.length} calls`)
      return {
        'tick.idle_rows_read': sum(idle, 'rows_read'),
        'tick.idle_rows_written': sum(idle, 'rows_written'),
        'tick.rows_read_per_due': sum(finding, 'rows_read') / due,
      }
    }),
})
