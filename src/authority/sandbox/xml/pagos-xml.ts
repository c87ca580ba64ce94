import { type SandboxDoctoRelacionado, type SandboxPago, share, type TaxLine, taxOn } from '../world/comprobante.ts'
import { decimal, element, group, money, rate } from './markup.ts'

/** EquivalenciaDR has ten decimals. */
const ONE = 10_000_000_000n

/** A tax of the payment, in millionths of the payment's currency. */
interface PaidTax {
  impuesto: string
  factor: TaxLine['factor']
  tasa: number
  base: bigint
  importe: bigint
}

/** Returns the complement pagos 2.0 with one payment. Its totals are in pesos. */
export function pagosXml(pago: SandboxPago): string {
  const documentos = pago.documentos.map((documento) => {
    const equivalencia = documento.invoice.moneda === pago.moneda ? ONE : divide(ONE * 10_000n, BigInt(rateOfPayment(pago, documento)))
    return { ...documento, equivalencia, ...partOf(documento) }
  })
  const traslados = inPaymentCurrency(documentos.flatMap(({ traslados, equivalencia }) => traslados.map((tax) => ({ tax, equivalencia }))))
  const retenciones = inPaymentCurrency(
    documentos.flatMap(({ retenciones, equivalencia }) => retenciones.map((tax) => ({ tax, equivalencia }))),
  )
  const exact = documentos.reduce((total, { pagado, equivalencia }) => total + divide(BigInt(pagado) * 10_000n * ONE, equivalencia), 0n)
  const monto = divide(exact, 10_000n)
  const pesos = (millionths: bigint) => money(Number(divide(millionths * BigInt(pago.tipo_cambio), 100_000_000n)))
  return element(
    'pago20:Pagos',
    { Version: '2.0' },
    element('pago20:Totales', { ...totals(traslados, retenciones, pesos), MontoTotalPagos: pesos(monto * 10_000n) }),
    element(
      'pago20:Pago',
      {
        FechaPago: pago.fecha,
        FormaDePagoP: pago.forma,
        MonedaP: pago.moneda,
        TipoCambioP: pago.moneda === 'MXN' ? '1' : decimal(pago.tipo_cambio, 4),
        Monto: money(Number(monto)),
        NumOperacion: pago.num_operacion,
      },
      ...documentos.map(documentoXml),
      group(
        'pago20:ImpuestosP',
        {},
        group(
          'pago20:RetencionesP',
          {},
          ...byTax(retenciones).map((tax) => element('pago20:RetencionP', { ImpuestoP: tax.impuesto, ImporteP: decimal(tax.importe, 6) })),
        ),
        group('pago20:TrasladosP', {}, ...traslados.map(trasladoXml)),
      ),
    ),
  )
}

const divide = (dividend: bigint, divisor: bigint): bigint => (2n * dividend + divisor) / (2n * divisor)

/** The pesos paid for one unit of the document's currency, in ten-thousandths. */
const rateOfPayment = (pago: SandboxPago, { invoice }: SandboxDoctoRelacionado): number =>
  (invoice.tipo_cambio ?? 10_000) + (Number(pago.num_operacion) % 2_000) - 1_000

/** Returns the part of the invoice's taxes that the payment covers. */
function partOf({ invoice, pagado }: SandboxDoctoRelacionado): { traslados: TaxLine[]; retenciones: TaxLine[] } {
  const part = (tax: TaxLine): TaxLine => {
    const base = share(tax.base, pagado, invoice.amounts.total)
    return { ...tax, base, importe: tax.factor === 'Tasa' ? taxOn(base, tax.tasa) : 0 }
  }
  return { traslados: invoice.amounts.traslados.map(part), retenciones: invoice.amounts.retenciones.map(part) }
}

function inPaymentCurrency(taxes: { tax: TaxLine; equivalencia: bigint }[]): PaidTax[] {
  const groups = new Map<string, PaidTax>()
  for (const { tax, equivalencia } of taxes) {
    const { impuesto, factor, tasa } = tax
    const paid = (cents: number) => (BigInt(cents) * 10_000n * ONE) / equivalencia
    const key = `${impuesto}|${factor}|${tasa}`
    const before = groups.get(key) ?? { impuesto, factor, tasa, base: 0n, importe: 0n }
    groups.set(key, { ...before, base: before.base + paid(tax.base), importe: before.importe + paid(tax.importe) })
  }
  return [...groups.values()]
}

const byTax = (taxes: PaidTax[]): PaidTax[] =>
  ['001', '002'].flatMap((impuesto) => {
    const lines = taxes.filter((tax) => tax.impuesto === impuesto)
    return lines.length === 0 ? [] : { ...lines[0]!, importe: lines.reduce((total, tax) => total + tax.importe, 0n) }
  })

function totals(traslados: PaidTax[], retenciones: PaidTax[], pesos: (millionths: bigint) => string): Record<string, string> {
  const list: Record<string, string> = {}
  for (const { impuesto, importe } of byTax(retenciones).reverse())
    list[`TotalRetenciones${impuesto === '001' ? 'ISR' : 'IVA'}`] = pesos(importe)
  for (const percent of [16, 8, 0]) {
    const tax = traslados.find(({ impuesto, factor, tasa }) => impuesto === '002' && factor === 'Tasa' && tasa === percent * 10_000)
    if (!tax) continue
    list[`TotalTrasladosBaseIVA${percent}`] = pesos(tax.base)
    list[`TotalTrasladosImpuestoIVA${percent}`] = pesos(tax.importe)
  }
  const exempt = traslados.find(({ factor }) => factor === 'Exento')
  if (exempt) list.TotalTrasladosBaseIVAExento = pesos(exempt.base)
  return list
}

function documentoXml(documento: SandboxDoctoRelacionado & { equivalencia: bigint; traslados: TaxLine[]; retenciones: TaxLine[] }): string {
  const { invoice, equivalencia, saldo_anterior, pagado } = documento
  const taxXml = (name: string, tax: TaxLine) =>
    element(name, {
      BaseDR: money(tax.base),
      ImpuestoDR: tax.impuesto,
      TipoFactorDR: tax.factor,
      TasaOCuotaDR: tax.factor === 'Tasa' ? rate(tax.tasa) : null,
      ImporteDR: tax.factor === 'Tasa' ? money(tax.importe) : null,
    })
  return element(
    'pago20:DoctoRelacionado',
    {
      IdDocumento: invoice.uuid,
      Serie: invoice.serie,
      Folio: invoice.folio,
      MonedaDR: invoice.moneda,
      EquivalenciaDR: equivalencia === ONE ? '1' : decimal(equivalencia, 10),
      NumParcialidad: documento.parcialidad,
      ImpSaldoAnt: money(saldo_anterior),
      ImpPagado: money(pagado),
      ImpSaldoInsoluto: money(saldo_anterior - pagado),
      ObjetoImpDR: '02',
    },
    element(
      'pago20:ImpuestosDR',
      {},
      group('pago20:RetencionesDR', {}, ...documento.retenciones.map((tax) => taxXml('pago20:RetencionDR', tax))),
      group('pago20:TrasladosDR', {}, ...documento.traslados.map((tax) => taxXml('pago20:TrasladoDR', tax))),
    ),
  )
}

const trasladoXml = (tax: PaidTax): string =>
  element('pago20:TrasladoP', {
    BaseP: decimal(tax.base, 6),
    ImpuestoP: tax.impuesto,
    TipoFactorP: tax.factor,
    TasaOCuotaP: tax.factor === 'Tasa' ? rate(tax.tasa) : null,
    ImporteP: tax.factor === 'Tasa' ? decimal(tax.importe, 6) : null,
  })
