import formas from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_formas_pago'
import metodos from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_metodos_pago'
import regimes from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_regimenes_fiscales'
import relations from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_tipos_relaciones'
import uses from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_usos_cfdi'
import oldFormas from '@nodecfdi/sat-micro-catalogs/raw/cfdi_formas_pago'
import oldRegimes from '@nodecfdi/sat-micro-catalogs/raw/cfdi_regimenes_fiscales'
import oldRelations from '@nodecfdi/sat-micro-catalogs/raw/cfdi_tipos_relaciones'
import oldUses from '@nodecfdi/sat-micro-catalogs/raw/cfdi_usos_cfdi'
import { expect, it } from 'vitest'
import { CODES as words } from '../../src/cfdi/codes.ts'

const catalogs = {
  forma_pago: [formas, oldFormas],
  metodo_pago: [metodos],
  regimen_fiscal: [regimes, oldRegimes],
  tipo_relacion: [relations, oldRelations],
  uso_cfdi: [uses, oldUses],
} as const

it.each(Object.entries(catalogs))('every code of %s has a name in both languages, and no other one has', (name, all) => {
  const codes = [...new Set(all.flatMap((rows) => (rows as { id: string }[]).map(({ id }) => id)))].sort()
  for (const language of ['es', 'en'] as const) expect(Object.keys(words[language][name as keyof typeof catalogs]).sort()).toEqual(codes)
})
