import type { CfdiDetail } from '../../../api/routes.d.ts'
import { useCodes } from '../../../codes/codes.ts'
import { day, decimal, money, NOTHING, percent } from '../../../format.ts'
import { useWords } from '../../../language.ts'
import { Facts, Panel } from '../../../parts/page.tsx'
import { type Column, Table } from '../../../parts/table.tsx'
import { Amount } from '../cfdi/amount.tsx'
import { Estatus, Payment } from '../cfdi/badges.tsx'
import { hasTotal } from '../cfdi/name.ts'
import { words as listWords } from '../cfdi/words.ts'
import { Complements } from './complements.tsx'
import css from './invoice.module.css'
import { verificationOf } from './verification.ts'
import { words } from './words.ts'

type Line = CfdiDetail['conceptos'][number]
type Tax = { impuesto: string; tipo_factor: string | null; tasa_o_cuota: string | null; importe: string | null }

/** The date and time of a document, as it says them. */
const moment = (text: string | null): string => (text ? `${day(text)} ${text.slice(11, 19)}` : NOTHING)

function Party({ role, name, rfc, notes }: { role: string; name: string | null; rfc: string; notes: readonly (string | false | null)[] }) {
  return (
    <div>
      <small>{role}</small>
      <p class={css.name}>{name ?? rfc}</p>
      <p>{rfc}</p>
      <p>
        <small>{notes.filter(Boolean).join(' · ')}</small>
      </p>
    </div>
  )
}

function Totals({ cfdi }: { cfdi: CfdiDetail }) {
  const t = useWords(words)
  const { currency, impuestos, impuestos_locales: local } = cfdi
  const rateOf = ({ tipo_factor, tasa_o_cuota }: Tax) =>
    tipo_factor === 'Exento'
      ? t.exempt
      : tipo_factor === 'Cuota'
        ? decimal(tasa_o_cuota)
        : tasa_o_cuota === null
          ? ''
          : percent(tasa_o_cuota)
  const nameOf = ({ impuesto }: Tax) => t.tax[impuesto] ?? impuesto
  // A payment says zeros by law: what was paid stands in its complement.
  if (!hasTotal(cfdi))
    return (
      <dl class={css.totals}>
        {cfdi.pagos.map(({ monto, moneda_p }, n) => (
          <div key={n} class={css.total}>
            <dt>{t.paidAmount}</dt>
            <dd>{money(monto, moneda_p)}</dd>
          </div>
        ))}
      </dl>
    )
  const rows: [string, string | null][] = [
    [t.subtotal, cfdi.subtotal],
    [t.discount, cfdi.descuento],
    ...(impuestos?.traslados ?? []).map((one): [string, string | null] => [t.transferred(nameOf(one), rateOf(one)), one.importe]),
    ...(impuestos?.retenciones ?? []).map((one): [string, string | null] => [t.withheld(nameOf(one), rateOf(one)), one.importe]),
    ...(local?.traslados ?? []).map((one): [string, string | null] => [t.transferred(one.nombre, decimal(one.tasa)), one.importe]),
    ...(local?.retenciones ?? []).map((one): [string, string | null] => [t.withheld(one.nombre, decimal(one.tasa)), one.importe]),
  ]
  return (
    <dl class={css.totals}>
      {rows.map(
        ([name, amount], n) =>
          amount !== null && (
            <div key={n}>
              <dt>{name}</dt>
              <dd>{money(amount, currency)}</dd>
            </div>
          ),
      )}
      <div class={css.total}>
        <dt>{t.total}</dt>
        <dd>
          <Amount of={cfdi} amount={cfdi.total} />
        </dd>
      </div>
      {currency !== null && currency !== 'MXN' && cfdi.total_mxn !== null && (
        <div>
          <dt>{t.totalMxn}</dt>
          <dd>{money(cfdi.total_mxn)}</dd>
        </div>
      )}
    </dl>
  )
}

/** What a CFDI says itself. Its PDF has it all. */
export function Sheet({ cfdi }: { cfdi: CfdiDetail }) {
  const t = useWords(words)
  const list = useWords(listWords)
  const { said: coded } = useCodes()
  const { currency } = cfdi
  const address = verificationOf(cfdi)
  const facts: [string, string | null][] = [
    [t.folio, [cfdi.serie, cfdi.folio].filter(Boolean).join(' ')],
    [t.issued, moment(cfdi.fecha)],
    [t.place, cfdi.lugar_expedicion],
    [t.method, cfdi.metodo_pago && coded('metodo_pago', cfdi.metodo_pago)],
    [t.form, cfdi.forma_pago && coded('forma_pago', cfdi.forma_pago)],
    [t.terms, cfdi.condiciones_pago],
    [t.due, cfdi.due_date && day(cfdi.due_date)],
    [t.currency, cfdi.moneda],
    [t.rate, cfdi.tipo_cambio && decimal(cfdi.tipo_cambio)],
  ]
  const stamps: [string, string | null][] = [
    ['UUID', cfdi.uuid],
    [t.stamped, cfdi.certified_at && moment(cfdi.certified_at)],
    [t.certificate, cfdi.no_certificado],
    [t.provider, cfdi.pac_rfc],
    [t.seal, cfdi.sello_ultimos_8],
  ]
  // Some write the key where the name of the unit belongs, and some nothing.
  const unitOf = ({ unidad, clave_unidad }: Line) =>
    unidad && unidad !== clave_unidad ? unidad : clave_unidad && coded('clave_unidad', clave_unidad)
  const prices: Column<Line>[] = [
    { name: t.price, end: true, cell: ({ valor_unitario }) => money(valor_unitario, currency) },
    { name: t.discount, end: true, cell: ({ descuento }) => descuento && money(descuento, currency) },
    { name: t.amount, end: true, cell: ({ importe }) => money(importe, currency) },
  ]
  const said = (all: [string, string | null][]) => all.filter((fact): fact is [string, string] => Boolean(fact[1]))
  return (
    <Panel>
      <div class={css.parties}>
        <Party
          role={t.issuer}
          name={cfdi.emisor_nombre}
          rfc={cfdi.emisor_rfc}
          notes={[cfdi.emisor_regimen_fiscal && t.regimen(coded('regimen_fiscal', cfdi.emisor_regimen_fiscal))]}
        />
        <Party
          role={t.receiver}
          name={cfdi.receptor_nombre}
          rfc={cfdi.receptor_rfc}
          notes={[
            cfdi.receptor_regimen_fiscal && t.regimen(coded('regimen_fiscal', cfdi.receptor_regimen_fiscal)),
            cfdi.receptor_domicilio_fiscal && t.zip(cfdi.receptor_domicilio_fiscal),
            cfdi.uso_cfdi && t.use(coded('uso_cfdi', cfdi.uso_cfdi)),
          ]}
        />
        <div class={css.state}>
          <small>
            {cfdi.kind === 'retenciones' ? list.retenciones : list.tipo[cfdi.tipo_comprobante ?? '']}
            {cfdi.version && ` · ${t.version(cfdi.version)}`}
          </small>
          <Estatus cfdi={cfdi} />
          {cfdi.estatus === 'vigente' && <Payment cfdi={cfdi} />}
          {cfdi.estatus === 'cancelado' && cfdi.cancelled_at && <small>{t.cancelled(day(cfdi.cancelled_at))}</small>}
        </div>
      </div>
      <Facts facts={said(facts)} />
      {!cfdi.has_xml && <p class={css.note}>{cfdi.estatus === 'cancelado' && cfdi.direction === 'received' ? t.neverXml : t.noXml}</p>}
      {cfdi.conceptos.length > 0 && (
        <div class={css.bleed}>
          <Table<Line & { n: number }>
            label={t.lines}
            rows={cfdi.conceptos.map((line, n) => ({ ...line, n }))}
            keyOf={({ n }) => String(n)}
            columns={[
              { name: t.key, cell: ({ clave_prod_serv }) => clave_prod_serv },
              { name: t.description, cell: ({ descripcion }) => descripcion },
              { name: t.quantity, end: true, cell: ({ cantidad }) => decimal(cantidad) },
              { name: t.unit, cell: unitOf },
              ...(hasTotal(cfdi) ? prices : []),
            ]}
          />
        </div>
      )}
      <Complements cfdi={cfdi} />
      <div class={css.foot}>
        <dl class={css.stamps}>
          {said(stamps).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <Totals cfdi={cfdi} />
      </div>
      {address && (
        <a href={address} target="_blank" rel="noreferrer">
          {t.verify}
        </a>
      )}
    </Panel>
  )
}
