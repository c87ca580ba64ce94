import { Link } from 'wouter-preact'
import type { FiscalEntity } from '../../../api/routes.d.ts'
import { Keys } from '../../../charts/bars.tsx'
import { WindowLine } from '../../../charts/window.tsx'
import { day, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Facts, Panel } from '../../../parts/page.tsx'
import { isUnreadable } from '../../../parts/unreadable.tsx'
import { useZone } from '../../../session.ts'
import css from './rfc.module.css'
import { words } from './words.ts'

const SOURCES = [
  ['sat_cfdi_issued', 'issued'],
  ['sat_cfdi_received', 'received'],
] as const

/** The windows on issued and on received CFDIs, against what the authority can give. */
export function Windows({ entity, isReadable }: { entity: FiscalEntity; isReadable: boolean }) {
  const { windows, window_state } = entity
  const t = useWords(words)
  const zone = useZone()
  const spans = SOURCES.map(([source, series]) => {
    const { visible_from: from, visible_to: to } = windows[source]
    const shown = from && to ? t.span(day(from), instant(to, zone)) : t.noSpan
    return { name: t.source[source], from, to, series, shown, says: `${t.source[source]}, ${shown}` }
  })
  return (
    <Panel
      title={t.window}
      lead={isReadable ? t.windowLead : isUnreadable(entity) ? t.windowShut : t.windowPaused}
      actions={<Link href="/extractors/new?scope=full_history">{t.wider}</Link>}
    >
      <WindowLine label={t.window} spans={spans} />
      <Keys keys={spans.map(({ series, name }) => ({ series, name }))} />
      <div class={css.after}>
        <Facts facts={spans.map(({ name, shown }) => [name, shown] as const)} />
        {isReadable && <p>{t.windowState[window_state]}</p>}
      </div>
    </Panel>
  )
}
