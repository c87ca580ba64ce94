import type { Cfdi, Listed } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { words } from './words.ts'

const PAYMENT: Record<Cfdi['payment_status'], Tone> = { paid: 'good', partially_paid: 'going', unpaid: 'wait', not_applicable: 'idle' }

export function Estatus({ cfdi }: { cfdi: Pick<Cfdi, 'estatus' | 'is_substituted'> }) {
  const t = useWords(words)
  if (cfdi.estatus === 'vigente' && cfdi.is_substituted) return <Badge tone="wait">{t.substituted}</Badge>
  return <Badge tone={cfdi.estatus === 'vigente' ? 'good' : 'bad'}>{t.estatus[cfdi.estatus]}</Badge>
}

/** How much of an invoice is paid; that it is cancelled, which ends that question; nothing for what is not paid by parts. */
export function Payment({ cfdi: { estatus, payment_status: status } }: { cfdi: Pick<Cfdi, 'estatus' | 'payment_status'> }) {
  const t = useWords(words)
  if (estatus === 'cancelado' && status !== 'not_applicable') return <Badge tone="idle">{t.estatus.cancelado}</Badge>
  return status === 'not_applicable' ? null : <Badge tone={PAYMENT[status]}>{t.paid[status]}</Badge>
}

/** How people call a list, with what it says of somebody: each list has its own situations. */
export function useListed() {
  const t = useWords(words)
  return ({ source, situacion }: NonNullable<Listed>): string => {
    const name = t.lists[source] ?? t.onList(source.replace(/^custom:/, ''))
    return situacion ? `${name}: ${t.situacion[situacion] ?? situacion}` : name
  }
}

/** On which list the counterparty is. */
export function Blacklist({ listed }: { listed: Listed }) {
  const textOf = useListed()
  if (!listed) return null
  const { situacion } = listed
  const isCleared = situacion === 'desvirtuado' || situacion === 'sentencia_favorable'
  return <Badge tone={situacion === 'definitivo' ? 'bad' : isCleared ? 'idle' : 'wait'}>{textOf(listed)}</Badge>
}
