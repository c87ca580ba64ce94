import { useState } from 'preact/hooks'
import type { FiscalEntity } from '../../../api/routes.d.ts'
import { Keys } from '../../../charts/bars.tsx'
import { WindowLine } from '../../../charts/window.tsx'
import { day, instant } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Button } from '../../../parts/button.tsx'
import { Facts, Panel } from '../../../parts/page.tsx'
import { isUnreadable } from '../../../parts/unreadable.tsx'
import { useZone } from '../../../session.ts'
import { Range } from '../../automation/runs/range.tsx'
import css from './rfc.module.css'
import { words } from './words.ts'

const SOURCES = [
  ['sat_cfdi_issued', 'issued'],
  ['sat_cfdi_received', 'received'],
] as const

/** The first day of which the authority has CFDIs. */
const OLDEST = '2018-01-01'

/** The windows on issued and on received CFDIs, against what the authority can give. */
export function Windows({ entity, isReadable }: { entity: FiscalEntity; isReadable: boolean }) {
  const { windows, window_state } = entity
  const t = useWords(words)
  const zone = useZone()
  const [isAsking, ask] = useState(false)
  const spans = SOURCES.map(([source, series]) => {
    const { visible_from: from, visible_to: to } = windows[source]
    const shown = from && to ? t.span(day(from), instant(to, zone)) : t.noSpan
    return { name: t.source[source], from, to, series, shown, says: `${t.source[source]}, ${shown}` }
  })
  return (
    <Panel
      title={t.window}
      lead={isReadable ? t.windowLead : isUnreadable(entity) ? t.windowShut : t.windowPaused}
      actions={
        entity.status === 'active' &&
        spans.some(({ from }) => from === null || from > OLDEST) && (
          <Button small needs="admin" onClick={() => ask(true)}>
            {t.wider}
          </Button>
        )
      }
    >
      <WindowLine label={t.window} spans={spans} />
      <Keys keys={spans.map(({ series, name }) => ({ series, name }))} />
      <div class={css.after}>
        <Facts facts={spans.map(({ name, shown }) => [name, shown] as const)} />
        {isReadable && <p>{t.windowState[window_state]}</p>}
      </div>
      {isAsking && <Range entity={entity} from={OLDEST} close={() => ask(false)} />}
    </Panel>
  )
}
