const NET = '(subtotal − descuento of I) − (the same of E), in MXN'
const NETO = 'Suma de (subtotal − descuento) de las facturas (I), menos la de las notas de crédito (E), en pesos'

/** What the API says of the figures of reports, in Spanish. */
export const REPORTS: Record<string, string> = {
  [`${NET}, issued`]: `${NETO}, de lo emitido.`,
  [`${NET}, received`]: `${NETO}, de lo recibido.`,
  'IVA of I − E, issued, accrued': 'IVA de las facturas (I) menos el de las notas de crédito (E), de lo emitido, devengado.',
  'IVA of I − E, received, accrued': 'IVA de las facturas (I) menos el de las notas de crédito (E), de lo recibido, devengado.',
  'Σ subtotal of issued N, by Fecha': 'Suma del subtotal de los recibos de nómina (N) emitidos, según su fecha.',
  'Σ ISR withheld by issued N': 'Suma del ISR retenido en los recibos de nómina (N) emitidos.',
  'IVA withheld of I − E, issued': 'IVA retenido en las facturas (I) menos el de las notas de crédito (E), de lo emitido.',
  'the same, received': 'Lo mismo, de lo recibido.',
  'ISR withheld of I − E, issued': 'ISR retenido en las facturas (I) menos el de las notas de crédito (E), de lo emitido.',
  'revenue − credit_notes': 'Ingresos − notas de crédito emitidas.',
  'expenses − credit_notes_received': 'Gastos − notas de crédito recibidas.',
  'Σ subtotal of issued N': 'Suma del subtotal de los recibos de nómina (N) emitidos.',
  [`${NET}, received, UsoCFDI G01`]: `${NETO}, de lo recibido con uso G01 (adquisición de mercancías).`,
  'net_revenue − cost_of_goods': 'Ingresos netos − costo de mercancías.',
  'gross_profit ÷ net_revenue': 'Utilidad bruta ÷ ingresos netos.',
  'net_revenue − net_expenses − payroll': 'Ingresos netos − gastos netos − nómina.',
  'Σ total of cancelled I in MXN, but for cancelled_issued_without_amount of them':
    'Suma del total de las facturas (I) canceladas, en pesos, sin las que no tienen importe conocido, que se cuentan aparte.',
  'issued ÷ issued of the same month of the year before − 1': 'Lo emitido ÷ lo emitido en el mismo mes del año anterior, − 1.',
  'issued ÷ Σ issued': 'Lo emitido a la contraparte ÷ todo lo emitido.',
  'cancelled I': 'Facturas (I) canceladas.',
  'cancelled I and E': 'Facturas (I) y notas de crédito (E) canceladas.',
  'Σ total of I − Σ total of E, in MXN, but for without_amount of them':
    'Suma del total de las facturas (I), menos la de las notas de crédito (E), en pesos, sin las que no tienen importe conocido, que se cuentan aparte.',
  'count ÷ Σ count of the direction': 'Su número ÷ el de todas las de ese lado: emitidas o recibidas.',
  'Σ days from Fecha to the cancellation ÷ those with a date':
    'Suma de los días de la fecha a la cancelación ÷ las que tienen fecha de cancelación.',
  'those that were cancelled in a later month than that of Fecha': 'Las que se cancelaron en un mes posterior al de su fecha.',
  'Σ ImpPagado of complements that count, with a FechaPago up to today, at the rate of the invoice':
    'Suma del importe pagado según los complementos que cuentan, con fecha de pago hasta hoy, al tipo de cambio de la factura.',
  'PPD invoices whose rate is known': 'Facturas PPD con tipo de cambio conocido.',
  'Σ paid × days from Fecha to FechaPago ÷ paid': 'Suma de lo pagado × los días de la factura al pago ÷ lo pagado.',
  'payment_count ÷ invoices with a payment': 'Número de pagos ÷ facturas con algún pago.',
  'outstanding that was due before today': 'Saldo que venció antes de hoy.',
  'bases of the cash events of received documents, without what credit notes return: PUE on the day of Fecha, else complements by FechaPago; bases without IVA are less what is returned':
    'Bases de lo pagado, sin restar lo que devuelven las notas de crédito: las facturas PUE recibidas, el día de su fecha; las demás, según sus complementos, el día del pago. Las bases sin IVA ya restan lo devuelto.',
  'what credit notes return, by rate': 'Lo que devuelven las notas de crédito, por tasa.',
  'IVA of payments in cash above the limit or for lines of fuel, of uso S01, or to issuers that are definitive under article 69-B today, and the part of restaurants, bars, cars and rented cars that is not deductible; less what is returned of them':
    'IVA de los pagos en efectivo por encima del límite o por líneas de combustible, con uso S01 o a emisores que hoy son definitivos del 69-B, y la parte no deducible de restaurantes, bares, automóviles y automóviles rentados; menos lo que de ellos se devuelve.',
  'of the rate of 8 %, what is of the northern (norte) and of the southern border region (sur), by the state of the place of issue: vat.border_regions; what is of neither is in base_8 alone':
    'De la tasa de 8 %, lo de la región fronteriza norte y lo de la sur, según el estado del lugar de expedición (regla vat.border_regions); lo que no es de ninguna está solo en la base de 8 %.',
  'iva − devuelto_iva − no_acreditable_iva, before the proportion': 'IVA pagado − IVA devuelto − IVA no acreditable, antes del prorrateo.',
  'by what is supplied: the regime of the issuer and the product key with the largest amount; diot.operation has the keys':
    'Según lo que se factura: el régimen del emisor y la clave de producto con mayor importe; las claves están en la regla diot.operation.',
  '05 foreign, 04 others; 15 with 87 (85 before 2025) is the grouping of global_suppliers':
    '05 extranjero, 04 los demás; 15 con 87 (85 antes de 2025) es la agrupación global que hace el contribuyente.',
  'as GET /v1/fiscal-entities/{id}/obligations': 'Como en las obligaciones del RFC.',
  'distinct receivers of issued N by the month of FechaPago':
    'Personas distintas con recibos de nómina (N) emitidos, por el mes de la fecha de pago.',
  'Σ deductions 002': 'Suma de las deducciones con clave 002 (ISR).',
  'Σ TotalPercepciones': 'Suma del total de percepciones.',
  'Σ TotalDeducciones': 'Suma del total de deducciones.',
  'Σ TotalOtrosPagos': 'Suma del total de otros pagos.',
  'Σ SalarioDiarioIntegrado ÷ receipts that state it': 'Suma del salario diario integrado ÷ los recibos que lo declaran.',
  'A report covers what your windows show of the RFC, up to through, and your own imports.':
    'Un reporte abarca lo que sus ventanas muestran del RFC, hasta su última extracción, y lo que usted importó.',
  'Amounts are in MXN at each document’s own TipoCambio, else at the published rate; a credit note counts in its own month.':
    'Los importes están en pesos, al tipo de cambio de cada documento o, si no lo trae, al publicado. Una nota de crédito cuenta en su propio mes.',
  'Rules are those of the day of the invoice, or of the month of a payment, as of when the report was made.':
    'Las reglas son las del día de la factura, o del mes del pago, como se conocían al hacer el reporte.',
}
