import type { EfosRow } from '../../../api/routes.d.ts'
import { useWords } from '../../../language.ts'
import { Badge, type Tone } from '../../../parts/badge.tsx'
import { words } from './words.ts'

const TONES: Record<EfosRow['situacion'], Tone> = { presunto: 'wait', definitivo: 'bad', desvirtuado: 'good', sentencia_favorable: 'good' }

/** What the list of article 69-B says of a party. */
export function Situation({ is }: { is: EfosRow['situacion'] }) {
  const t = useWords(words)
  return <Badge tone={TONES[is]}>{t.situation[is]}</Badge>
}
