import type { EfosRow } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { words } from './words.ts'

type Of = EfosRow['situacion']

/** As suppliers and documents show them. */
const TONES: Record<Of, Tone> = { presunto: 'wait', definitivo: 'bad', desvirtuado: 'idle', sentencia_favorable: 'idle' }

/** Whether nothing with a party is at risk any more; a row says it itself, as `is_active`. */
export const isCleared = (situacion: Of): boolean => situacion === 'desvirtuado' || situacion === 'sentencia_favorable'

/** What the list of article 69-B says of a party. */
export function Situation({ is }: { is: EfosRow['situacion'] }) {
  const t = useWords(words)
  return <Badge tone={TONES[is]}>{t.situation[is]}</Badge>
}
