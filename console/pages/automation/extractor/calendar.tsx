import { Link } from 'wouter-preact'
import type { Run } from '../../../api/routes.d.ts'
import { day as dayName, month as monthName } from '../../../format.ts'
import { locale, useWords } from '../../../language.ts'
import { Panel } from '../../../parts/page.tsx'
import css from '../parts/automation.module.css'
import { words } from './words.ts'

const MONTHS_ON = 3

/** The day of an instant in a zone, `2026-05-20`. */
const dayIn = (zone: string, at: Date): string => {
  const options = { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' } as const
  return new Intl.DateTimeFormat('en-CA', options).format(at)
}

const utc = (month: string, day: number): Date => new Date(Date.UTC(Number(month.slice(0, 4)), Number(month.slice(5, 7)) - 1, day))
const textOf = (date: Date): string => date.toISOString().slice(0, 10)

/** The weeks of a month, from Monday to Sunday; null where a day is of another month. */
function weeksOf(month: string): (string | null)[][] {
  const before = (utc(month, 1).getUTCDay() + 6) % 7
  const last = new Date(utc(month, 32).getTime())
  last.setUTCDate(0)
  const days = [
    ...Array.from({ length: before }, () => null),
    ...Array.from({ length: last.getUTCDate() }, (_, n) => textOf(utc(month, n + 1))),
  ]
  return Array.from({ length: Math.ceil(days.length / 7) }, (_, week) => Array.from({ length: 7 }, (_, n) => days[week * 7 + n] ?? null))
}

interface Props {
  /** The days are those of this zone. */
  zone: string
  runs: readonly Run[]
  next: readonly string[]
}

/** The days on which an extractor ran, and on which it will. */
export function Calendar({ zone, runs, next }: Props) {
  const t = useWords(words)
  const today = dayIn(zone, new Date())
  const ran = new Map(runs.toReversed().map((run) => [dayIn(zone, new Date(run.started_at)), run]))
  const comes = new Set(next.map((at) => dayIn(zone, new Date(at))))
  const first = [today, ...ran.keys()].sort()[0]!.slice(0, 7)
  const months: string[] = []
  const until = textOf(utc(today, 1)).slice(0, 7)
  const end = textOf(new Date(Date.UTC(Number(until.slice(0, 4)), Number(until.slice(5)) - 1 + MONTHS_ON, 1))).slice(0, 7)
  for (let month = first; month <= end; month = textOf(utc(month, 32)).slice(0, 7)) months.push(month)
  const narrow = new Intl.DateTimeFormat(locale(), { weekday: 'narrow', timeZone: 'UTC' })
  const weekdays = Array.from({ length: 7 }, (_, n) => narrow.format(Date.UTC(2024, 0, 1 + n)))
  const cellOf = (day: string) => {
    const run = ran.get(day)
    const shown = String(Number(day.slice(8)))
    const at = day === today ? css.today : ''
    if (run)
      return (
        <Link
          href={`/runs/${run.run_id}`}
          class={`${css.day} ${run.status === 'no_connections' ? css.nobody : css.past} ${at}`}
          aria-label={t.runOf(dayName(day))}
        >
          {shown}
        </Link>
      )
    return comes.has(day) ? (
      <span class={`${css.day} ${css.next} ${at}`} role="img" aria-label={t.nextOf(dayName(day))}>
        {shown}
      </span>
    ) : (
      <span class={`${css.day} ${at}`}>{shown}</span>
    )
  }
  const keys = [
    [css.past, t.past],
    [css.nobody, t.nobodyThen],
    [css.next, t.upcoming],
    [css.today, t.today],
  ]
  return (
    <Panel title={t.calendar} lead={comes.size === 0 && ran.size === 0 ? t.calendarEvent : t.calendarLead}>
      <div class={css.months}>
        {months.map((month) => (
          <table key={month}>
            <caption>{monthName(month, 'long')}</caption>
            <thead>
              <tr>
                {weekdays.map((one, n) => (
                  <th key={n} scope="col">
                    {one}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {weeksOf(month).map((week) => (
                <tr key={week.find(Boolean)}>
                  {week.map((day, n) => (
                    <td key={n}>{day && cellOf(day)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        ))}
      </div>
      <ul class={css.row}>
        {keys.map(([kind, name]) => (
          <li key={name} class={css.row}>
            <span class={`${css.day} ${css.key} ${kind}`} aria-hidden="true" />
            <small>{name}</small>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
