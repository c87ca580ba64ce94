import { SPANISH as ISR_SPANISH } from '../../../../src/analytics/isr/words.ts'
import { PROVISIONS } from './provisions.ts'
import { REPORTS } from './reports.ts'

/** What the API says of its figures, in Spanish: formulas and notes, by the exact sentence. A member of an answer keeps its name where no word says it. */
export const SPANISH: Record<string, string> = {
  ...PROVISIONS,
  ...REPORTS,

  // Of several surfaces.
  'Amounts whose currency is XXX (none) are taken as MXN, as they are; missing_rate does not count them.':
    'Los importes con moneda XXX (ninguna) se toman en pesos tal como están; no cuentan entre los documentos sin tipo de cambio.',
  'What a rule says of a document is what it said on the document’s day: that of Fecha, of the payment on a cash basis, of 31 December for what the law limits by year, of the last day of the period for due days. Weights, levels, thresholds, defaults and buckets are those of today, or of as_of.':
    'A cada documento se le aplica la regla vigente en su día: el de su fecha, el del pago en base a flujo, el 31 de diciembre en lo que la ley limita por año y el último día del periodo en los vencimientos. Los pesos, niveles, umbrales, valores por omisión y tramos son los de hoy, o los del día de corte.',
  'Only suppliers that the REPSE registry was asked about can be flagged: GET /v1/cfdi/repse-suppliers queues the look-ups of up to 500 suppliers, and nothing else does.':
    'Solo se puede señalar a los proveedores que ya se consultaron en el REPSE. Las consultas se piden en la página de proveedores REPSE, hasta 500 a la vez; de ningún otro modo se piden.',
  'Σ (subtotal − descuento) of I − Σ of E, in MXN':
    'Suma de (subtotal − descuento) de las facturas (I), menos la de las notas de crédito (E), en pesos.',

  // The file of the DIOT.
  'The figures of the report diot by supplier and kind of operation. IVA that is not excluded: whole where the purchase is for taxed sales, × proportion and the rest not creditable where it is for all, not creditable where it is for exempt sales or for what is not subject to IVA':
    'Las cifras del reporte de la DIOT por proveedor y tipo de operación. El IVA que la ley no excluye se acredita completo si la compra es para ventas gravadas; por el prorrateo, y el resto no, si es para todas; y nada si es para ventas exentas o para lo que no es objeto de IVA.',
  'Each field is rounded to whole pesos, half a peso up; then IVA is lowered to the rate × (what was paid − what was returned) of the line, rounded: diot.file':
    'Cada campo se redondea a pesos enteros, el medio peso hacia arriba; después, el IVA se baja a la tasa × (lo pagado − lo devuelto) de la línea, redondeada (regla diot.file).',
  'vat_position − (file − rounding)': 'Posición de IVA − (archivo − redondeo).',
  'Imports by customs are in no CFDI of a supplier, nor are purchases from suppliers abroad: add fields 14, 24 and 40 to 43, and lines of foreign suppliers, yourself.':
    'Las importaciones por aduana no están en ningún CFDI de proveedor, ni las compras a proveedores del extranjero: agregue usted los campos 14, 24 y 40 a 43, y las líneas de proveedores extranjeros.',
  'The pairs of third party and operation, the fields of imports, the RFC of global suppliers and half pesos are the dated rule diot.file, which no official text settled: check them with the instructions of the SAT.':
    'Qué operaciones admite cada tipo de tercero, los campos de importación, el RFC de los proveedores globales y el medio peso son una regla con fecha que ningún texto oficial resolvió: compárelos con el instructivo del SAT.',
  'What is not subject to IVA (ObjetoImp 01) is in field 52, of foreign suppliers in 53. What is subject and transfers none (02 to 08) is in no field: decide it yourself.':
    'Lo que no es objeto de IVA (01) va en el campo 52, o en el 53 si el proveedor es extranjero. Lo que es objeto y no traslada IVA (02 a 08) no va en ningún campo: decídalo usted.',
  'Whether the DIOT is normal or complementary is chosen in the portal of the SAT, and not in the file.':
    'Si la DIOT es normal o complementaria se elige en el portal del SAT, no en el archivo.',

  // VAT.
  'Σ bases and IVA by rate of the cash events of issued documents: PUE on the day of Fecha, global invoices in their period, PPD by complements on FechaPago; what E return is negative.':
    'Suma de bases e IVA por tasa de lo cobrado: las facturas PUE, el día de su fecha; las globales, en su periodo; las PPD, según sus complementos, el día del pago. Lo que devuelven las notas de crédito (E) resta.',
  'The same of received documents.':
    'Suma de bases e IVA por tasa de lo pagado: las facturas PUE recibidas, el día de su fecha; las PPD, según los complementos recibidos, el día del pago. Lo que devuelven las notas de crédito (E) resta.',
  'Σ IVA of I − E, paid or not: of a global invoice in its period, of other documents by Fecha.':
    'Suma del IVA de las facturas (I), menos el de las notas de crédito (E), se hayan pagado o no: las globales, en su periodo; las demás, según su fecha.',
  'Your own, or gravado ÷ (gravado + exento + no_objeto) of proporcion, never below 0 or above 1; 1 without exempt sales':
    'El que usted indique o, de lo cobrado, lo gravado ÷ lo gravado, lo exento y lo que no es objeto de impuesto, siempre entre 0 y 1. Vale 1 si no hay ventas exentas.',
  'retenido_a_terceros without what is withheld on excluded purchases':
    'IVA retenido a terceros, sin lo retenido en compras no acreditables.',
  '(IVA of pagado − no_deducible_excluded − retenido_acreditable) × prorrateo + retenido_acreditable of the month before × its prorrateo. With prorrateo=attributed: × 1 of taxed_suppliers, × 0 of exempt_suppliers; without these lists, as the settings of the DIOT say':
    '(IVA pagado − IVA no acreditable − IVA retenido a terceros en el mes) × prorrateo + IVA retenido a terceros en el mes anterior × el prorrateo de ese mes, sin lo retenido en compras no acreditables. Si usted asigna usos por proveedor, lo de ventas gravadas se acredita completo y lo de exentas no se acredita; si no nombra proveedores, deciden los ajustes de la DIOT.',
  'IVA of cobrado − acreditable − retenido_por_clientes': 'IVA cobrado − IVA acreditable − IVA que retuvieron los clientes.',
  'Σ IVA × balance ÷ total of PPD invoices, as of the end of the month: less what was paid and credited until then. Documents count as they do now':
    'Suma de IVA × saldo ÷ total de las facturas PPD al cierre del mes, ya descontado lo pagado y acreditado hasta entonces. Los documentos cuentan como están ahora.',
  'saldo − (iva_a_cargo − iva_a_favor)': 'Saldo − (IVA a cargo − IVA a favor) de la declaración.',
  'IVA of payments in cash above the limit or for lines of fuel, of uso S01, or to definitive 69-B issuers, and the part of restaurants, bars, cars and rented cars that is not deductible (LIVA 5-I), as amounts before taxes divide it; less what is returned of them':
    'IVA de los pagos en efectivo por encima del límite o por líneas de combustible, con uso S01 o a emisores definitivos del 69-B, y la parte no deducible de restaurantes, bares, automóviles y automóviles rentados (LIVA 5-I), dividida como el importe antes de impuestos; menos lo que de ellos se devuelve.',
  'IVA of what a CFDI cannot decide: questions has the reasons. It is credited or excluded as if nobody answered':
    'IVA de lo que un CFDI no puede decidir. Se acredita o se excluye como si nadie hubiera contestado.',
  'IVA to presumed 69-B issuers, and to suppliers without valid REPSE registration on the day of payment: of what no_deducible_excluded does not hold already, and not excluded itself':
    'IVA pagado a emisores presuntos del 69-B y a proveedores sin registro REPSE vigente el día del pago. No repite lo que ya está en el IVA no acreditable, ni se resta del acreditable.',
  'LIVA 1-B and 5: IVA counts when it is paid. Taxes of a complement are its own, else in proportion to its invoice.':
    'LIVA 1-B y 5: el IVA cuenta cuando se paga. Los impuestos de un complemento son los que declara; si no los declara, se toman en proporción a su factura.',
  'LIVA 7: a credit note (E) first lowers what is open of its invoice, payments by FechaPago, which is no money; only what goes beyond is returned, on its own Fecha, in proportion of its taxes. A refund of an act whose IVA was withheld restates the months of its payments, the newest first, which no source settles: requires_complementary. A note of an advance (07) lowers the invoice that applies it and counts, on the day of one that is paid at once; without one it returns the advance. What an invoice with relation 07 pays in form 30 is no money again, as far as its advances go; what is beyond them is money.':
    'LIVA 7: una nota de crédito (E) baja primero lo que se debe de su factura, con los pagos por su fecha, y eso no es dinero; solo lo que excede se devuelve, en su propia fecha y en proporción a sus impuestos. La devolución de un acto con IVA retenido corrige los meses de sus pagos, primero los más recientes, lo que ninguna fuente resuelve; requieren declaración complementaria. La nota de un anticipo (07) baja la factura que lo aplica y que cuenta, con la fecha de la factura si se paga en una exhibición; si no hay ninguna, devuelve el anticipo. Lo que una factura con relación 07 paga en forma 30 no es dinero otra vez hasta donde alcanzan sus anticipos; lo que los rebasa es dinero.',
  'Withheld IVA is credited the month after by the prorrateo of the month that it belongs to, which no source settles.':
    'El IVA retenido se acredita el mes siguiente con el prorrateo del mes al que corresponde; ninguna fuente lo resuelve.',
  'LIVA 5-C: imports, fixed assets, land that is no inventory, dividends, shares and credit titles, currency, interest, exchange gain and financial leases take no part in the proportion. The product keys of vat.proportion say which sales are out (fuera) or may be (por_revisar): was a fixed asset sold, or land that was no inventory? What no CFDI tells, such as dividends and exchange gain, is in no figure. Banks, insurers and the like count interest all the same: give your own prorrateo.':
    'LIVA 5-C: no cuentan en la proporción las importaciones, los activos fijos, el suelo que no es inventario, los dividendos, las acciones y títulos de crédito, las divisas, los intereses, la ganancia cambiaria ni el arrendamiento financiero. Las claves de producto dicen qué ventas quedan fuera y cuáles hay que revisar: ¿se vendió un activo fijo, o suelo que no era inventario? Lo que ningún CFDI dice, como dividendos y ganancia cambiaria, no está en ninguna cifra. Bancos, aseguradoras y similares sí cuentan los intereses: indiquen su propio factor.',
  'ObjetoImp 01 is only a sign of what is not taxed; 02 to 08 without a transfer of IVA (base_sin_traslado) are in no proportion: is this sale taxed?':
    'El objeto de impuesto 01 es solo un indicio de lo que no está gravado; lo que es objeto, del 02 al 08, sin IVA trasladado no se cuenta en la proporción: revise si está gravado.',
  'IVA on imports of goods, and on services and intangibles from abroad, is in no CFDI of a supplier: add it to pagado yourself.':
    'El IVA de importaciones de bienes, y de servicios e intangibles del extranjero, no está en ningún CFDI de proveedor: súmelo usted a lo pagado.',
  'MXN at the TipoCambio of the document or payment, else the rate published the day before (CFF 20).':
    'En pesos, al tipo de cambio del documento o del pago; si no lo trae, al publicado el día anterior (CFF 20).',
  'What was withheld from third parties the month before is taken as paid to the authority, as far as it is known: month_before says how much each month credits of it, and whether that month is known whole.':
    'Lo que se retuvo a terceros el mes anterior se da por enterado al SAT, hasta donde se conoce: cada mes dice cuánto acredita de él y si ese mes se conoce completo.',
  'acreditable, saldo, resultado and diferencia are null for a month of which nothing issued, or nothing received, is known: data_status says why. Of a direction that is missing, zeros are unknown. Of an RFC that has imports only (imported), figures take them as complete.':
    'El acreditable, el saldo, el resultado y la diferencia quedan vacíos en un mes del que no se conoce nada emitido, o nada recibido; el estado de los datos dice por qué. Si falta un lado, sus ceros no son ceros: se desconocen. De un RFC que solo tiene importados, las cifras los toman por completos.',
  'A paid part counts as its complement states it, also above the total of its invoice, and on its FechaPago, also when that is still to come.':
    'Cada parcialidad cuenta como la declara su complemento, aunque rebase el total de su factura, y en su fecha de pago, aunque todavía no llegue.',
  'prorrateo is rounded to six places and multiplied as such. Each amount is rounded once, from six places: a figure can differ by a cent from what the rounded amounts beside it give.':
    'El factor de prorrateo se redondea a seis decimales y así se multiplica. Cada importe se redondea una sola vez, desde seis decimales: una cifra puede diferir en un centavo de lo que dan los importes redondeados junto a ella.',
  'CFDIs de retenciones are not counted here; GET /v1/cfdi/withholdings counts them.':
    'Los CFDI de retenciones no cuentan aquí; cuentan en la página de retenciones.',

  // Withholdings.
  'The tax that a cash event withholds: PUE on the day of Fecha, PPD by complements on FechaPago; payroll on its FechaPago':
    'El impuesto que se retiene al pagar: en PUE, el día de la fecha; en PPD, según los complementos, el día del pago; en nómina, en su fecha de pago.',
  'subtotal − descuento of what is paid; of payroll what is taxed, of retenciones what they state':
    'Subtotal − descuento de lo pagado. En nómina, lo gravado; en los CFDI de retenciones, lo que declaran.',
  'The rule of the class × base or IVA; only of what is billed to companies':
    'La tasa que la regla fija para la clase × la base o el IVA; solo de lo que se factura a personas morales.',
  'Σ expected_amount − amount where the difference exceeds the tolerance and less is withheld':
    'Suma de lo esperado − lo retenido, donde se retuvo de menos y la diferencia rebasa la tolerancia.',
  'Σ ISR of role withheld_by_us; iva_por_enterar alike': 'Suma del ISR que usted retuvo. El IVA por enterar se calcula igual.',
  'Σ ISR of role withheld_from_us; iva_a_favor alike': 'Suma del ISR que le retuvieron. El IVA a favor se calcula igual.',
  'The class follows from the issuer’s regime and the product key with the largest amount. It is proposed by this service.':
    'La clase se deduce del régimen del emisor y de la clave de producto con el mayor importe. Es una propuesta de este servicio.',
  'due_date is the day of the next month by law, or the next business day after a weekend or holiday, as that of an obligation; without the extension by the sixth digit of the RFC.':
    'El vencimiento es el día del mes siguiente que fija la ley, o el siguiente día hábil si cae en fin de semana o en día inhábil, como el de una obligación. No incluye la prórroga por el sexto dígito del RFC.',

  // Deductions.
  'personal: total; business: subtotal − descuento; in MXN, a credit note negative':
    'En deducciones personales, el total; en las de la actividad, subtotal − descuento. En pesos; una nota de crédito resta.',
  'gross × (paid + credited) ÷ total where only what is paid counts, less what was not paid as it must be, × the deductible part of restaurants and cars, × annual_rate, at most what is left of its limits':
    'Importe bruto × (pagado + acreditado) ÷ total, donde solo cuenta lo pagado, menos lo que no se pagó como se debe; × la parte deducible de restaurantes y automóviles, × la tasa anual, y cuando más lo que queda de sus límites.',
  'gross_amount of rows under review': 'Importe bruto de los renglones por revisar.',
  'of the year of fecha, with its rules and annual UMA; global: the smaller of deduction.global_cap':
    'El del año de la fecha, con sus reglas y su UMA anual. El global es el menor de los dos que fija deduction.global_cap.',
  'of the limit, since 1 January of the year, also before the range; remaining: limit − used':
    'Lo usado del límite desde el 1 de enero del año, también antes del periodo elegido. Lo que queda es el límite − lo usado.',
  'annual_income for each year, or subtotal of received N + issued net of the year':
    'El ingreso anual que usted indicó, para cada año; si no lo indicó, el subtotal de la nómina recibida + lo emitido neto del año.',
  'Limits are used up in the order of fecha from 1 January on, also by documents before the range: the net of the year is deducted up to the limit, so a credit note first takes back what the limit did not allow. What is to be reviewed uses up nothing.':
    'Los límites se consumen por orden de fecha desde el 1 de enero, también con documentos anteriores al periodo elegido. Se deduce el neto del año hasta el límite, de modo que una nota de crédito devuelve primero lo que el límite no permitió. Lo que está por revisar no consume nada.',
  'Tuition has a limit for each student and year, that of the higher one of their levels, as the complement of schools (iedu) names them in each line.':
    'Las colegiaturas tienen un límite por alumno y año: el de su nivel más alto, según los nombra en cada concepto el complemento de instituciones educativas (iedu).',
  'LISR 27-III: each payment is judged by its own form and amount, whatever it pays. Several payments in cash up to the limit, of an invoice above it, are to be reviewed: no source settles it, and cash.several_payments can exclude them.':
    'LISR 27-III: cada pago se juzga por su propia forma e importe, pague lo que pague. Varios pagos en efectivo de hasta el límite, de una factura que lo rebasa, quedan por revisar: ninguna fuente lo resuelve, y una regla de la instalación puede excluirlos.',
  'LISR 28-XX: the key of the largest amount says that an invoice is of a restaurant or bar. LISR 36-II: keys say what a car is, and none tells a hybrid; a line of several vehicles of one cost has the limit for each, after discounts. LISR 28-XIII: a rented car has the limit of a car without an electric motor for each day of a line in days. Who sells or lets cars has other rules: what is bought as goods (G01) has no limit.':
    'LISR 28-XX: la clave del mayor importe dice que una factura es de un restaurante o bar. LISR 36-II: las claves dicen qué es un automóvil, y ninguna distingue un híbrido; varios vehículos del mismo costo tienen el tope cada uno, después de descuentos. LISR 28-XIII: un automóvil rentado tiene el tope de uno sin motor eléctrico por cada día de una línea en días. Quien vende o renta automóviles tiene otras reglas: lo que se compra como mercancía (G01) no tiene tope.',
  'A credit note is not deductible in the part in which its purchase was not: of what it returns of payments, not of what it takes off the balance.':
    'Una nota de crédito no cuenta en la parte en que su compra no se dedujo: en lo que devuelve de los pagos, no en lo que quita del saldo.',
  'Donations to public bodies are limited to 4 % (LISR 151-III); a CFDI does not say whether the donee is one, so 7 % is applied.':
    'Los donativos a entes públicos tienen un tope de 4 % (LISR 151-III); un CFDI no dice si el donatario es uno, y se aplica 7 %.',
  'Civil societies, of whom a company deducts what is paid (LISR 27-VIII), are known by their name alone.':
    'Las sociedades civiles, de las que una persona moral deduce lo pagado (LISR 27-VIII), solo se conocen por su nombre.',
  'The months in which an investment is used are not known: its annual rate is applied, and that of the purchase to its credit note.':
    'No se sabe en qué meses se usa una inversión: se aplica su tasa anual, y la de la compra a su nota de crédito.',

  // Concentration.
  'Σ total of the rows with a rank': 'Suma del total de las contrapartes con lugar en la lista.',
  'total ÷ concentration_total': 'Total de la contraparte ÷ total de las que tienen lugar.',
  'Σ total² × 10000 ÷ concentration_total², of the rows with a rank':
    'Suma de los cuadrados de los totales × 10 000 ÷ el cuadrado del total, de las contrapartes con lugar.',
  '10000 ÷ hhi': '10 000 ÷ el índice: a cuántas contrapartes iguales equivale.',
  'total of the last months of the range ÷ that of as many months before − 1 (concentration.trend_months); null when the range has fewer months':
    'Total de los últimos meses del periodo ÷ el de otros tantos meses antes, − 1 (los meses los fija concentration.trend_months). Queda vacío si el periodo tiene menos meses.',
  'cancelled I ÷ (invoice_count + cancelled I)': 'Facturas canceladas ÷ (facturas vigentes + canceladas).',
  'A credit note counts in its own month and for its own counterparty.':
    'Una nota de crédito cuenta en su propio mes y con su propia contraparte.',
  'Rows with a total of zero or less, and generic RFCs unless include_generic is true, take no part in shares.':
    'No participan en las proporciones las contrapartes con total de cero o menos, ni los RFC genéricos, salvo que se incluyan.',

  // Concepts.
  'Σ (importe − descuento) of the lines of I − Σ of E, in MXN, rounded once for each document':
    'Suma de (importe − descuento) de los conceptos de facturas (I), menos la de notas de crédito (E), en pesos. Se redondea una vez por documento.',
  'amount ÷ total': 'Importe ÷ total.',
  'Σ amount ÷ Σ cantidad of the lines of I with a quantity':
    'Suma de importes ÷ suma de cantidades, de los conceptos de facturas (I) con cantidad.',
  'avg_unit_price of the last month with prices ÷ that of the first − 1':
    'Precio unitario promedio del último mes con precios ÷ el del primero, − 1.',
  'unclassified_amount ÷ total': 'Importe sin clasificar ÷ total.',
  'lines of I whose unit price differs from the median of its counterparty and key by more median absolute deviations than concepts.outlier_mad, of concepts.outlier_least lines or more':
    'Conceptos de facturas (I) cuyo precio unitario se aparta de la mediana de su contraparte y clave en más desviaciones absolutas medianas que las de concepts.outlier_mad, donde hay al menos los conceptos de concepts.outlier_least.',
  'Lines of documents without XML or exchange rate are in no figure.':
    'Los conceptos de documentos sin XML o sin tipo de cambio no entran en ninguna cifra.',

  ...ISR_SPANISH,

  // EFOS.
  'IVA of the cash events, up to as_of, of the documents of the range':
    'IVA de lo pagado hasta el día de corte, de los documentos del periodo.',
  'Σ isr.company of each year × amount of purchases of the year, when the RFC is a company’s':
    'Suma de la tasa de ISR de personas morales de cada año × las compras del año, si el RFC es de una persona moral.',
  'Σ total of I − Σ of E, in MXN, − unpaid_amount':
    'Suma del total de las facturas (I), menos la de las notas de crédito (E), en pesos, − lo que está por pagar.',
  'Σ balances as of as_of, at the rate of each invoice': 'Suma de los saldos al día de corte, al tipo de cambio de cada factura.',
  'amount of documents before the first publication of the first step; after_listing_amount is the rest':
    'Importe de los documentos anteriores a la primera publicación de la primera situación. El resto es lo posterior a la publicación.',
  'definitivo_dof_at + efos.correction_business_days business days':
    'Publicación como definitivo en el DOF + los días hábiles de efos.correction_business_days.',
  'Σ amount of presunto and definitivo': 'Suma de los importes con presuntos y definitivos.',
  'active_amount ÷ total_purchases; share_of_sales: of customers, ÷ total_sales':
    'Importe con presuntos y definitivos ÷ total de compras. De los clientes, ÷ total de ventas.',
  'Documents count as they did at the end of as_of; cash events, and the counts of data_quality, as they do now.':
    'Los documentos cuentan como estaban al terminar el día de corte; los pagos y los conteos de calidad de los datos, como están ahora.',
  'With direction=issued the figures are of customers: iva_acreditado is the IVA that was collected from them.':
    'En las ventas, las cifras son de clientes: el IVA acreditado es el que se les cobró.',
  'A correction_deadline whose deadline_basis is estimated can be earlier than the true one.':
    'Un plazo para corregir que es estimado puede vencer antes que el verdadero.',

  // FX.
  'Σ (subtotal − descuento) of issued I − Σ of E, in the currency; received_amount likewise':
    'Suma de (subtotal − descuento) de las facturas emitidas (I), menos la de las notas de crédito (E), en su moneda. Lo recibido se suma igual.',
  'issued_amount in MXN at the rates of the documents; received_mxn likewise':
    'Lo emitido, en pesos al tipo de cambio de los documentos. Lo recibido, igual.',
  'Σ (subtotal − descuento) of issued I − Σ of E, of all currencies in MXN; total_purchases likewise':
    'Suma de (subtotal − descuento) de las facturas emitidas (I), menos la de las notas de crédito (E), de todas las monedas, en pesos. Las compras se suman igual.',
  'issued_mxn ÷ total_sales; share_of_purchases: received_mxn ÷ total_purchases':
    'Lo emitido en pesos ÷ total de ventas. De las compras: lo recibido en pesos ÷ total de compras.',
  'open_receivable − open_payable: balances of PPD invoices as of the day':
    'Por cobrar − por pagar: los saldos de las facturas PPD a ese día.',
  'Σ balance × exchange rate of the invoice, payables negative':
    'Suma de saldo × tipo de cambio de la factura. Lo que está por pagar resta.',
  'net_open × current_rate': 'Posición abierta neta × tipo de cambio actual.',
  'current_mxn − booked_mxn': 'Valor al tipo de cambio actual − valor al tipo de cambio de las facturas.',
  'Σ paid × (exchange rate of the payment − that of the invoice) of complements with fecha_pago in the range':
    'Suma de lo pagado × (tipo de cambio del pago − el de la factura), de los complementos con fecha de pago en el periodo.',
  'current_mxn × 0.01, 0.05 and 0.10 (fx.sensitivity)': 'Valor al tipo de cambio actual × 0.01, 0.05 y 0.10 (fx.sensitivity).',
  'A rate applies from the day after its publication in the Diario Oficial (CFF 20).':
    'Un tipo de cambio vale desde el día siguiente al de su publicación en el Diario Oficial (CFF 20).',
  'Invoices and balances count as they did at the end of as_of; payments, and the counts of data_quality, as they do now.':
    'Las facturas y los saldos cuentan como estaban al terminar el día de corte; los pagos y los conteos de calidad de los datos, como están ahora.',

  // Risk of documents.
  'min(most of risk.levels, Σ risk.weights of its flags)':
    'Suma de los pesos de sus señales (risk.weights), cuando más el puntaje máximo de risk.levels.',
  'by the least scores of risk.levels': 'Según los puntajes mínimos de risk.levels.',
  'Weights and levels are proposed. Lists and the REPSE registry are read as they are today.':
    'Los pesos y los niveles son una propuesta del servicio. Las listas y el REPSE se leen como están hoy.',
  'Cancelled documents are among the rows: metadata_only is said of them too, while data_quality.without_xml counts valid ones alone.':
    'Entre los renglones hay documentos cancelados: también a ellos se les señala que solo tienen metadatos, mientras que el conteo de los que no tienen XML es solo de vigentes.',
  'cancellation_in_process and sat_not_found rest on what the authority last answered to your status checks.':
    'Las señales de cancelación en proceso y de no encontrado en el SAT se basan en lo último que el SAT respondió a sus consultas de estado.',

  // Risk of the RFC.
  'sense of the latest compliance opinion (32-D); risky unless positivo, en_suspension or inscrito_sin_obligaciones':
    'Sentido de la última opinión de cumplimiento (32-D). Es riesgo, salvo positivo, en suspensión o inscrito sin obligaciones.',
  'the most severe active listing of the RFC itself; risky if there is one':
    'La lista vigente más grave en que está el propio RFC. Es riesgo si está en alguna.',
  'distinct counterparties of I and E that are presunto or definitivo on the list of article 69-B today':
    'Contrapartes distintas, de facturas (I) y notas de crédito (E), que hoy son presuntas o definitivas en el listado del artículo 69-B.',
  'net of I − E with other RFCs that the organization connected ÷ net of I − E, both directions':
    'Neto con otros RFC que su organización conectó ÷ neto total, de facturas (I) menos notas de crédito (E), emitidas y recibidas.',
  'Herfindahl-Hirschman index of issued net amounts by customer (GET /v1/cfdi/concentration)':
    'Índice Herfindahl-Hirschman de lo emitido neto por cliente (página de concentración).',
  'Herfindahl-Hirschman index of received net amounts by supplier': 'Índice Herfindahl-Hirschman de lo recibido neto por proveedor.',
  'issued net in other currencies than MXN ÷ issued net, in MXN': 'Lo emitido neto en otras monedas ÷ todo lo emitido neto, en pesos.',
  'total of issued I with forma_pago 01 ÷ total of issued I':
    'Total de las facturas emitidas que se cobraron en efectivo (forma de pago 01) ÷ total de las facturas emitidas.',
  'cancelled issued I ÷ all issued I, without substituted ones':
    'Facturas emitidas canceladas ÷ todas las facturas emitidas, sin las sustituidas.',
  'cancelled received I ÷ all received I, without substituted ones':
    'Facturas recibidas canceladas ÷ todas las facturas recibidas, sin las sustituidas.',
  'overdue balances ÷ open balances of issued PPD I, today, at the rate of the invoice':
    'Saldos vencidos ÷ saldos abiertos de las facturas PPD emitidas, hoy, al tipo de cambio de la factura.',
  'net of received I with the flag repse_not_valid_at_payment ÷ net of received I':
    'Neto de las facturas recibidas de proveedores sin registro REPSE vigente al pagarles ÷ neto de las facturas recibidas.',
  'Thresholds are proposed. Lists, the REPSE registry and open balances are read as they are today.':
    'Los umbrales son una propuesta del servicio. Las listas, el REPSE y los saldos abiertos se leen como están hoy.',

  // Financing.
  'Σ balance of open PPD invoices as of the day, at their own exchange rates':
    'Suma de los saldos de las facturas PPD abiertas ese día, a sus propios tipos de cambio.',
  'day of fecha + days of condiciones_pago, or financing.default_terms_days':
    'Fecha de la factura + los días de sus condiciones de pago; si no las trae, los de financing.default_terms_days.',
  'Σ balance of what was due before the day': 'Suma de los saldos que vencieron antes de ese día.',
  'outstanding (with taxes) ÷ Σ (subtotal − descuento, without taxes) of PPD I of the last financing.dso_days × financing.dso_days; dpo likewise':
    'Saldo abierto (con impuestos) ÷ suma de (subtotal − descuento, sin impuestos) de las facturas PPD de los últimos días de financing.dso_days, × esos días. Los días de pago a proveedores (DPO) se calculan igual.',
  'Σ (paid × days from fecha to fecha_pago) ÷ Σ paid, of the last financing.payment_months':
    'Suma de (pagado × días de la factura al pago) ÷ suma de lo pagado, de los últimos meses de financing.payment_months.',
  'paid until due ÷ paid': 'Lo pagado hasta el vencimiento ÷ lo pagado.',
  'Σ balance by the month of its due day (expected_inflows, expected_outflows); what is overdue is in the month of the day':
    'Suma de los saldos por el mes en que vencen: entradas y salidas esperadas. Lo vencido está en el mes de ese día.',
  'the lesser of eligible_amount and debtor_cap × eligible_amount of the pool':
    'Lo menor entre el importe elegible del deudor y su tope × el importe elegible de toda la cartera.',
  'Σ capped_amount × advance_rate': 'Suma de los importes topados × el porcentaje de anticipo.',
  'Without a past as_of, complements with a future FechaPago count, because they are already issued. With a past as_of, only complements with a FechaPago up to that day count.':
    'Hoy cuentan también los complementos con fecha de pago futura, porque ya se emitieron. En un día pasado cuentan los pagos hasta ese día.',
  'Balances are what is to be paid, with taxes, and sales are net: with 16 % of IVA, dso and dpo are up to 1.16 times those of one basis.':
    'Los saldos llevan impuestos y las ventas son netas: con IVA del 16 %, los días de cobro y de pago son hasta 1.16 veces los que darían sobre una misma base.',
  'data_quality is of the months whose payments are looked at; open invoices are of any age, as far back as the windows reach (visible_from of the fiscal entity).':
    'La calidad de los datos es la de los meses cuyos pagos se miran; las facturas abiertas son de cualquier antigüedad, hasta donde llega lo que se puede leer del RFC.',
  'With a past as_of, data_quality counts documents as they stand now; unreconciled_payments and other_parties are as of the day.':
    'En un día pasado, la calidad de los datos cuenta los documentos como están ahora; los pagos sin conciliar y los de otras partes, como estaban ese día.',
}
