import recentRegimes from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_regimenes_fiscales'
import rateRules from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_reglas_tasa_cuota'
import recentUses from '@nodecfdi/sat-micro-catalogs/raw/cfdi_40_usos_cfdi'
import oldRegimes from '@nodecfdi/sat-micro-catalogs/raw/cfdi_regimenes_fiscales'
import oldUses from '@nodecfdi/sat-micro-catalogs/raw/cfdi_usos_cfdi'
import { describe, expect, it } from 'vitest'
import type { SandboxComprobante, TaxLine } from '../../../src/authority/sandbox/world/comprobante.ts'
import { isCompany } from '../../../src/authority/sandbox/world/taxpayers.ts'
import { monthsBetween, worldOf } from '../support/kinds.ts'

/** A row of the authority's catalogs, which the package keeps as JSON. */
interface Row {
  id: string
  aplica_fisica: 1 | ''
  aplica_moral: 1 | ''
  vigencia_desde: string
  vigencia_hasta: string
  regimenes_fiscales_receptores: string
}
interface Rate {
  tipo: 'Fijo' | 'Rango'
  minimo: string
  valor: string
  impuesto: string
  factor: string
  traslado: 1 | ''
  retencion: 1 | ''
}

const byId = (rows: object[]): Map<string, Row> => new Map((rows as Row[]).map((row) => [row.id, row]))

const world = ['EKU9003173C9', 'MISC491214B86', 'GAMA900101AB3', 'DEM150101AB1'].flatMap((rfc) =>
  [...worldOf(rfc, monthsBetween('2018-01', '2026-12'))].map(({ document }) => document),
)
const cfdis = world.filter(({ retencion }) => retencion === null)

/** Whether a row is in force on a day for a natural person or a company. */
const applies = (row: Row | undefined, fecha: string, rfc: string): boolean =>
  row !== undefined &&
  row.vigencia_desde <= fecha.slice(0, 10) &&
  (row.vigencia_hasta === '' || fecha.slice(0, 10) <= row.vigencia_hasta) &&
  (isCompany(rfc) ? row.aplica_moral : row.aplica_fisica) === 1

/** Each different answer once: there are tens of thousands of documents. */
const wrong = (
  list: readonly SandboxComprobante[],
  isRight: (document: SandboxComprobante) => boolean,
  name: (one: SandboxComprobante) => string,
) => [...new Set(list.filter((document) => !isRight(document)).map(name))]

describe("the authority's catalogs, as @nodecfdi/sat-micro-catalogs keeps them", () => {
  it('allow the use of every document to the regime of its receiver (c_UsoCFDI by c_RegimenFiscal)', () => {
    const uses = byId(recentUses)
    const allows = ({ uso, receptor, fecha }: SandboxComprobante) =>
      applies(uses.get(uso), fecha, receptor.rfc) && uses.get(uso)!.regimenes_fiscales_receptores.split(/,\s*/).includes(receptor.regimen)
    const recent = cfdis.filter(({ fecha }) => fecha >= '2022')
    expect(wrong(recent, allows, ({ uso, receptor }) => `${uso} ${receptor.regimen}`)).toEqual([])
    expect(new Set(recent.map(({ uso }) => uso))).toEqual(new Set(['G01', 'G02', 'G03', 'I04', 'D01', 'S01', 'CP01', 'CN01']))
    // A doctor's patient under 626 cannot deduct.
    expect(recent.some(({ uso, emisor, receptor }) => uso === 'S01' && receptor.regimen === '626' && emisor.lines.includes('medico'))).toBe(
      true,
    )
  })

  it('allow the use of every 3.3 to its receiver', () => {
    const uses = byId(oldUses)
    const old = cfdis.filter(({ fecha }) => fecha < '2022')
    expect(
      wrong(
        old,
        ({ uso, receptor, fecha }) => applies(uses.get(uso), fecha, receptor.rfc),
        ({ uso }) => uso,
      ),
    ).toEqual([])
    expect(new Set(old.map(({ uso }) => uso))).toEqual(new Set(['G01', 'G02', 'G03', 'I04', 'D01', 'P01']))
  })

  it('have the regimes of all parties in force, for companies or for natural persons', () => {
    const [old, recent] = [byId(oldRegimes), byId(recentRegimes)]
    const regimes = (fecha: string) => (fecha < '2022' ? old : recent)
    for (const side of ['emisor', 'receptor'] as const)
      expect(
        wrong(
          world,
          ({ fecha, ...document }) => applies(regimes(fecha).get(document[side].regimen), fecha, document[side].rfc),
          (document) => `${document[side].regimen} ${document[side].rfc}`,
        ),
      ).toEqual([])
  })

  it('have every rate of IVA, IEPS and ISR', () => {
    const rates = rateRules as Rate[]
    const names = { '001': 'ISR', '002': 'IVA', '003': 'IEPS' }
    const isRate = ({ impuesto, factor, tasa }: TaxLine, which: 'traslado' | 'retencion') =>
      factor === 'Exento' ||
      rates.some(
        (row) =>
          row.impuesto.split(' ')[0] === names[impuesto] &&
          row.factor === factor &&
          row[which] === 1 &&
          (row.tipo === 'Fijo' ? tasa === Number(row.valor) * 1e6 : tasa >= Number(row.minimo) * 1e6 && tasa <= Number(row.valor) * 1e6),
      )
    const allows = ({ amounts: { traslados, retenciones } }: SandboxComprobante) =>
      traslados.every((tax) => isRate(tax, 'traslado')) && retenciones.every((tax) => isRate(tax, 'retencion'))
    expect(wrong(world, allows, ({ amounts }) => JSON.stringify([amounts.traslados, amounts.retenciones]))).toEqual([])
  })
})
